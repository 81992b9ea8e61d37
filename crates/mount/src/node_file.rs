//! Reads files of nodes without a mount, over connections as those of a mount.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use garland_protocol::{Answer, Ask, OpenFlags, PIECE};
use garland_sys::channel::{Receiver, RecvTimeoutError, channel};
use rustix::io::Errno;

use crate::peer::{Peer, Reach, Reply, Then};
use crate::recording::Recording;

/// Timeout for the answer to a request. An agent that is stopped is noticed sooner, by its heartbeats: this is for
/// disks that do not respond.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a file of a node cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeFileError {
    /// The node cannot be reached; the reason.
    Unreached(String),
    /// The node has no such file, or refuses it; the reason.
    Refused(String),
}

/// A node whose files are read. The first request connects.
pub struct NodeFiles(Arc<Peer>);

/// An open file of a node; closed when it is dropped.
pub struct NodeFile {
    peer: Arc<Peer>,
    epoch: u64,
    handle: u64,
    length: u64,
}

impl NodeFiles {
    /// Creates the node `name`; `reach` connects to its agent, and is called with the index 0.
    #[must_use]
    pub fn new(name: String, reach: Reach) -> Self {
        Self(Peer::new(name, 0, reach, true, Arc::new(Recording::begin(1, false))))
    }

    /// Opens the file `path`, which has no slash at the beginning, below the root of the node's agent.
    ///
    /// # Errors
    /// Why it cannot be opened, or the node cannot be reached.
    pub fn open(&self, path: &[u8]) -> Result<NodeFile, NodeFileError> {
        let flags = OpenFlags { read: true, ..OpenFlags::default() };
        let shown = Path::new(std::ffi::OsStr::from_bytes(path)).display();
        let (then, told) = awaited();
        self.0.ask(Ask::Open(path.to_vec(), flags), Vec::new(), then);
        let reply = answer(&told, &self.0);
        let reply = reply.map_err(|reason| match self.0.standing().0 {
            true => NodeFileError::Refused(format!("cannot open /{shown}: {reason}")),
            false => NodeFileError::Unreached(reason),
        })?;
        let Answer::Opened { handle, attr, .. } = reply.answer else {
            let why = format!("cannot open /{shown}: its agent gave no handle");
            return Err(NodeFileError::Refused(why));
        };
        Ok(NodeFile { peer: Arc::clone(&self.0), epoch: reply.epoch, handle, length: attr.size })
    }
}

impl NodeFile {
    /// Returns the length that the file had when it was opened, in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Fills `bytes` with the contents from `offset` on; all pieces are requested at once.
    ///
    /// # Errors
    /// Why they cannot be read; also when the file is shorter.
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), String> {
        let mut at = offset;
        let pieces = bytes.chunks_mut(PIECE as usize).map(|piece| {
            let (then, told) = awaited();
            let ask = Ask::Read(self.handle, at, piece.len() as u32);
            self.peer.ask_in(self.epoch, ask, Vec::new(), then);
            at += piece.len() as u64;
            (piece, told)
        });
        for (piece, told) in pieces.collect::<Vec<_>>() {
            let reply = answer(&told, &self.peer)?;
            let came = reply.payload();
            if came.len() != piece.len() {
                return Err("the file is shorter than it was".to_owned());
            }
            piece.copy_from_slice(came);
        }
        Ok(())
    }
}

impl Drop for NodeFile {
    fn drop(&mut self) {
        self.peer.ask_in(self.epoch, Ask::Close(self.handle), Vec::new(), Box::new(|_| ()));
    }
}

/// Returns a continuation of a request, and the receiver of what it gets.
fn awaited() -> (Then, Receiver<Result<Reply, Errno>>) {
    let (tell, told) = channel();
    let then = move |outcome| {
        // This fails if the reader has stopped waiting.
        let _ = tell.send(outcome);
    };
    (Box::new(then), told)
}

/// Waits for an answer. The reason for which connections were lost stands for the error that this causes.
fn answer(told: &Receiver<Result<Reply, Errno>>, peer: &Peer) -> Result<Reply, String> {
    match told.recv_timeout(PATIENCE) {
        Ok(Ok(reply)) => Ok(reply),
        Ok(Err(error)) => Err(match peer.standing() {
            (false, Some(reason)) => reason,
            _ => garland_sys::error::reason(&error.into()),
        }),
        Err(RecvTimeoutError::Timeout) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
        Err(RecvTimeoutError::Disconnected) => Err("the connection was lost".to_owned()),
    }
}
