//! The head's side of running a command on every node.

use std::cell::RefCell;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use garland_protocol::FromAgent;
use garland_protocol::command::{CommandOrder, INPUT_PIECE};
use garland_protocol::operation::{CommandRun, Query};
use garland_sys::channel::{Receiver, Sender, channel};
use garland_sys::error::reason;
use garland_sys::event::Wake;
use garland_sys::signal::Interrupts;
use garland_sys::{clock, threads};

use crate::copy::Agent;
use crate::session::Session;

/// How long a node may hold up the input of others before it is named, in nanoseconds.
const INPUT_PATIENCE_NS: u64 = 1_000_000_000;

/// A command to run on nodes.
pub struct CommandRequest<'a> {
    /// The program and its arguments.
    pub words: &'a [Vec<u8>],
    /// The standard input that the command gets on each node; `None` for an empty one.
    pub input: Option<Box<dyn Read + Send>>,
    /// The time in which the command must end; `None` for any.
    pub timeout: Option<Duration>,
    /// The user's interrupts; `None` if an interrupt ends the process.
    pub interrupts: Option<&'a Interrupts>,
}

/// How a command ended on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// The command exited with this code; if negative, it is the negated number of the signal that
    /// killed the command.
    Exited(i32),
    /// The command could not be run, or its end is unknown.
    Failed(String),
    /// The user interrupted before the command ended.
    Interrupted,
}

/// How a command ended on all nodes.
pub struct CommandEnds {
    /// How it ended on each node, in the order of the agents.
    pub nodes: Vec<CommandEnd>,
    /// The number of bytes of the input that were read here, if no node's command has read any of
    /// them.
    pub unread_input: Option<u64>,
}

/// An event of a command on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandNews<'a> {
    /// Output: whether it is from standard error, and the bytes.
    Output(bool, &'a [u8]),
    /// The end of the command, or of its node; nothing follows.
    Ended,
}

/// Runs a command on all `agents`. Calls `news` with the index of a node, and an event there. If it
/// refuses an output, the command has failed on that node for the reason that it gives, and nothing
/// more comes from there. Calls `waits` ten times a second with the indexes of the nodes that hold
/// up the input of others.
///
/// # Errors
/// When this host cannot wait for the agents, start the thread that reads the input, or read it:
/// the commands are ended then, and see no end of their input.
pub fn run_command(
    agents: Vec<Result<Agent, String>>,
    request: CommandRequest<'_>,
    news: &mut dyn FnMut(usize, CommandNews<'_>) -> Result<(), String>,
    waits: &mut dyn FnMut(&[usize]),
) -> io::Result<CommandEnds> {
    let CommandRequest { words, input, timeout, interrupts } = request;
    let news = RefCell::new(news);
    let count = agents.len();
    let mut open = Vec::from_iter(0..count);
    let order = CommandOrder { words: words.to_vec(), has_input: input.is_some() };
    let late = |time: Duration| format!("it did not end within {} s", time.as_secs_f64());
    let patience = timeout.map(|time| (time, late(time)));
    let run = CommandRun::new(&order, count, |orders| {
        Query::new(orders, patience, |node, message| match message {
            FromAgent::Output(is_error, bytes) => {
                let told = news.borrow_mut()(node, CommandNews::Output(is_error, &bytes));
                told.err().map(Err)
            }
            FromAgent::Exited(code) => Some(Ok(code)),
            FromAgent::ExecFailed(reason) => Some(Err(reason)),
            _ => None,
        })
    });
    let wake = Arc::new(Wake::new()?);
    let mut reader = input.map(|input| InputReader::start(input, Arc::clone(&wake))).transpose()?;
    let mut unreadable = None;
    let mut observe = |run: &mut CommandRun<'_>| {
        for node in open.extract_if(.., |node| run.has_answered(*node)) {
            // Nothing follows that could be refused.
            let _ = news.borrow_mut()(node, CommandNews::Ended);
        }
        waits(&run.holding_up(clock::now_ns(), INPUT_PATIENCE_NS));
        wake.lower();
        if let Some(reader) = &mut reader
            && unreadable.is_none()
            && run.wants_input()
            && let Some(piece) = reader.next()
        {
            match piece {
                Ok(piece) => {
                    run.give_input(piece);
                    // The next piece is asked for as soon as this one is sent.
                    wake.raise();
                }
                Err(error) => {
                    unreadable = Some(error);
                    interrupts.iter().for_each(|interrupts| interrupts.raise());
                }
            }
        }
    };
    let session = Session::new(agents, interrupts).with_wakes([wake.as_fd()]);
    // What a command has done so far would be lost with its session.
    let mut session = session.awaiting_logins();
    let mut run = session.run(run, &mut observe)?;
    observe(&mut run);
    if let Some(error) = unreadable {
        let text = format!("cannot read standard input: {}", reason(&error));
        return Err(io::Error::other(text));
    }
    let unread_input = run.unread_input();
    let end = |end| match end {
        Some(Ok(code)) => CommandEnd::Exited(code),
        Some(Err(reason)) => CommandEnd::Failed(reason),
        None => CommandEnd::Interrupted,
    };
    let nodes = run.into_answers().into_values().map(end).collect();
    Ok(CommandEnds { nodes, unread_input })
}

/// Reads the input in a thread of its own, a piece at a time and only on request: what is not read
/// is left to whoever reads it next.
struct InputReader {
    requests: Sender<()>,
    pieces: Receiver<io::Result<Vec<u8>>>,
    /// Whether a piece was requested that has not come.
    is_awaited: bool,
}

impl InputReader {
    /// Starts the thread, which raises `wake` when a piece has come.
    fn start(mut input: Box<dyn Read + Send>, wake: Arc<Wake>) -> io::Result<Self> {
        let (requests, asked) = channel();
        let (tell, pieces) = channel();
        // It may wait for input for ever, and ends with the process.
        threads::spawn("input", move || {
            while let Ok(()) = asked.recv() {
                if tell.send(read_piece(&mut *input)).is_err() {
                    return;
                }
                wake.raise();
            }
        })?;
        Ok(Self { requests, pieces, is_awaited: false })
    }

    /// Returns the piece that was requested, if it has come; requests one otherwise.
    fn next(&mut self) -> Option<io::Result<Vec<u8>>> {
        if !std::mem::replace(&mut self.is_awaited, true) {
            // The thread ends only with this value.
            let _ = self.requests.send(());
        }
        let piece = self.pieces.try_recv().ok();
        self.is_awaited = piece.is_none();
        piece
    }
}

/// Reads the next piece of the input; an empty one is its end.
fn read_piece(input: &mut dyn Read) -> io::Result<Vec<u8>> {
    /// Interval between looks at an input that another program has made non-blocking.
    const LOOK_INTERVAL: Duration = Duration::from_millis(20);
    let mut piece = vec![0; INPUT_PIECE];
    loop {
        match input.read(&mut piece) {
            Ok(read) => {
                piece.truncate(read);
                return Ok(piece);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                threads::sleep(LOOK_INTERVAL);
            }
            Err(error) => return Err(error),
        }
    }
}
