//! Errors of libfabric, of its helper, and of the messages between helper and agent.

use thiserror::Error;

/// The reason why a fabric cannot be used. The helper's answer to its agent is the text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FabricError {
    /// The helper, the library, a provider, memory, or the other node's endpoint is missing or
    /// does not fit; says what was found or what to do.
    #[error("{0}")]
    Unsuitable(String),
    /// A call of libfabric failed: the operation, and the library's text for the error number.
    #[error("libfabric: {0}: {1}")]
    Call(&'static str, String),
    /// The other node completed no operation for this number of seconds.
    #[error("libfabric: timed out after {0} s waiting for the other node")]
    Silent(u64),
    /// These bytes arrived changed.
    #[error("libfabric: {0} differ from those that were sent")]
    Changed(&'static str),
    /// The agent has exited.
    #[error("the agent has exited")]
    AgentExited,
    /// Two rings of this number of bytes cannot be allocated.
    #[error("cannot allocate two rings of {0} bytes")]
    Memory(u64),
    /// An order does not fit the endpoint.
    #[error("protocol error: {0}")]
    Order(&'static str),
    /// A message has this number of bytes, more than the limit.
    #[error("a message of {0} bytes")]
    Length(usize),
    /// A message cannot be decoded.
    #[error("an unknown message")]
    Message,
}
