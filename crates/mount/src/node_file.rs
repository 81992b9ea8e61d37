//! Reads files of nodes without a mount, over connections as those of a mount.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use garland_protocol::{Ask, PIECE, content_digest};
use garland_sys::channel::{Receiver, RecvTimeoutError, channel};
use rustix::io::Errno;

use crate::peer::{Peer, Reach, Reply, Then};
use crate::recording::Recording;

/// Timeout for the answer to a request. An agent that is stopped is noticed sooner, by its heartbeats: this is for
/// disks that do not respond.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why bytes of a node's file cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeFileError {
    /// The node cannot be reached; the reason.
    Unreached(String),
    /// The node has no such file, or refuses it; the reason.
    Refused(String),
    /// The file has other bytes, or is shorter.
    Differs,
    /// The bytes did not arrive at the node yet.
    Later,
}

/// A node whose files are read. The first request connects.
pub struct NodeFiles(Arc<Peer>);

impl NodeFiles {
    /// Creates the node `name`; `reach` connects to its agent, and is called with the index 0.
    #[must_use]
    pub fn new(name: String, reach: Reach) -> Self {
        Self(Peer::new(name, 0, reach, true, Arc::new(Recording::begin(1, false))))
    }

    /// Asks whether the node has the file `path`, as [`read`](Self::read) names it, and calls `then` with the answer;
    /// maybe never, if the node does not answer.
    pub fn look(&self, path: &[u8], then: impl FnOnce(bool) + Send + 'static) {
        let nothing = Ask::Verified(path.to_vec(), 0, 0, content_digest(&[]), false);
        self.0.ask(nothing, Vec::new(), Box::new(move |outcome| then(outcome.is_ok())));
    }

    /// Returns `length` bytes, at most [`PIECE`], of the file `path` from `offset` on, if they have this digest. The path
    /// has no slash at the beginning, and is below the root of the node's agent. If `arriving`, the node may still be
    /// fetching them, and waits some seconds for them.
    ///
    /// # Errors
    /// Why they cannot be had. The caller has to check the digest: the node may lie.
    pub fn read(
        &self,
        path: &[u8],
        (offset, length): (u64, u32),
        (digest, arriving): ([u8; 32], bool),
    ) -> Result<Vec<u8>, NodeFileError> {
        if length > PIECE {
            return Err(NodeFileError::Refused("its blocks are too long".to_owned()));
        }
        let (then, told) = awaited();
        self.0.ask(
            Ask::Verified(path.to_vec(), offset, length, digest, arriving),
            Vec::new(),
            then,
        );
        let reply = match told.recv_timeout(PATIENCE) {
            Ok(Ok(reply)) => reply,
            Ok(Err(Errno::STALE)) => return Err(NodeFileError::Differs),
            Ok(Err(Errno::AGAIN)) => return Err(NodeFileError::Later),
            Ok(Err(error)) => return Err(self.failed(path, error)),
            Err(RecvTimeoutError::Timeout) => {
                let late = format!("no answer within {} s", PATIENCE.as_secs());
                return Err(NodeFileError::Unreached(late));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(NodeFileError::Unreached("the connection was lost".to_owned()));
            }
        };
        let bytes = reply.into_payload();
        if bytes.len() == length as usize { Ok(bytes) } else { Err(NodeFileError::Differs) }
    }

    /// Returns the error of a request. The reason for which connections were lost stands for the error that this
    /// causes.
    fn failed(&self, path: &[u8], error: Errno) -> NodeFileError {
        let shown = Path::new(std::ffi::OsStr::from_bytes(path)).display();
        let reason = garland_sys::error::reason(&error.into());
        match self.0.standing() {
            (false, why) => NodeFileError::Unreached(why.unwrap_or(reason)),
            (true, _) => NodeFileError::Refused(format!("cannot open /{shown}: {reason}")),
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
