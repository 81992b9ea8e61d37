//! Streams: data sent at the maximum rate over a meeting's connections, to measure rates.

use serde::{Deserialize, Serialize};

use crate::bounds::{ensure, within};

/// The maximum length of a write in bytes.
pub const WRITE_MAX: u32 = 1 << 20;

/// The allowed maximum sizes of packets in bytes: the range that Linux accepts for `TCP_MAXSEG` (88
/// to 32767), plus 40 for the headers of IPv4 and TCP.
pub const PACKETS: std::ops::RangeInclusive<u16> = 128..=32807;

/// Streams over the connections of a meeting, each in one direction. The receivers measure, and
/// report when the result is precise enough.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamTask {
    /// The number of connections, counted from the first, on which the dialling agent sends; it
    /// receives on the others.
    pub forward: u16,
    /// The length of a write in bytes.
    pub write: u32,
    /// The maximum packet size in bytes, including headers; `None` uses the network's maximum.
    pub packet: Option<u16>,
    /// Milliseconds after a stream's first byte that are not counted, because TCP starts slowly.
    pub warm_up_ms: u32,
    /// The minimum number of counted milliseconds.
    pub least_ms: u32,
    /// The maximum number of counted milliseconds. Between the two limits a stream ends as soon as
    /// the rates of both halves of the counted time differ by at most 2 %.
    pub most_ms: u32,
}

/// The data of one stream that its receiver counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RxStats {
    /// The connection's number.
    pub number: u16,
    /// The number of counted bytes.
    pub bytes: u64,
    /// The time in which these bytes arrived, in nanoseconds.
    pub elapsed_ns: u64,
    /// Whether the rates of both halves of that time differ by at most 2 %.
    pub steady: bool,
}

/// The kernel's statistics of one stream at its end: `TCP_INFO` of the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TxStats {
    /// The connection's number.
    pub number: u16,
    /// Microseconds in which data was waiting to be sent or acknowledged.
    pub busy_us: u64,
    /// The part of `busy_us` in which the receiver's window was full.
    pub window_limited_us: u64,
    /// The part of `busy_us` in which the send buffer was full.
    pub buffer_limited_us: u64,
    /// The number of data segments that were sent, including retransmissions.
    pub segments: u32,
    /// The number of retransmitted segments.
    pub retransmits: u32,
    /// The congestion window in segments.
    pub window: u32,
    /// The smoothed round-trip time in microseconds, under the stream's load.
    pub round_trip_us: u32,
    /// The length of the data in a full segment, in bytes.
    pub segment_size: u32,
}

impl StreamTask {
    pub(super) fn check(&self, streams: u16) -> Result<(), String> {
        let forward = || format!("{} connections to send on, of only {streams}", self.forward);
        ensure(self.forward <= streams, forward)?;
        within("bytes per write", self.write, 1..=WRITE_MAX)?;
        self.packet.map_or(Ok(()), |packet| within("bytes per packet", packet, PACKETS))?;
        let least = self.least_ms;
        let most = self.most_ms;
        let empty = || format!("{least} to {most} ms are not a valid range of the measured time");
        ensure(least <= most && most > 0, empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_out_of_bounds_are_refused() {
        let task = |forward, write, least_ms, most_ms| {
            StreamTask { forward, write, packet: None, warm_up_ms: 1, least_ms, most_ms }.check(2)
        };
        assert!(task(2, 1, 0, 1).is_ok());
        assert!(task(3, 1, 0, 1).unwrap_err().contains("3 connections to send on, of only 2"));
        assert!(task(1, 0, 0, 1).unwrap_err().contains("0 bytes"));
        assert!(task(1, WRITE_MAX + 1, 0, 1).is_err());
        assert!(task(1, 1, 2, 1).unwrap_err().contains("2 to 1 ms"));
        assert!(task(1, 1, 0, 0).is_err());
        let packet = |packet| {
            let task =
                StreamTask { packet, forward: 1, write: 1, warm_up_ms: 1, least_ms: 1, most_ms: 1 };
            task.check(1)
        };
        assert!(packet(Some(128)).is_ok() && packet(None).is_ok());
        assert!(packet(Some(127)).unwrap_err().contains("127 bytes per packet"));
    }
}
