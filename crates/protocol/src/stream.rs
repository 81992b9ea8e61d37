//! Streams: bytes sent as fast as they go over a meeting's connections, to measure rates.

use serde::{Deserialize, Serialize};

/// The most bytes of one write.
pub const WRITE_MAX: u32 = 1 << 20;

/// The sizes that packets may be kept to, in bytes: what Linux takes for `TCP_MAXSEG` (88 to 32767),
/// and the headers of IPv4 and TCP.
pub const PACKETS: std::ops::RangeInclusive<u16> = 128..=32807;

/// Streams over the connections of a meeting, each one way. The receivers measure, and say when it
/// is enough.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamTask {
    /// The number of connections, of the first ones, on which the dialling agent sends; on the others it
    /// receives.
    pub forward: u16,
    /// Bytes of one write.
    pub write: u32,
    /// Bytes of the largest packet, its headers included; as large as the network takes without it.
    pub packet: Option<u16>,
    /// Milliseconds from a stream's first byte that aren't counted: TCP starts slowly.
    pub warm_up_ms: u32,
    /// Milliseconds that are counted at least.
    pub least_ms: u32,
    /// Milliseconds that are counted at most. Between the two a stream ends as soon as both halves
    /// of what was counted have the same rate, but for 2 %.
    pub most_ms: u32,
}

/// What came in on one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RxStats {
    /// The connection's number.
    pub number: u16,
    /// The bytes that were counted.
    pub bytes: u64,
    /// The nanoseconds in which they came in.
    pub elapsed_ns: u64,
    /// Whether both halves of that time had the same rate, but for 2 %.
    pub steady: bool,
}

/// The kernel's account of one stream at its end, from `TCP_INFO` of its sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TxStats {
    /// The connection's number.
    pub number: u16,
    /// Microseconds in which there was something to send or to be acknowledged.
    pub busy_us: u64,
    /// Of these, microseconds in which the receiver had no room.
    pub window_limited_us: u64,
    /// Of these, microseconds in which the sender's buffer was full.
    pub buffer_limited_us: u64,
    /// Segments with data that were sent, repeated ones included.
    pub segments: u32,
    /// Segments that were sent again.
    pub retransmits: u32,
    /// Segments that could be under way.
    pub window: u32,
    /// Smoothed round-trip time in microseconds, under this load.
    pub round_trip_us: u32,
    /// Bytes of data in a full segment.
    pub segment_size: u32,
}

impl StreamTask {
    pub(super) fn check(&self, streams: u16) -> Result<(), String> {
        if self.forward > streams {
            return Err(format!("{} of {streams} connections forward", self.forward));
        }
        if !(1..=WRITE_MAX).contains(&self.write) {
            return Err(format!("writes of {} bytes: allowed are 1 to {WRITE_MAX}", self.write));
        }
        if let Some(packet) = self.packet.filter(|packet| !PACKETS.contains(packet)) {
            let (least, most) = PACKETS.into_inner();
            return Err(format!("packets of {packet} bytes: allowed are {least} to {most}"));
        }
        if self.least_ms > self.most_ms || self.most_ms == 0 {
            return Err(format!("{} to {} ms: nothing to count", self.least_ms, self.most_ms));
        }
        Ok(())
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
        assert!(task(3, 1, 0, 1).unwrap_err().contains("3 of 2"));
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
        assert!(packet(Some(127)).unwrap_err().contains("packets of 127 bytes"));
    }
}
