//! What is measured of a copy on one node, whether or not it is traced.

use std::sync::atomic::AtomicU64;

use garland_sys::clock;

use crate::calls::Calls;
use crate::gauge::Stages;
use crate::write_waits::WriteWaits;

/// The measurements of a copy on one node. The copy's threads add to them without waiting for each
/// other; heartbeats and reports read them.
pub struct Telemetry {
    /// Measures how many blocks are in each stage of the pipeline.
    pub stages: Stages,
    /// Measures how long the writers sleep in their writes.
    pub write_waits: WriteWaits,
    /// The disk calls in progress on the source; a store has its own.
    pub calls: Calls,
    /// CPU time in nanoseconds spent on decrypting, decompressing and verifying received blocks.
    pub opening_ns: AtomicU64,
    /// The number of bytes of blocks that this node has read itself and sent, after compression and
    /// encryption. Forwarded blocks do not count.
    pub sent_bytes: AtomicU64,
    /// The CPU time in nanoseconds that the agent had used before this copy.
    cpu_before_ns: u64,
}

impl Telemetry {
    /// Returns the measurements of a copy that begins now.
    pub(super) fn new() -> Self {
        Self {
            stages: Stages::default(),
            write_waits: WriteWaits::default(),
            calls: Calls::default(),
            opening_ns: AtomicU64::new(0),
            sent_bytes: AtomicU64::new(0),
            cpu_before_ns: clock::cpu_ns(),
        }
    }

    /// Returns the CPU time in nanoseconds that the process has used since the copy began.
    pub(super) fn cpu_ns(&self) -> u64 {
        clock::cpu_ns().saturating_sub(self.cpu_before_ns)
    }
}
