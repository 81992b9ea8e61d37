//! Runs commands on a node. Their output is sent to the head, and they are killed when the head's
//! session, or the agent, ends before them: with all that they have started, in whatever process
//! group or session. What a command that has ended left running goes on, as daemons do.

use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use garland_core::printable;
use garland_protocol::FromAgent;
use garland_sys::channel::channel;
use garland_sys::child::{self, Group};
use garland_sys::error::reason;
use garland_sys::mark::Mark;
use garland_sys::threads::{self, Joined};
use garland_sys::{event, signal};

use crate::controller::Controller;
use crate::farm::{Guard, Pipes};
use crate::session::Session;

/// A running command, and the thread that waits for it.
pub struct Running {
    /// Its process group, until the command has ended by itself, after which nothing of it is killed;
    /// `None` if it was not started.
    group: Option<Group>,
    mark: Mark,
    waiting: Option<Joined>,
}

/// A command that was started, as its thread has it.
struct Started {
    child: Child,
    pipes: Pipes,
    mark: Mark,
    guard: Guard,
    group: Group,
}

/// Starts `command`, whose first word is the program. Its output and exit code are sent to
/// `session`.
pub fn start(controller: &Controller, command: Vec<Vec<u8>>) -> Running {
    let Controller { agent, session } = controller;
    let mut words = command.into_iter().map(OsString::from_vec);
    let program = words.next().unwrap_or_default();
    agent.audit.exec(&session.caller, program.as_bytes(), words.len());
    let mut command = Command::new(&program);
    // A process group of its own, so that all its processes can be killed together. Those that leave
    // it are found by the mark.
    command.args(words).stdin(Stdio::null()).process_group(0);
    let mark = Mark::new();
    mark.put_on(&mut command);
    signal::release_in(&mut command);
    if let Some(root) = &agent.config.root {
        command.current_dir(root);
    }
    // Start the thread first: if it cannot be created the command must not run.
    let (give, given) = channel();
    let its = Arc::clone(session);
    let waiting = threads::spawn("exec", move || {
        if let Ok(started) = given.recv() {
            wait(started, &its);
        }
    });
    let started = waiting.and_then(|waiting| {
        let (pipes, [output, errors]) = Pipes::new()?;
        let guard = Guard::start(&mark, None)?;
        let child = command.stdout(output).stderr(errors).spawn()?;
        guard.begun(child.id());
        let group = Group::from_leader(&child);
        let started = Started { child, pipes, mark: mark.clone(), guard, group };
        Ok((started, waiting))
    });
    match started {
        Ok((started, waiting)) => {
            let group = Some(started.group.clone());
            // Cannot fail: the thread waits to receive it.
            let _ = give.send(started);
            Running { group, mark, waiting: Some(waiting.into()) }
        }
        Err(error) => {
            let is_line = program.as_bytes().iter().any(u8::is_ascii_whitespace);
            let program = printable::name(program.as_bytes());
            let hint = if is_line { "; -s passes it to a shell" } else { "" };
            let why = format!("cannot start {program}: {}{hint}", reason(&error));
            session.send(&FromAgent::ExecFailed(why));
            Running { group: None, mark, waiting: None }
        }
    }
}

impl Running {
    /// Kills the command with all that it has started, if it still runs, and waits for the thread.
    pub fn end(self) {
        if let Some(group) = &self.group {
            group.signal(|leader| self.mark.kill_all(&[leader]));
        }
        // The thread sees the end of the output of all that was killed.
        drop(self.waiting);
    }
}

/// Sends the output of a command as it arrives, then its exit code or the negated number of the
/// signal that killed it.
fn wait(started: Started, session: &Session) {
    let Started { mut child, mut pipes, mark, guard, group } = started;
    while pipes.open().next().is_some() {
        let fds: Vec<BorrowedFd<'_>> = pipes.open().map(AsFd::as_fd).collect();
        if let Err(error) = event::wait_readable(&fds, None) {
            group.signal(|leader| mark.kill_all(&[leader]));
            group.release();
            drop(guard);
            // Returns at once, since the process was killed.
            let _ = child.wait();
            let why = format!("cannot read the command's output: {}", reason(&error));
            return session.send(&FromAgent::ExecFailed(why));
        }
        pipes.read(|is_error, bytes| session.send(&FromAgent::Output(is_error, bytes.to_vec())));
    }
    let ended = child::await_end(&child);
    // What the command has left running goes on, also if the session or the agent ends from now on.
    // Once the command is reaped, its number may be that of a process which is none of theirs.
    group.release();
    drop(guard);
    let ended = ended.and_then(|()| child.wait());
    session.send(&match ended {
        Ok(status) => {
            let code = status.code().or_else(|| status.signal().map(|signal| -signal));
            FromAgent::Exited(code.unwrap_or(-1))
        }
        Err(error) => FromAgent::ExecFailed(format!("cannot wait for the command: {error}")),
    });
}
