//! Messages between initiator and target about rounds, over the meeting's connection: an order of
//! 24 bytes, an answer of 8 bytes when the target is ready, and a receipt of 8 bytes after the
//! round.

use std::io::{self, Read, Write};

use garland_protocol::measure::{PING_DEPTH_MAX, PING_SIZE_MAX, PingKind};
use garland_sys::socket::TcpStream;

use crate::probe::error::ProbeError;
use crate::probe::meeting_state::MeetingState;

const LEN: usize = 24;

/// The most operations of a round: those of an hour, without a pause.
const COUNT_MAX: u64 = 1 << 40;

/// A round of operations of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    /// The operation; `None` ends the meeting.
    pub kind: Option<PingKind>,
    /// The size of an operation in bytes.
    pub size: u32,
    /// The maximum number of operations in flight.
    pub depth: u32,
    /// The number of operations.
    pub count: u64,
    /// The number of operations to begin per second; `None` for no limit.
    pub rate: Option<u32>,
}

impl Order {
    /// The order that ends the meeting.
    pub const END: Self = Self { kind: None, size: 0, depth: 1, count: 0, rate: None };

    /// Returns the sizes of a request and of its answer in bytes, as sent over a stream.
    pub fn bytes(&self) -> (u64, u64) {
        self.kind.unwrap_or(PingKind::Msg).bytes(self.size)
    }

    /// Sends the order to the target.
    pub fn send(&self, mut stream: &TcpStream) -> io::Result<()> {
        let mut bytes = [0; LEN];
        bytes[0] = match self.kind {
            None => b'E',
            Some(PingKind::Get) => b'G',
            Some(PingKind::Put) => b'P',
            Some(PingKind::Msg) => b'M',
        };
        bytes[4..8].copy_from_slice(&self.size.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.depth.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.count.to_le_bytes());
        stream.write_all(&bytes)
    }

    /// Receives the next order and confirms it to the initiator. Returns `None` at the end of the
    /// meeting.
    pub fn receive(
        meeting: &MeetingState,
        mut stream: &TcpStream,
    ) -> Result<Option<Self>, ProbeError> {
        let mut bytes = [0; LEN];
        read(meeting, stream, &mut bytes)?;
        let order = Self::parse(&bytes)?;
        if order.is_some() {
            stream.write_all(&1_u64.to_le_bytes())?;
        }
        Ok(order)
    }

    /// Parses an order; `None` is the end of the meeting.
    fn parse(bytes: &[u8; LEN]) -> Result<Option<Self>, ProbeError> {
        let kind = match bytes[0] {
            b'E' => return Ok(None),
            b'G' => PingKind::Get,
            b'P' => PingKind::Put,
            b'M' => PingKind::Msg,
            _ => return Err("protocol error: the other agent sent an unknown order".into()),
        };
        let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or([0; 4]));
        let count = u64::from_le_bytes(bytes[16..24].try_into().unwrap_or([0; 8]));
        let order = Self { kind: Some(kind), size: number(4), depth: number(8), count, rate: None };
        let is_within = order.size <= PING_SIZE_MAX
            && (1..=PING_DEPTH_MAX).contains(&order.depth)
            && order.count <= COUNT_MAX;
        if !is_within {
            return Err("protocol error: the other agent's order is out of bounds".into());
        }
        Ok(Some(order))
    }
}

/// Waits until the target is ready.
pub fn await_ready(meeting: &MeetingState, stream: &TcpStream) -> Result<(), ProbeError> {
    read(meeting, stream, &mut [0; 8])
}

/// Sends the initiator the time for which this side was at work, in nanoseconds.
pub fn send_receipt(mut stream: &TcpStream, work_ns: u64) -> io::Result<()> {
    stream.write_all(&work_ns.to_le_bytes())
}

/// Receives the time for which the target was at work, in nanoseconds.
pub fn read_receipt(meeting: &MeetingState, stream: &TcpStream) -> Result<u64, ProbeError> {
    let mut bytes = [0; 8];
    read(meeting, stream, &mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Fills `bytes` from the stream. An error is [`ProbeError::Over`] if the meeting is over.
pub fn read(
    meeting: &MeetingState,
    mut stream: &TcpStream,
    bytes: &mut [u8],
) -> Result<(), ProbeError> {
    stream.read_exact(bytes).map_err(|error| match meeting.is_over() {
        true => ProbeError::Over,
        false => ProbeError::Lost(error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(size: u32, depth: u32, count: u64) -> Result<Option<Order>, ProbeError> {
        let mut bytes = [0; LEN];
        bytes[0] = b'G';
        bytes[4..8].copy_from_slice(&size.to_le_bytes());
        bytes[8..12].copy_from_slice(&depth.to_le_bytes());
        bytes[16..24].copy_from_slice(&count.to_le_bytes());
        Order::parse(&bytes)
    }

    #[test]
    fn orders_out_of_bounds_are_refused() {
        assert!(matches!(order(8, 32, 1000), Ok(Some(_))));
        assert!(order(PING_SIZE_MAX + 1, 1, 1).is_err());
        assert!(order(8, 0, 1).is_err());
        assert!(order(8, PING_DEPTH_MAX + 1, 1).is_err());
        assert!(order(8, 1, u64::MAX).is_err());
    }
}
