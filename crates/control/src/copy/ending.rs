//! The end of a copy: closes it on all agents and here, and determines the outcome of every node.

use std::sync::atomic::Ordering;
use std::time::Duration;

use garland_core::trace::Exchange;
use garland_protocol::copy::{HeadEvent, NodeOutcome, Verdict};
use garland_sys::clock;
use garland_sys::signal::Interrupts;

use super::{Agent, Driver};
use crate::agents::gone;
use crate::outcome::Outcome;

/// Timeout for this machine's own threads, while the disk makes progress.
const OWN_THREADS_TIMEOUT: Duration = Duration::from_secs(60);

/// Timeout for this machine's own threads after an interrupt.
const INTERRUPTED_TIMEOUT: Duration = Duration::from_millis(500);

impl Driver<'_> {
    /// Closes the copy on every agent and on this machine, and waits until they have cleaned up.
    /// Returns whether all threads of the copy on this machine have ended.
    pub(super) fn close(&mut self, interrupts: Option<&Interrupts>) -> std::io::Result<bool> {
        self.agents.ids().for_each(|id| self.attempt.asked(id, Exchange::Close));
        self.head.handle(clock::now_ns(), HeadEvent::Close);
        self.execute_orders(interrupts)?;
        self.attempt.context.sample_now();
        self.attempt.context.close();
        while !self.head.is_closed() {
            self.wait(interrupts)?;
            self.attempt.wake.lower();
            self.tick(clock::now_ns());
            self.execute_orders(interrupts)?;
        }
        let patience =
            if self.head.is_interrupted() { INTERRUPTED_TIMEOUT } else { OWN_THREADS_TIMEOUT };
        Ok(self.attempt.join_threads(patience))
    }

    /// Closes the copy and computes the outcome.
    pub(super) fn end(&mut self) -> Outcome {
        self.begin_clock_probes();
        // If this host cannot wait for the agents, they clean up when their channels are closed.
        let is_clean = self.close(None).unwrap_or(false);
        self.await_traces();
        let traces = self.traces();
        let context = &self.attempt.context;
        // If a disk hangs, do not try to remove files, nor wait for the writer.
        let mut absence = None;
        if is_clean || !context.hangs() {
            absence = context.config.store.absence();
            context.config.store.abandon();
        }
        Outcome {
            nodes: self.agents.ids().map(|id| self.head.outcome_of(id)).collect(),
            moments: self.head.moments(clock::now_ns()),
            faults: self.head.faults(),
            bad_frames: self.head.bad_frames().to_vec(),
            faults_cut_short: self.head.faults_cut_short(),
            interrupted: self.head.is_interrupted(),
            traces,
            depths: context.telemetry.stages.depths(),
            digests: context.progress.sink().contents().map(<[_]>::to_vec),
            sent_bytes: context.telemetry.sent_bytes.load(Ordering::Relaxed),
            absence: absence.unwrap_or_default(),
            checksum: context.progress.summed.get().cloned(),
        }
    }

    /// Returns the agents for another operation, or why they cannot be used.
    pub(super) fn into_agents(self, outcome: &Outcome) -> Vec<Result<Agent, String>> {
        let agents = self.agents.into_connections().zip(self.addresses).zip(&outcome.nodes);
        let agent = |((connection, addresses), node): ((Option<_>, _), &NodeOutcome)| match (
            connection,
            &node.verdict,
        ) {
            (Some(connection), _) if !node.silent => Ok(Agent { connection, addresses }),
            (_, Verdict::Failed(why) | Verdict::Dead(why) | Verdict::Unknown(why)) => {
                Err(why.clone())
            }
            (_, Verdict::Ok) => Err(gone()),
        };
        agents.map(agent).collect()
    }
}
