//! The counters of a node's traffic, and its part of the recording.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use garland_core::trace::Stage;

use crate::recording::Recording;

/// The counters of the traffic with one node since the mount began.
pub struct Traffic {
    /// Requests that were sent.
    pub asked: AtomicU64,
    /// Payload bytes received from the node.
    pub read: AtomicU64,
    /// Payload bytes sent to the node.
    pub written: AtomicU64,
    /// The number of times that an established connection was lost.
    pub lost: AtomicU64,
    recording: Arc<Recording>,
    node: usize,
}

impl Traffic {
    /// Creates counters that are 0, for the node at the index `node` of `recording`.
    pub fn new(recording: Arc<Recording>, node: usize) -> Self {
        let [asked, read, written, lost] = [0; 4].map(AtomicU64::new);
        Self { asked, read, written, lost, recording, node }
    }

    /// Records a span of the stage `stage` from `begin_ns` until now, in which `bytes` bytes were
    /// transferred.
    pub fn note(&self, stage: Stage, begin_ns: u64, bytes: u64) {
        self.recording.note(stage, self.node, begin_ns, bytes);
    }
}
