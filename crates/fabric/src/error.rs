//! Errors of libfabric, of its helper, and of the messages between helper and agent.

use thiserror::Error;

/// Why a fabric cannot be used. The helper sends the text of the error to its agent.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FabricError {
    /// The helper, the library, a provider or the other node's endpoint is missing or unsuitable.
    /// The text says what was found, or what to do.
    #[error("{0}")]
    Unsuitable(String),
    /// A call of libfabric failed: the operation, and the library's text for the error number.
    #[error("libfabric: {0}: {1}")]
    Call(&'static str, String),
    /// The other node completed no operation for this number of seconds.
    #[error("libfabric: timed out after {0} s waiting for the other node")]
    Silent(u64),
    /// Bytes differ from those that were sent. The text says which bytes.
    #[error("libfabric: {0} differ from those that were sent")]
    Changed(&'static str),
    /// The agent has exited.
    #[error("the agent has exited")]
    AgentExited,
    /// There is not enough memory for two rings, each of this number of bytes.
    #[error("cannot allocate memory for two rings of {0} bytes each")]
    Memory(u64),
    /// An order is invalid for the endpoint. The text is the reason.
    #[error("protocol error: {0}")]
    Order(&'static str),
    /// A message exceeds the maximum length. The number is its length in bytes.
    #[error("a message of {0} bytes exceeds the limit")]
    Length(usize),
    /// A message cannot be decoded.
    #[error("cannot decode a message")]
    Message,
}
