//! What a node reports of a copy: to the head, to `garland top`, and to the copy's trace.

use std::sync::atomic::Ordering;

use garland_protocol::copy::{PendingCall, Report};
use garland_protocol::measure::CopyView;
use garland_sys::{process, schedule};

use super::CopyContext;

/// A disk call that is overdue by this many nanoseconds counts as hanging; a copy then ends without
/// waiting for its threads.
const HANGS_NS: u64 = 1_000_000_000;

impl CopyContext {
    /// Returns this node's report on the copy, for a heartbeat.
    pub fn report(&self) -> Report {
        let lanes = self.lanes.reports();
        // The threads of the lanes need the lock of the blocks: it is not kept while the rest,
        // which takes system calls, is collected.
        let sink = self.progress.sink();
        let held = match self.config.is_source {
            // A source has all blocks from the start: report the blocks that it has sent.
            true => lanes.iter().map(|lane| lane.received).sum(),
            false => sink.held(),
        };
        let whole = sink.whole();
        drop(sink);
        Report {
            held,
            had: self.progress.had,
            whole,
            lanes,
            // An ordered store is compared file by file, not by blocks.
            holder: self.config.is_source
                || self.config.store.is_holder() && !self.config.store.is_ordered(),
            depths: self.telemetry.stages.depths(),
            stalled_ns: self.pool.waited_ns(),
            blocked_ns: self.telemetry.write_waits.blocked_ns(),
            starved_ns: schedule::waited_ns(),
            memory: process::peak_memory(),
            cpu_ns: self.telemetry.cpu_ns(),
            opening_ns: self.telemetry.opening_ns.load(Ordering::Relaxed),
            removed: self.config.store.removed(),
            checksum: self.progress.summed.get().cloned(),
            pending: self.pending(),
        }
    }

    /// Returns the call on the node's disks that has made no progress for a second or more; of
    /// several such calls, the one with the greatest [`PendingCall::weight`].
    pub fn pending(&self) -> Option<PendingCall> {
        let stored =
            self.config.store.calls().and_then(|calls| calls.pending(self.config.store.steps()));
        let given = self.telemetry.calls.pending(0);
        stored.into_iter().chain(given).max_by_key(PendingCall::weight)
    }

    /// Returns whether the node's disk hangs. If so, the copy's threads may never end.
    pub fn hangs(&self) -> bool {
        self.pending().is_some_and(|call| call.overdue_ns() >= HANGS_NS)
    }

    /// Returns a snapshot of the copy for `garland top`, which shows it as `name`.
    pub fn view(&self, name: &str) -> CopyView {
        let sink = self.progress.sink();
        let held = sink.held();
        let blocks = sink.wanted();
        drop(sink);
        CopyView {
            copy: self.config.id,
            name: name.to_owned(),
            is_source: self.config.is_source,
            held: if self.config.is_source { self.lanes.received() } else { held },
            blocks,
            length: blocks.map(|blocks| self.layout.offset(blocks).min(self.layout.length)),
            block_size: self.layout.block_size,
            finishing: self.progress.is_finishing(),
            lanes: self.lanes.views(),
        }
    }

    /// Samples the kernel's counters unless that was done within the last 250 ms.
    pub fn sample(&self) {
        self.config.trace.sample(|| self.lanes.feeds());
    }

    /// Samples the kernel's counters at once.
    pub fn sample_now(&self) {
        self.config.trace.sample_now(&self.lanes.feeds());
    }
}
