//! Replies of nodes, and buffers for requests.

use garland_protocol::files::Answer;
use garland_protocol::wire::FRAME_HEAD;
use rustix::io::Errno;

/// The function that is called with the result of a request. It runs on the thread that receives
/// replies, so it must not wait for another reply.
pub type Then = Box<dyn FnOnce(Result<Reply, Errno>) + Send>;

/// A reply of a node and its payload.
#[derive(Debug)]
pub struct Reply {
    /// The answer, without the payload.
    pub answer: Answer,
    /// The epoch of the connection on which the reply arrived. Handles in the answer are valid on
    /// it only.
    pub epoch: u64,
    body: Vec<u8>,
    payload: usize,
}

impl Reply {
    /// Creates a reply that arrived on the connection of `epoch`. The first `payload` bytes of
    /// `body` are the payload.
    pub fn new(answer: Answer, epoch: u64, body: Vec<u8>, payload: usize) -> Self {
        Self { answer, epoch, body, payload }
    }

    /// Returns the payload of the reply, such as bytes of a file.
    pub fn payload(&self) -> &[u8] {
        &self.body[..self.payload]
    }

    /// Returns the payload of the reply without copying it.
    pub fn into_payload(self) -> Vec<u8> {
        let Self { mut body, payload, .. } = self;
        body.truncate(payload);
        body
    }
}

/// Returns a buffer for `bytes` bytes of payload. It already contains the space for a frame's
/// header.
pub fn room(bytes: usize) -> Vec<u8> {
    let mut frame = Vec::with_capacity(FRAME_HEAD + bytes + 128);
    frame.resize(FRAME_HEAD, 0);
    frame
}
