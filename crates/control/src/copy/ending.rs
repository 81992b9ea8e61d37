//! The end of a copy: closes it on all agents, and determines the outcome of every node.

use std::sync::atomic::Ordering;
use std::time::Duration;

use garland_core::plan::NodeId;
use garland_core::trace::Exchange;
use garland_protocol::{ToAgent, Verdict};
use garland_sys::clock;
use garland_sys::signal::Interrupts;

use super::{Driver, QUIET_NS};
use crate::outcome::{NodeOutcome, Outcome};
use garland_dataplane::leaving;

/// Timeout for agents to close the copy.
const CLOSING: Duration = Duration::from_secs(5);

/// Timeout for this machine's own threads, while the disk makes progress.
const OWN_THREADS: Duration = Duration::from_secs(60);

/// The value of both timeouts after an interrupt.
const INTERRUPTED: Duration = Duration::from_millis(500);

impl Driver<'_> {
    /// Closes the copy on every agent, and waits until they have cleaned up.
    pub(super) fn close_agents(&mut self, interrupts: Option<&Interrupts>) {
        let copy = self.copy;
        for id in self.agents.ids() {
            self.exchanges.asked(id, Exchange::Close, &self.context.config.trace);
            self.agents.send(id, &ToAgent::Close(copy));
        }
        self.context.sample_now();
        self.context.close();
        let began = clock::now_ns();
        // Reset the silence of all nodes: this process itself may have been suspended.
        self.nodes.iter_mut().for_each(|node| node.heard_ns = began);
        let patience = if self.interrupted { INTERRUPTED } else { CLOSING };
        let deadline = leaving::after(patience);
        while self.agents.ids().any(|id| self.awaits_close(id)) && clock::now_ns() < deadline {
            if self.wait(interrupts).is_err() {
                break;
            }
            self.wake.lower();
        }
        // Threads that hang on a disk of this machine are not waited for.
        let patience = if self.interrupted { INTERRUPTED } else { OWN_THREADS };
        let threads = self.threads.drain(..).chain(self.context.take_side_threads());
        self.is_clean = leaving::join_all(&self.context, threads, leaving::after(patience));
    }

    /// Closes the copy and computes the outcome.
    pub(super) fn end(&mut self) -> Outcome {
        self.begin_clock_probes();
        self.close_agents(None);
        self.await_traces();
        let traces = self.traces();
        // If a disk hangs, do not try to remove files.
        if self.is_clean || !self.context.hangs() {
            self.context.config.store.abandon();
        }
        let nodes = self.agents.ids().map(|id| {
            let early = || "the copy ended before this node finished".to_owned();
            self.outcome_of(id).unwrap_or_else(|| NodeOutcome::failed(self.name_of(id), early()))
        });
        Outcome {
            nodes: nodes.collect(),
            moments: self.moments.settle(clock::now_ns()),
            faults: self.head.faults(),
            bad_frames: self.head.bad_frames().to_vec(),
            interrupted: self.interrupted,
            traces,
            depths: self.context.stages.depths(),
            digests: self.context.sink().contents().map(<[_]>::to_vec),
            sent_bytes: self.context.sent_bytes.load(Ordering::Relaxed),
            checksum: self.context.summed.get().cloned(),
        }
    }

    /// Returns the outcome of a node, in this attempt or an earlier one; none if the node has not
    /// ended.
    pub(super) fn outcome_of(&self, id: NodeId) -> Option<NodeOutcome> {
        let node = &self.nodes[id.index()];
        if let Some(outcome) = &node.before {
            return Some(outcome.clone());
        }
        Some(NodeOutcome {
            name: self.name_of(id).to_owned(),
            verdict: self.head.verdict(id)?,
            report: self.head.report(id).clone(),
            detached: self.head.is_detached(id),
            slow: self.head.slow(id),
            held_ns: node.held_ns,
            silent: self.is_silent(id) || self.is_open_at(id),
            absence: node.absence.clone(),
        })
    }

    /// Returns whether a node still has to close the copy and is responsive.
    pub(super) fn awaits_close(&self, id: NodeId) -> bool {
        self.is_open_at(id) && !self.is_silent(id)
    }

    /// Returns whether a node has begun the copy and not closed it.
    pub(super) fn is_open_at(&self, id: NodeId) -> bool {
        self.agents.has(id) && self.nodes[id.index()].started && !self.nodes[id.index()].closed
    }

    /// Returns whether a node is dead, hangs, or has been silent for [`QUIET_NS`].
    pub(super) fn is_silent(&self, id: NodeId) -> bool {
        let node = &self.nodes[id.index()];
        let quiet = clock::now_ns().saturating_sub(node.heard_ns) > QUIET_NS;
        let hangs = quiet && self.agents.has(id) && !node.closed;
        let stuck = self.head.hangs_in(id).is_some();
        hangs || stuck || matches!(self.head.verdict(id), Some(Verdict::Dead(_)))
    }
}
