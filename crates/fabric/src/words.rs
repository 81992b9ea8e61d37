//! The messages between an agent and its helper: each is a frame that consists of the length (32
//! bits, little-endian) and the message, encoded with postcard. The helper first sends
//! [`Answer::Hello`]; after that it sends one answer to each order.

use std::net::IpAddr;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::FabricError;

/// The version of these messages, which must be the same in agent and helper.
pub const VERSION: u16 = 1;

/// The maximum length of an order in bytes.
pub const ORDER_MAX: usize = 4 << 10;

/// The maximum length of an answer in bytes: a round has up to [`SAMPLES_MAX`] samples, and each
/// takes at most 10 bytes.
pub const ANSWER_MAX: usize = 12 << 20;

/// The maximum number of operations of a round.
pub const SAMPLES_MAX: u64 = 1 << 20;

/// The maximum length of an endpoint's address in bytes.
pub const ADDRESS_MAX: usize = 512;

/// The length in bytes of the field before a message, which contains the length of the message.
pub const PREFIX: usize = 4;

/// The unit of the distance between slots, in bytes: a cache line.
const LINE: u64 = 64;

/// Returns the distance in bytes between the slots of operations of `size` bytes.
#[must_use]
pub fn stride(size: u32) -> u64 {
    u64::from(size.max(1)).next_multiple_of(LINE)
}

/// An order of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// List the providers that support `garland ping`, beginning with those that can use this
    /// address of the node.
    List(Option<IpAddr>),
    /// Close the open endpoint, if any, and open one with these properties.
    Open(Open),
    /// Insert the address of the peer's endpoint, to which all operations go.
    Meet(Peer),
    /// Run the initiator's part of a round.
    Run(Round),
    /// Run the target's part of a round.
    Serve(Round),
    /// Run operations of a round one after the other for at most this many milliseconds, while the
    /// target does nothing.
    Try(Round, u32),
    /// Wait for the operation that [`Order::Try`] left in flight, and tell the target that the
    /// round is over.
    Settle,
    /// Report the CPU time that the helper has used.
    Rest,
}

/// The requested properties of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    /// The name of the provider in libfabric.
    pub provider: String,
    /// The address of the node to use, if the provider selects a device by address.
    pub source: Option<IpAddr>,
    /// Whether to sleep while waiting, if the provider supports this.
    pub sleeps: bool,
    /// Whether the provider should acknowledge puts only once they are in the target's memory.
    pub puts: bool,
    /// The maximum number of operations in flight.
    pub depth: u32,
    /// The memory in bytes that `depth` operations need, in each direction.
    pub ring: u64,
    /// The size of the largest operation in bytes.
    pub largest: u32,
}

/// What a peer needs to know of an endpoint: its address and its memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// The name of the provider, which must be the same on both sides.
    pub provider: String,
    /// The address in the provider's format.
    pub address: Vec<u8>,
    /// The address of the memory's first byte in gets and puts of the peer; 0 if the provider uses
    /// offsets from this byte.
    pub base: u64,
    /// The key that gives access to the memory.
    pub key: u64,
}

/// The properties of an endpoint that was opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    /// What the peer needs to know of the endpoint.
    pub peer: Peer,
    /// The name of the NIC or other device in libfabric.
    pub domain: String,
    /// The major and minor version of libfabric.
    pub library: (u16, u16),
    /// Whether the helper sleeps while it waits.
    pub sleeps: bool,
    /// Whether puts are acknowledged only once they are in the target's memory.
    pub delivers: bool,
}

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// A read of the target's memory.
    Get,
    /// A write to the target's memory.
    Put,
    /// A message to the target, and the answer.
    Msg,
}

/// The parameters of a round, that is, a number of operations of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// The kind of operation.
    pub kind: Kind,
    /// The length of an operation in bytes, at least 1.
    pub size: u32,
    /// The maximum number of operations in flight, at least 1.
    pub depth: u32,
    /// The number of operations.
    pub count: u64,
    /// The number of operations to start per second; `None` for as fast as possible.
    pub rate: Option<u32>,
    /// The number of the round in the meeting. The pattern of the transferred bytes depends on it.
    pub serial: u32,
}

