//! Runs commands on a node. Their output is sent to the head, and they are killed when the head's
//! session ends.

use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use garland_protocol::FromAgent;
use garland_sys::channel::channel;
use garland_sys::threads::{self, Joined};
use garland_sys::{event, limits, process};

use crate::controller::Controller;
use crate::farm::Pipes;
use crate::session::Session;
use garland_sys::error::reason;

/// A running command, and the thread that waits for it.
pub struct Running {
    group: Option<u32>,
    waiting: Option<Joined>,
}

/// Starts `command`, whose first word is the program. Its output and exit code are sent to
/// `session`.
pub fn start(Controller { agent, session }: &Controller, command: Vec<Vec<u8>>) -> Running {
    let mut words = command.into_iter().map(OsString::from_vec);
    let program = words.next().unwrap_or_default();
    let mut command = Command::new(&program);
    // A process group of its own, so that all its processes can be killed together.
    command.args(words).stdin(Stdio::null()).process_group(0);
    limits::restore_open_files_in(&mut command);
    if let Some(root) = &agent.config.root {
        command.current_dir(root);
    }
    // Start the thread first: if it cannot be created the command must not run.
    let (give, given) = channel();
    let its = Arc::clone(session);
    let waiting = threads::spawn("exec", move || {
        if let Ok((child, pipes)) = given.recv() {
            wait(child, pipes, &its);
        }
    });
    let started = waiting.and_then(|waiting| {
        let (pipes, [output, errors]) = Pipes::new()?;
        Ok((command.stdout(output).stderr(errors).spawn()?, pipes, waiting))
    });
    match started {
        Ok((child, pipes, waiting)) => {
            let group = Some(child.id());
            // Cannot fail: the thread waits to receive them.
            let _ = give.send((child, pipes));
            Running { group, waiting: Some(waiting.into()) }
        }
        Err(error) => {
            let program = program.to_string_lossy();
            let is_line = program.contains(char::is_whitespace);
            let hint = if is_line { "; -s passes it to a shell" } else { "" };
            let why = format!("cannot start {program}: {}{hint}", reason(&error));
            session.send(&FromAgent::ExecFailed(why));
            Running { group: None, waiting: None }
        }
    }
}

impl Running {
    /// Kills the command's process group if the command still runs, and waits for the thread.
    pub fn end(self) {
        let over = self.waiting.as_ref().is_none_or(Joined::is_finished);
        if let (Some(group), false) = (self.group, over) {
            process::kill_group(group);
        }
    }
}

/// Sends the output of a command as it arrives, then its exit code or the negated number of the
/// signal that killed it.
fn wait(mut child: Child, mut pipes: Pipes, session: &Session) {
    while pipes.open().next().is_some() {
        let fds: Vec<BorrowedFd<'_>> = pipes.open().map(AsFd::as_fd).collect();
        if let Err(error) = event::wait_readable(&fds, None) {
            process::kill_group(child.id());
            // Returns at once, since the process was killed.
            let _ = child.wait();
            let why = format!("cannot read the command's output: {}", reason(&error));
            return session.send(&FromAgent::ExecFailed(why));
        }
        pipes.read(|is_error, bytes| session.send(&FromAgent::Output(is_error, bytes.to_vec())));
    }
    session.send(&match child.wait() {
        Ok(status) => {
            let code = status.code().or_else(|| status.signal().map(|signal| -signal));
            FromAgent::Exited(code.unwrap_or(-1))
        }
        Err(error) => FromAgent::ExecFailed(format!("cannot wait for the command: {error}")),
    });
}
