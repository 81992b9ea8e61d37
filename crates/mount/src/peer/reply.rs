//! Replies of a node, and buffers for requests.

use garland_protocol::{Answer, FRAME_HEAD};
use rustix::io::Errno;

/// The continuation of a request. It runs on the thread that receives replies, so it must not wait for
/// one.
pub type Then = Box<dyn FnOnce(Result<Reply, Errno>) + Send>;

/// A reply of a node and its payload.
#[derive(Debug)]
pub struct Reply {
    /// The answer.
    pub answer: Answer,
    /// The connection, which the handles in the answer belong to.
    pub epoch: u64,
    body: Vec<u8>,
    payload: usize,
}

impl Reply {
    /// A reply on the connection of `epoch`; `body` begins with `payload` bytes of payload.
    pub fn new(answer: Answer, epoch: u64, body: Vec<u8>, payload: usize) -> Self {
        Self { answer, epoch, body, payload }
    }

    /// The payload.
    pub fn payload(&self) -> &[u8] {
        &self.body[..self.payload]
    }
}

/// A buffer for `bytes` bytes of payload, which begins with the space for a frame's header.
pub fn room(bytes: usize) -> Vec<u8> {
    let mut frame = Vec::with_capacity(FRAME_HEAD + bytes + 128);
    frame.resize(FRAME_HEAD, 0);
    frame
}