#[cfg(feature = "helper")]
impl Round {
    /// Returns the time at which operation `number` is due if the round began at `start`, both in
    /// monotonic nanoseconds; `None` without a rate. Latencies are measured from this time, so that
    /// they include a delay of the sender.
    pub(crate) fn due_ns(&self, start: u64, number: u64) -> Option<u64> {
        let rate = u64::from(self.rate?.max(1));
        Some(start.saturating_add(number.saturating_mul(1_000_000_000) / rate))
    }
}

/// The times of a round at the initiator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// The time in nanoseconds from the first operation to the last completion.
    pub elapsed_ns: u64,
    /// The time in nanoseconds in the calls that start operations.
    pub posting_ns: u64,
    /// The time in nanoseconds at work, without sleep or polls.
    pub work_ns: u64,
    /// For each operation, in the order of completion, its latency in nanoseconds.
    pub samples: Vec<u64>,
}

/// An answer of the helper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The first message, before any order: the version of the helper's messages.
    Hello(u16),
    /// The answer to [`Order::List`]: the names of the providers, best first.
    Providers(Vec<String>),
    /// The answer to [`Order::Open`]: the properties of the endpoint.
    Opened(Opened),
    /// The order was executed, and has no result.
    Done,
    /// The answer to [`Order::Run`]: the measurements.
    Ran(Ran),
    /// The answer to [`Order::Serve`]: the time in nanoseconds that this side was at work.
    Served(u64),
    /// The answer to [`Order::Try`]: the number of operations that completed in time.
    Tried(u64),
    /// The answer to [`Order::Rest`]: the CPU time in nanoseconds that the helper has used so far.
    Rested(u64),
    /// The order failed or is invalid; the reason.
    Refused(String),
}

/// Parts of the names of providers that reach only their own machine.
const LOCAL: [&str; 2] = ["shm", "sm2"];

/// Returns whether a provider reaches only its own machine.
#[must_use]
pub fn is_local(provider: &str) -> bool {
    LOCAL.iter().any(|name| provider.contains(name))
}

/// Returns a message as a frame: its length, and the message.
#[must_use]
pub fn frame(message: &impl Serialize) -> Vec<u8> {
    let mut bytes = vec![0; PREFIX];
    // Encoding these values to memory cannot fail; if memory is short, the process aborts.
    bytes = postcard::to_extend(message, bytes).unwrap_or_default();
    if let Some(length) = bytes.len().checked_sub(PREFIX) {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        bytes[..PREFIX].copy_from_slice(&length.to_le_bytes());
    }
    bytes
}

/// Returns the length of a message, which is encoded in the `prefix` before it.
///
/// # Errors
/// When the length exceeds `most`.
pub fn length(prefix: [u8; PREFIX], most: usize) -> Result<usize, FabricError> {
    let length = u32::from_le_bytes(prefix) as usize;
    if length <= most { Ok(length) } else { Err(FabricError::Length(length)) }
}

/// Returns the message that `bytes` encode.
///
/// # Errors
/// When `bytes` are not exactly one valid message.
pub fn message<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, FabricError> {
    match postcard::take_from_bytes(bytes) {
        Ok((message, [])) => Ok(message),
        _ => Err(FabricError::Message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood_and_nothing_else() {
        let round =
            Round { kind: Kind::Put, size: 8, depth: 4, count: 100, rate: Some(1000), serial: 7 };
        let bytes = frame(&Order::Run(round));
        let prefix = bytes[..PREFIX].try_into().unwrap();
        assert_eq!(length(prefix, ORDER_MAX), Ok(bytes.len() - PREFIX));
        assert!(length([255; PREFIX], ANSWER_MAX).is_err());
        assert_eq!(message(&bytes[PREFIX..]), Ok(Order::Run(round)));
        assert!(message::<Order>(&bytes[PREFIX..bytes.len() - 1]).is_err(), "cut");
        assert!(message::<Order>(&[&bytes[PREFIX..], &[0]].concat()).is_err(), "more behind it");
        assert!(message::<Answer>(&[99]).is_err());
    }

    #[test]
    fn the_most_samples_fit() {
        let samples = vec![u64::MAX; usize::try_from(SAMPLES_MAX).unwrap()];
        let ran = Ran { elapsed_ns: u64::MAX, posting_ns: u64::MAX, work_ns: u64::MAX, samples };
        assert!(frame(&Answer::Ran(ran)).len() - PREFIX <= ANSWER_MAX);
    }
}
