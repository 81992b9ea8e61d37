//! The messages between an agent and its helper: frames of a length (32 bits, little-endian) and
//! a message in postcard. The helper sends a hello; after that, each order has one answer.

use std::net::IpAddr;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::FabricError;

/// The version of these messages; agent and helper must have the same.
pub const VERSION: u16 = 1;

/// The maximum length of an order in bytes.
pub const ORDER_MAX: usize = 4 << 10;

/// The maximum length of an answer in bytes: a sample of a round takes at most 10.
pub const ANSWER_MAX: usize = 12 << 20;

/// The maximum number of operations of a round.
pub const SAMPLES_MAX: u64 = 1 << 20;

/// The maximum length of an endpoint's address in bytes.
pub const ADDRESS_MAX: usize = 512;

/// The length of the field before a message, which is its length, in bytes.
pub const PREFIX: usize = 4;

/// The minimum distance of operations in flight, in bytes: a cache line.
const LINE: u64 = 64;

/// Returns the distance in bytes between operations in flight, for those of `size` bytes.
#[must_use]
pub fn stride(size: u32) -> u64 {
    u64::from(size.max(1)).next_multiple_of(LINE)
}

/// An order of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// List the providers that support `garland ping` on this address of the node.
    List(Option<IpAddr>),
    /// Open an endpoint.
    Open(Open),
    /// Insert the address of the peer's endpoint.
    Meet(Peer),
    /// Run the initiator's part of a round.
    Run(Round),
    /// Run the target's part of a round.
    Serve(Round),
    /// Run operations one after the other for this many milliseconds, while the target
    /// does nothing.
    Try(Round, u32),
    /// End the operations that a trial started, and tell the target.
    Settle,
    /// Do nothing; report the CPU time that the helper has used.
    Rest,
}

/// The requested properties of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    /// The name of the provider in libfabric.
    pub provider: String,
    /// The address of the node to use, if the provider selects by address.
    pub source: Option<IpAddr>,
    /// Whether to sleep while waiting, if the provider can.
    pub sleeps: bool,
    /// Whether puts must be acknowledged only once they are in the target's memory.
    pub puts: bool,
    /// The maximum number of operations in flight.
    pub depth: u32,
    /// The bytes of memory for this number of operations, in each direction.
    pub ring: u64,
    /// The size of the largest operation in bytes.
    pub largest: u32,
}

/// The address of an endpoint and its memory, for the peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// The provider; both sides must use the same.
    pub provider: String,
    /// The address in the provider's format.
    pub address: Vec<u8>,
    /// The start of its memory, for gets and puts.
    pub base: u64,
    /// The key of its memory.
    pub key: u64,
}

/// An endpoint that was opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    /// The address for the peer.
    pub peer: Peer,
    /// The name of the NIC or other device in libfabric.
    pub domain: String,
    /// The version of the library.
    pub library: (u16, u16),
    /// Whether it sleeps while it waits.
    pub sleeps: bool,
    /// Whether puts are acknowledged when they are in the target's memory.
    pub delivers: bool,
}

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// A read of the target's memory.
    Get,
    /// A write to the target's memory.
    Put,
    /// A message to the target and one back.
    Msg,
}

/// A round: a number of operations of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// The kind of operation.
    pub kind: Kind,
    /// The length in bytes, at least 1.
    pub size: u32,
    /// The maximum number in flight.
    pub depth: u32,
    /// The number of operations.
    pub count: u64,
    /// The rate of operations per second; `None` for as fast as possible.
    pub rate: Option<u32>,
    /// The number of the round in the meeting, from which its data is derived.
    pub serial: u32,
}

#[cfg(feature = "helper")]
impl Round {
    /// Returns the time at which operation `number` is due, in nanoseconds from the round's start; `None` without a rate.
    /// Latencies are counted from here, so that a delay of the sender counts too.
    pub(crate) fn due_ns(&self, start: u64, number: u64) -> Option<u64> {
        let rate = u64::from(self.rate?.max(1));
        Some(start.saturating_add(number.saturating_mul(1_000_000_000) / rate))
    }
}

/// The times of a round at the initiator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// Nanoseconds in total.
    pub elapsed_ns: u64,
    /// Nanoseconds in the calls that post operations.
    pub posting_ns: u64,
    /// Nanoseconds at work: without sleep and unsuccessful polls.
    pub work_ns: u64,
    /// Nanoseconds of each operation.
    pub samples: Vec<u64>,
}

/// An answer of the helper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// At first: its version.
    Hello(u16),
    /// The providers' names, as libfabric orders them.
    Providers(Vec<String>),
    /// The endpoint is open.
    Opened(Opened),
    /// Done.
    Done,
    /// A round's initiator is done.
    Ran(Ran),
    /// A round's target is done; the nanoseconds that it was at work.
    Served(u64),
    /// The number of operations of a try that ended in its time.
    Tried(u64),
    /// Nanoseconds of CPU used so far.
    Rested(u64),
    /// It can't be done, and why.
    Refused(String),
}

/// Providers that reach no other machine have one of these in their names.
const LOCAL: [&str; 2] = ["shm", "sm2"];

/// Whether a provider reaches only its own machine.
#[must_use]
pub fn is_local(provider: &str) -> bool {
    LOCAL.iter().any(|name| provider.contains(name))
}

/// A message as a frame.
#[must_use]
pub fn frame(message: &impl Serialize) -> Vec<u8> {
    let mut bytes = vec![0; PREFIX];
    // Writing plain values to memory fails for lack of it only, which is no error but an end.
    bytes = postcard::to_extend(message, bytes).unwrap_or_default();
    if let Some(length) = bytes.len().checked_sub(PREFIX) {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        bytes[..PREFIX].copy_from_slice(&length.to_le_bytes());
    }
    bytes
}

/// The length of a frame, from its header.
///
/// # Errors
/// When it is above `most`.
pub fn length(prefix: [u8; PREFIX], most: usize) -> Result<usize, FabricError> {
    let length = u32::from_le_bytes(prefix) as usize;
    if length <= most { Ok(length) } else { Err(FabricError::Length(length)) }
}

/// The message of a frame without its length.
///
/// # Errors
/// When it is none.
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
        let frame = frame(&Order::Run(round));
        let prefix = frame[..PREFIX].try_into().unwrap();
        assert_eq!(length(prefix, ORDER_MAX), Ok(frame.len() - PREFIX));
        assert!(length([255; PREFIX], ANSWER_MAX).is_err());
        assert_eq!(message(&frame[PREFIX..]), Ok(Order::Run(round)));
        assert!(message::<Order>(&frame[PREFIX..frame.len() - 1]).is_err(), "cut");
        assert!(message::<Order>(&[&frame[PREFIX..], &[0]].concat()).is_err(), "more behind it");
        assert!(message::<Answer>(&[99]).is_err());
    }

    #[test]
    fn the_most_samples_fit() {
        let samples = vec![u64::MAX; usize::try_from(SAMPLES_MAX).unwrap()];
        let ran = Ran { elapsed_ns: u64::MAX, posting_ns: u64::MAX, work_ns: u64::MAX, samples };
        assert!(frame(&Answer::Ran(ran)).len() - PREFIX <= ANSWER_MAX);
    }
}
