//! The kernel's account of a stream, as results tell it.

use garland_protocol::TxStats;
use serde::Serialize;

/// `TCP_INFO` at a stream's end.
#[derive(Serialize)]
pub struct TcpAccount {
    busy_ns: u64,
    window_limited_ns: u64,
    buffer_limited_ns: u64,
    segments: u32,
    retransmits: u32,
    window: u32,
    round_trip_ns: u64,
    segment_size: u32,
}

impl TcpAccount {
    /// The account as its agent told it.
    pub fn new(went: &TxStats) -> Self {
        Self {
            busy_ns: went.busy_us * 1000,
            window_limited_ns: went.window_limited_us * 1000,
            buffer_limited_ns: went.buffer_limited_us * 1000,
            segments: went.segments,
            retransmits: went.retransmits,
            window: went.window,
            round_trip_ns: u64::from(went.round_trip_us) * 1000,
            segment_size: went.segment_size,
        }
    }
}
