//! The counters and the trace of a node.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use garland_core::trace::Stage;

use crate::recording::Recording;

/// What was transferred to and from a node.
pub struct Traffic {
    /// Requests.
    pub asked: AtomicU64,
    /// Payload bytes received.
    pub read: AtomicU64,
    /// Payload bytes sent.
    pub written: AtomicU64,
    /// Lost connections.
    pub lost: AtomicU64,
    recording: Arc<Recording>,
    node: usize,
}

impl Traffic {
    /// Zero counters for the node at index `node` of `recording`.
    pub fn new(recording: Arc<Recording>, node: usize) -> Self {
        let [asked, read, written, lost] = [0; 4].map(AtomicU64::new);
        Self { asked, read, written, lost, recording, node }
    }

    /// Records a span of `stage` from `begin_ns` until now, which transferred `bytes` bytes.
    pub fn note(&self, stage: Stage, begin_ns: u64, bytes: u64) {
        self.recording.note(stage, self.node, begin_ns, bytes);
    }
}
