//! Commands on a node: started as they are given, their output passed on, killed with their head.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;

use garland_core::proto::FromAgent;
use garland_sys::process;

use crate::agent::Agent;
use crate::session::Session;
use crate::store::reason;

/// A command that was started, and the thread that waits for it.
pub struct Running {
    group: Option<u32>,
    waiting: Option<JoinHandle<()>>,
}

/// Starts `command` and tells `session` what becomes of it.
pub fn start(agent: &Agent, session: Arc<Session>, command: Vec<Vec<u8>>) -> Running {
    let mut words = command.into_iter().map(OsString::from_vec);
    let program = words.next().unwrap_or_default();
    let mut command = Command::new(&program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A group of its own, so that all it started can be ended with it.
    command.process_group(0);
    if let Some(folder) = agent.folder() {
        command.current_dir(folder);
    }
    match command.spawn() {
        Ok(child) => {
            let group = Some(child.id());
            Running { group, waiting: Some(std::thread::spawn(move || wait(child, &session))) }
        }
        Err(error) => {
            let program = program.to_string_lossy();
            session.send(&FromAgent::ExecFailed(format!("starting {program}: {}", reason(&error))));
            Running { group: None, waiting: None }
        }
    }
}

impl Running {
    /// Ends the command and all of its group, if it is still there.
    pub fn end(self) {
        let over = self.waiting.as_ref().is_none_or(JoinHandle::is_finished);
        if let (Some(group), false) = (self.group, over) {
            process::kill_group(group);
        }
        if let Some(waiting) = self.waiting {
            // Its panic has been printed; there is nothing more to say about it here.
            let _ = waiting.join();
        }
    }
}

fn wait(mut child: Child, session: &Arc<Session>) {
    let output = child.stdout.take().map(|pipe| pass_on(pipe, Arc::clone(session), false));
    let errors = child.stderr.take().map(|pipe| pass_on(pipe, Arc::clone(session), true));
    for thread in output.into_iter().chain(errors) {
        // Its panic has been printed; the exit code is still worth telling.
        let _ = thread.join();
    }
    session.send(&match child.wait() {
        Ok(status) => {
            let code = status.code().or_else(|| status.signal().map(|signal| -signal));
            FromAgent::Exited(code.unwrap_or(-1))
        }
        Err(error) => FromAgent::ExecFailed(format!("waiting for it: {error}")),
    });
}

fn pass_on(
    mut pipe: impl Read + Send + 'static,
    session: Arc<Session>,
    is_error: bool,
) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut buffer = [0; 16 << 10];
        loop {
            match pipe.read(&mut buffer) {
                Ok(0) => return,
                Ok(read) => {
                    session.send(&FromAgent::Output(is_error, buffer[..read].to_vec()));
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    })
}
