//! What a driver and its Io say to each other: submissions and completions.
//!
//! A driver decides, an Io obeys: there is no trait of an Io. Whatever calls [`Driver::step`] and
//! obeys the submissions is one. Rules that each Io keeps:
//!
//! - Each submission except `Close` completes exactly once, in any order.
//! - A buffer belongs to its submission, and comes back with the completion, also after an error.
//! - Transfers may be short. `from` says how far a transfer came; the driver submits the rest.
//! - `Close` ends all transfers on a socket with an error.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::stage::{Stop, Work};

/// A state machine that decides what its Io does.
pub trait Driver {
    /// Says what a submission is for; comes back with its completion.
    type Tag: Copy + Send + 'static;

    /// Takes what has completed by `now` (monotonic nanoseconds), and adds what is to be done.
    /// Never blocks.
    fn step(
        &mut self,
        now: u64,
        done: &mut Vec<Completion<Self::Tag>>,
        todo: &mut Vec<Submission<Self::Tag>>,
    ) -> Wait;
}

/// When a driver is to be called again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// At the next completion, or at this time at the latest: the earliest of the driver's timers.
    Until(u64),
    /// Never: the driver has ended.
    Over,
}

/// A call, and what it is for.
#[derive(Debug)]
pub struct Submission<T> {
    /// What the call is for.
    pub tag: T,
    /// The call.
    pub call: Operation,
}

/// A call that has ended.
#[derive(Debug)]
pub struct Completion<T> {
    /// What the call was for.
    pub tag: T,
    /// Its result.
    pub output: Output,
}

/// A driver's name for a socket. The driver chooses it, so that it needs no answer to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SocketId(pub u32);

/// A driver's name for an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// An existing file, to read.
    Read,
    /// A new file of this length in bytes, to write.
    Create(u64),
}

/// A part of a buffer that is to be moved.
#[derive(Debug)]
pub struct Piece {
    /// The buffer.
    pub buffer: Vec<u8>,
    /// The first byte that was not moved yet.
    pub from: usize,
    /// The byte after the last one.
    pub to: usize,
}

impl Piece {
    /// Returns the whole of `buffer`.
    #[must_use]
    pub fn whole(buffer: Vec<u8>) -> Self {
        Self { from: 0, to: buffer.len(), buffer }
    }

    /// Whether all bytes have been moved.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.from >= self.to
    }
}

/// What an Io can do.
#[derive(Debug)]
pub enum Operation {
    /// Connects a new socket to an address.
    Connect(SocketId, SocketAddr),
    /// Accepts one connection at a listener.
    Accept {
        /// The listener.
        listener: SocketId,
        /// The name of the new socket.
        socket: SocketId,
    },
    /// Receives at least one byte, at most the rest of the piece; none at the end of the stream.
    Receive(SocketId, Piece),
    /// Sends at least one byte, at most the rest of the piece.
    Send(SocketId, Piece),
    /// Closes a socket. What was sent still arrives. Does not complete.
    Close(SocketId),
    /// Opens a file.
    Open(FileId, PathBuf, OpenMode),
    /// Runs stages on a buffer, one after the other, on one processor.
    Work(Work),
    /// Makes a file's contents stable.
    Sync(FileId),
    /// Renames a file.
    Rename(PathBuf, PathBuf),
    /// Makes the names in a directory stable.
    SyncFolder(PathBuf),
    /// Removes a file.
    Remove(PathBuf),
}

/// The result of a call.
#[derive(Debug)]
pub enum Output {
    /// Of a call without a buffer.
    Done(io::Result<()>),
    /// Of `Receive` and `Send`: the number of moved bytes. The piece's `from` has advanced.
    Moved(Piece, io::Result<usize>),
    /// Of `Work`: the number of bytes of the last transfer. Stages that are not done are left.
    Worked(Work, Result<usize, Stop>),
}
