//! Runs commands on a node. Their output is sent to the head, and they are killed when the head's
//! session ends.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use garland_protocol::FromAgent;
use garland_sys::{limits, process, threads};

use crate::agent::Agent;
use crate::session::Session;
use garland_sys::error::reason;

/// A running command, and the thread that waits for it.
pub struct Running {
    group: Option<u32>,
    waiting: Option<JoinHandle<()>>,
}

/// Starts `command`, and sends its output and exit code to `session`.
pub fn start(agent: &Agent, session: Arc<Session>, command: Vec<Vec<u8>>) -> Running {
    let mut words = command.into_iter().map(OsString::from_vec);
    let program = words.next().unwrap_or_default();
    let mut command = Command::new(&program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A process group of its own, so that all its processes can be killed together.
    command.process_group(0);
    limits::restore_open_files_in(&mut command);
    if let Some(folder) = agent.folder() {
        command.current_dir(folder);
    }
    // Start the thread first: if it cannot be created the command must not run.
    let (give, given) = channel();
    let its = Arc::clone(&session);
    let waiting = threads::spawn("exec", move || {
        if let Ok(child) = given.recv() {
            wait(child, &its);
        }
    });
    let started = waiting.and_then(|waiting| Ok((command.spawn()?, waiting)));
    match started {
        Ok((child, waiting)) => {
            let group = Some(child.id());
            // Cannot fail: the thread waits to receive it.
            let _ = give.send(child);
            Running { group, waiting: Some(waiting) }
        }
        Err(error) => {
            let program = program.to_string_lossy();
            session.send(&FromAgent::ExecFailed(format!(
                "cannot start {program}: {}",
                reason(&error)
            )));
            Running { group: None, waiting: None }
        }
    }
}

impl Running {
    /// Kills the command with its process group, if it still runs.
    pub fn end(self) {
        let over = self.waiting.as_ref().is_none_or(JoinHandle::is_finished);
        if let (Some(group), false) = (self.group, over) {
            process::kill_group(group);
        }
        if let Some(waiting) = self.waiting {
            // A panic has been printed already.
            let _ = waiting.join();
        }
    }
}

fn wait(mut child: Child, session: &Arc<Session>) {
    let output = child.stdout.take().map(|pipe| pass_on(pipe, Arc::clone(session), false));
    let errors = child.stderr.take().map(|pipe| pass_on(pipe, Arc::clone(session), true));
    let passing: io::Result<Vec<JoinHandle<()>>> = output.into_iter().chain(errors).collect();
    let passing = match passing {
        Ok(passing) => passing,
        Err(error) => {
            process::kill_group(child.id());
            // Returns at once, since the process was killed.
            let _ = child.wait();
            let why = format!("cannot read the command's output: {}", reason(&error));
            return session.send(&FromAgent::ExecFailed(why));
        }
    };
    for thread in passing {
        // A panic has been printed already; report the exit code nevertheless.
        let _ = thread.join();
    }
    session.send(&match child.wait() {
        Ok(status) => {
            let code = status.code().or_else(|| status.signal().map(|signal| -signal));
            FromAgent::Exited(code.unwrap_or(-1))
        }
        Err(error) => FromAgent::ExecFailed(format!("cannot wait for the command: {error}")),
    });
}

fn pass_on(
    mut pipe: impl Read + Send + 'static,
    session: Arc<Session>,
    is_error: bool,
) -> io::Result<JoinHandle<()>> {
    threads::spawn("output", move || {
        let mut buffer = [0; 16 << 10];
        loop {
            match pipe.read(&mut buffer) {
                Ok(0) => return,
                Ok(read) => {
                    session.send(&FromAgent::Output(is_error, buffer[..read].to_vec()));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    })
}
