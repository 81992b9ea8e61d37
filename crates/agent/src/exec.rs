//! Runs commands on a node. They get the head's input, if it has any. Their output is sent to the
//! head, and they are killed when the head's session, or the agent, ends before them: with all that
//! they have started, in whatever process group or session. What a command that has ended left
//! running goes on, as daemons do.

mod input;

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use garland_core::printable;
use garland_protocol::FromAgent;
use garland_protocol::command::{CommandOrder, InputNews};
use garland_sys::channel::channel;
use garland_sys::child::{self, Group};
use garland_sys::error::reason;
use garland_sys::mark::Mark;
use garland_sys::threads::{self, Joined};
use garland_sys::{event, signal};

use self::input::{InputSender, ReadCount};
use crate::controller::Controller;
use crate::farm::{Guard, Pipes};
use crate::session::Session;

/// The commands of a session.
#[derive(Default)]
pub struct Commands(Vec<Running>);

impl Commands {
    /// Starts the command of `order`.
    pub fn start(&mut self, controller: &Controller, order: CommandOrder) {
        self.0.push(start(controller, order));
    }

    /// Passes a piece of input on to the last command; an empty one is the end of the input.
    pub fn feed(&self, piece: Vec<u8>) {
        if let Some(input) = self.0.last().and_then(|last| last.input.as_ref()) {
            input.send(piece);
        }
    }

    /// Kills the commands that still run, with all that they have started, and waits for their
    /// threads.
    pub fn end(self) {
        self.0.into_iter().for_each(Running::end);
    }
}

/// A running command, and the thread that waits for it.
struct Running {
    /// Its process group, until the command has ended by itself, after which nothing of it is
    /// killed; `None` if it was not started.
    group: Option<Group>,
    mark: Mark,
    waiting: Option<Joined>,
    input: Option<InputSender>,
}

/// A command that was started, as its thread has it.
struct Started {
    child: Child,
    pipes: Pipes,
    mark: Mark,
    guard: Guard,
    group: Group,
    input: Option<ReadCount>,
}

/// Starts the command of `order`, whose first word is the program. Its output and exit code are
/// sent to `session`.
fn start(controller: &Controller, order: CommandOrder) -> Running {
    let Controller { agent, session } = controller;
    let CommandOrder { words, has_input } = order;
    let mut words = words.into_iter().map(OsString::from_vec);
    let program = words.next().unwrap_or_default();
    agent.audit.exec(&session.caller, program.as_bytes(), words.len());
    let mut command = Command::new(&program);
    // A process group of its own, so that all its processes can be killed together. Those that
    // leave it are found by the mark.
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
        let mut sender = None;
        let mut input = None;
        let guard = match has_input {
            false => Guard::start(&mark, None, None)?,
            true => {
                let (reader, writer) = io::pipe()?;
                let guard = Guard::start(&mark, None, Some(writer.try_clone()?))?;
                let fed = input::open(session, writer, guard.held_input())?;
                command.stdin(reader);
                sender = Some(fed.sender);
                input = Some(fed.read);
                guard
            }
        };
        let child = command.stdout(output).stderr(errors).spawn()?;
        // The command has the only other end of its input.
        command.stdin(Stdio::null());
        guard.begun(child.id());
        let group = Group::from_leader(&child);
        let started = Started { child, pipes, mark: mark.clone(), guard, group, input };
        Ok((started, waiting, sender))
    });
    match started {
        Ok((started, waiting, input)) => {
            let group = Some(started.group.clone());
            // Cannot fail: the thread waits to receive it.
            let _ = give.send(started);
            Running { group, mark, waiting: Some(waiting.into()), input }
        }
        Err(error) => {
            let is_line = program.as_bytes().iter().any(u8::is_ascii_whitespace);
            let program = printable::name(program.as_bytes());
            let hint = if is_line { "; -s passes it to a shell" } else { "" };
            let why = format!("cannot start {program}: {}{hint}", reason(&error));
            session.send(&FromAgent::ExecFailed(why));
            Running { group: None, mark, waiting: None, input: None }
        }
    }
}

impl Running {
    /// Kills the command with all that it has started, if it still runs, and waits for the thread.
    fn end(self) {
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
    let Started { mut child, mut pipes, mark, guard, group, input } = started;
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
    if let Some(input) = input {
        session.send(&FromAgent::Input(InputNews::Read(input.read_bytes())));
    }
    session.send(&match ended {
        Ok(status) => {
            let code = status.code().or_else(|| status.signal().map(|signal| -signal));
            FromAgent::Exited(code.unwrap_or(-1))
        }
        Err(error) => FromAgent::ExecFailed(format!("cannot wait for the command: {error}")),
    });
}
