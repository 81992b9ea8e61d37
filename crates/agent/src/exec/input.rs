//! The standard input of a command: a pipe, and a thread that fills it with what the head sends.
//! The head sends no more than its window until the command has read something. The command sees
//! the end of the pipe when all of the input has come, or nothing of the command runs any more: its
//! guard holds it open, too.

use std::fs::File;
use std::io::{self, PipeWriter, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use garland_protocol::FromAgent;
use garland_protocol::command::{INPUT_WINDOW, InputNews};
use garland_sys::channel::{Receiver, Sender, channel};
use garland_sys::event::{self, Interest};
use garland_sys::sync::Mutex;
use garland_sys::{pipe, threads};

use crate::farm::HeldInput;
use crate::session::Session;

/// The interval at which a blocked write checks whether the session is over: what a command has
/// left running may hold the pipe open, and read nothing.
const SESSION_CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// The input of a command.
pub struct OpenInput {
    /// Passes on what the head sends.
    pub sender: InputSender,
    /// Returns at the end how much the command has read.
    pub read: ReadCount,
}

/// Passes pieces of input on to the thread that fills the pipe.
pub struct InputSender {
    pieces: Sender<Vec<u8>>,
    count: Arc<Count>,
}

/// What of the input the command has read.
pub struct ReadCount {
    end: Arc<Mutex<OwnEnd>>,
    count: Arc<Count>,
}

/// The end of the pipe that this process has: the pipe keeps its bytes when the command is gone.
enum OwnEnd {
    /// More may come.
    Writer(PipeWriter),
    /// All has come; a writer would keep the command from seeing that.
    Reader(File),
    /// None: what the command has read is not known.
    None,
}

/// The bytes of the input.
#[derive(Default)]
struct Count {
    /// Those that came.
    came: AtomicU64,
    /// Those that were written to the pipe.
    written: AtomicU64,
    /// Those that were written, or dropped since the command reads no more.
    taken: AtomicU64,
}

/// Opens the input of a command of `session`, which is written to `writer`. The command's guard
/// holds this pipe open as `held`.
///
/// # Errors
/// When there is no descriptor or thread left.
pub fn open(session: &Arc<Session>, writer: PipeWriter, held: HeldInput) -> io::Result<OpenInput> {
    event::never_block(writer.as_fd())?;
    let end = Arc::new(Mutex::new(OwnEnd::Writer(writer.try_clone()?)));
    let count = Arc::new(Count::default());
    let (pieces, coming) = channel();
    let filler = Filler {
        writer,
        held,
        end: Arc::clone(&end),
        count: Arc::clone(&count),
        session: Arc::clone(session),
    };
    threads::spawn("input", move || filler.fill(&coming))?;
    let sender = InputSender { pieces, count: Arc::clone(&count) };
    Ok(OpenInput { sender, read: ReadCount { end, count } })
}

impl InputSender {
    /// Passes a piece on; an empty one is the end. What exceeds the head's window is dropped: no
    /// head of this program sends it.
    pub fn send(&self, piece: Vec<u8>) {
        let length = piece.len() as u64;
        let came = self.count.came.load(Ordering::Relaxed) + length;
        if came - self.count.taken.load(Ordering::Relaxed) > INPUT_WINDOW {
            return;
        }
        self.count.came.store(came, Ordering::Relaxed);
        // The thread has ended if the command reads no more.
        let _ = self.pieces.send(piece);
    }
}

impl ReadCount {
    /// Returns the number of bytes that the command, which has ended, has read.
    pub fn read_bytes(&self) -> u64 {
        let in_pipe = match &*self.end.lock() {
            OwnEnd::Writer(writer) => pipe::unread(writer),
            OwnEnd::Reader(reader) => pipe::unread(reader),
            OwnEnd::None => Ok(0),
        };
        // What cannot be told counts as read.
        let written = self.count.written.load(Ordering::Relaxed);
        written.saturating_sub(in_pipe.unwrap_or(0))
    }
}

/// Fills the pipe.
struct Filler {
    writer: PipeWriter,
    held: HeldInput,
    end: Arc<Mutex<OwnEnd>>,
    count: Arc<Count>,
    session: Arc<Session>,
}

impl Filler {
    fn fill(self, coming: &Receiver<Vec<u8>>) {
        let mut is_read = true;
        // Ends when the session drops the sender, too.
        while let Ok(piece) = coming.recv() {
            if piece.is_empty() {
                break;
            }
            // A head may have more to send, although this command reads no more.
            is_read = is_read && self.write(&piece);
            let length = piece.len() as u64;
            let taken = self.count.taken.fetch_add(length, Ordering::Relaxed) + length;
            self.session.send(&FromAgent::Input(InputNews::Taken(taken)));
        }
        let reader = pipe::another_reader(&self.writer);
        *self.end.lock() = reader.map_or(OwnEnd::None, OwnEnd::Reader);
        drop(self.writer);
        self.held.release();
    }

    /// Writes a piece. Returns false if nobody reads it any more, or the session is over.
    fn write(&self, piece: &[u8]) -> bool {
        let mut rest = piece;
        while !rest.is_empty() {
            match (&self.writer).write(rest) {
                Ok(written) => {
                    rest = &rest[written..];
                    self.count.written.fetch_add(written as u64, Ordering::Relaxed);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let room = Interest { fd: self.writer.as_fd(), write: true };
                    let waited = event::wait(&[room], Some(SESSION_CHECK_INTERVAL));
                    if waited.is_err() || self.session.is_over() {
                        return false;
                    }
                }
                Err(_) => return false,
            }
        }
        true
    }
}
