//! The kernel's statistics of a TCP stream in the form in which results contain them.

use garland_protocol::measure::TxStats;
use serde::Serialize;

/// Statistics of a TCP stream, read from `TCP_INFO` at its end.
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
    /// Creates the result from the statistics that an agent has reported.
    pub fn new(stats: &TxStats) -> Self {
        Self {
            busy_ns: stats.busy_us.saturating_mul(1000),
            window_limited_ns: stats.window_limited_us.saturating_mul(1000),
            buffer_limited_ns: stats.buffer_limited_us.saturating_mul(1000),
            segments: stats.segments,
            retransmits: stats.retransmits,
            window: stats.window,
            round_trip_ns: u64::from(stats.round_trip_us) * 1000,
            segment_size: stats.segment_size,
        }
    }
}
