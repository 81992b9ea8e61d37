//! Reads contents of nodes without a mount, over connections as those of a mount.

use std::sync::Arc;
use std::time::Duration;

use garland_protocol::files::{Ask, PIECE};
use garland_sys::channel::{Receiver, RecvTimeoutError, channel};
use rustix::io::Errno;

use crate::peer::{Peer, Reach, Reply, Then};
use crate::recording::Recording;

/// Timeout for the answer to a request. An agent that is stopped is noticed sooner, by its
/// heartbeats: this is for disks that do not respond.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Why bytes of a node's file cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeFileError {
    /// The node cannot be reached; the reason.
    Unreached(String),
    /// The node does not serve the content, or refuses it; the reason.
    Refused(String),
    /// The file has other bytes, or is shorter.
    Differs,
    /// The bytes did not arrive at the node yet.
    Later,
}

/// A block of a content.
#[derive(Clone, Copy, Debug)]
pub struct WantedBlock {
    /// The content: the digest of its manifest.
    pub root: [u8; 32],
    /// The number of the file in the manifest.
    pub file: u32,
    /// The number of the block in the file.
    pub block: u64,
    /// The length of the block in bytes.
    pub length: u32,
    /// Whether the node may still be fetching it, and waits some seconds for it.
    pub arriving: bool,
}

/// A node whose contents are read. The first request connects.
pub struct NodeFiles(Arc<Peer>);

impl NodeFiles {
    /// Creates the node `name`; `reach` connects to its agent, and is called with the index 0.
    #[must_use]
    pub fn new(name: String, reach: Reach) -> Self {
        Self(Peer::new(name, 0, reach, true, Arc::new(Recording::begin(1, false))))
    }

    /// Asks whether the node serves a content, with the file `file` of it, and calls `then` with
    /// the answer; maybe never, if the node does not answer.
    pub fn look(&self, root: [u8; 32], file: u32, then: impl FnOnce(bool) + Send + 'static) {
        let asked = Ask::Holds { root, file };
        self.0.ask(asked, Vec::new(), Box::new(move |outcome| then(outcome.is_ok())));
    }

    /// Returns a block of a content that the node serves.
    ///
    /// # Errors
    /// Why it cannot be had. The caller has to check the digest: the node may lie.
    pub fn read(&self, wanted: &WantedBlock) -> Result<Vec<u8>, NodeFileError> {
        let mut bytes = self.read_piece(wanted, 0)?;
        for piece in 1..wanted.length.div_ceil(PIECE) {
            bytes.extend(self.read_piece(wanted, piece)?);
        }
        Ok(bytes)
    }

    fn read_piece(&self, wanted: &WantedBlock, piece: u32) -> Result<Vec<u8>, NodeFileError> {
        let WantedBlock { root, file, block, length, arriving } = *wanted;
        let length = (length - piece * PIECE).min(PIECE);
        let (then, told) = awaited();
        self.0.ask(Ask::Block { root, file, block, piece, arriving }, Vec::new(), then);
        let reply = match told.recv_timeout(ANSWER_TIMEOUT) {
            Ok(Ok(reply)) => reply,
            Ok(Err(Errno::STALE)) => return Err(NodeFileError::Differs),
            Ok(Err(Errno::AGAIN)) => return Err(NodeFileError::Later),
            Ok(Err(error)) => return Err(self.failed(error)),
            Err(RecvTimeoutError::Timeout) => {
                let late = format!("no answer within {} s", ANSWER_TIMEOUT.as_secs());
                return Err(NodeFileError::Unreached(late));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(NodeFileError::Unreached("the connection was lost".to_owned()));
            }
        };
        let bytes = reply.into_payload();
        if bytes.len() == length as usize { Ok(bytes) } else { Err(NodeFileError::Differs) }
    }

    /// Returns the error of a request. The reason for which connections were lost stands for the
    /// error that this causes.
    fn failed(&self, error: Errno) -> NodeFileError {
        let cause = garland_sys::error::reason(&error.into());
        match self.0.standing() {
            (false, why) => NodeFileError::Unreached(why.unwrap_or(cause)),
            (true, _) if error == Errno::NODATA => {
                NodeFileError::Refused("its agent does not serve the content".to_owned())
            }
            (true, _) => NodeFileError::Refused(format!("cannot read the content: {cause}")),
        }
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
