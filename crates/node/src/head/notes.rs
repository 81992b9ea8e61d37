//! What the head's driver notes of a copy: how long orders took, what time it was elsewhere, and the
//! traces of all.

use std::time::Duration;

use garland_core::plan::NodeId;
use garland_core::proto::{FromAgent, ToAgent};
use garland_core::trace::{Exchange, Trace};
use garland_sys::clock;

use super::{Driver, Tracing};
use crate::recorder::{ClockProbes, Harvest};

/// How long traces are waited for when a copy is over, and when the user gave up.
const TRACES: Duration = Duration::from_secs(2);
const TRACES_HURRY: Duration = Duration::from_millis(300);

impl Driver<'_> {
    /// Notes how long the order took whose answer this is, if it is one.
    pub(super) fn note_answer(&mut self, id: NodeId, message: &FromAgent) {
        let exchange = match message {
            FromAgent::Ready(copy) if *copy == self.copy => Exchange::Begin,
            FromAgent::Committed(copy, _) if *copy == self.copy => Exchange::Commit,
            FromAgent::Closed(copy) if *copy == self.copy => Exchange::Close,
            FromAgent::Admitted(copy) if *copy == self.copy => Exchange::Queue,
            _ => return,
        };
        self.exchanges.answered(id, exchange, &self.member.trace);
    }

    /// Asks everyone for the time, again and again for a moment.
    pub(super) fn begin_burst(&mut self) {
        if self.member.trace.is_on() {
            self.probes.begin_burst();
            self.board.ids().for_each(|id| self.board.send(id, &ToAgent::Clock(clock::now_ns())));
        }
    }

    /// Asks everyone for the time when that was long ago.
    pub(super) fn ask_the_time(&mut self) {
        if self.probes.is_due() {
            self.board.ids().for_each(|id| self.board.send(id, &ToAgent::Clock(clock::now_ns())));
        }
    }

    pub(super) fn time_told(&mut self, id: NodeId, [asked, came, answered]: [u64; 3]) {
        let Some(connection) = self.board.connection(id) else { return };
        if self.probes.answered(id, [asked, came, answered, connection.read_ns()]) {
            self.board.send(id, &ToAgent::Clock(clock::now_ns()));
        }
    }

    /// Waits for the traces of the nodes that have said goodbye: they are on their way, and no
    /// copy is held up by one for long.
    pub(super) fn await_traces(&mut self) {
        let patience = if self.interrupted { TRACES_HURRY } else { TRACES };
        let deadline = clock::now_ns() + u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
        let owes = |own: &Self, id: NodeId| {
            own.board.has(id) && own.closed[id.index()] && own.harvest.is_awaiting(id)
        };
        while self.member.trace.is_on() && clock::now_ns() < deadline {
            if !self.board.ids().any(|id| owes(self, id)) || self.wait(None).is_err() {
                return;
            }
            self.wake.lower();
        }
    }

    /// The head's own trace and those of the nodes.
    pub(super) fn traces(&mut self) -> Vec<Trace> {
        let Some(Tracing { emulated, .. }) = self.job.tracing else { return Vec::new() };
        let mut own = self.member.trace.finish();
        let probes = std::mem::replace(&mut self.probes, ClockProbes::new(0));
        own.records.extend(probes.into_records());
        own.put_in_order();
        let harvest = std::mem::replace(&mut self.harvest, Harvest::new(0));
        let mut traces = vec![own];
        traces.extend(harvest.into_traces(self.copy));
        for trace in &mut traces {
            let planned = self.job.plan.nodes.get(usize::from(trace.origin.index));
            trace.origin.node = planned.map_or_else(String::new, |node| node.name.clone());
            trace.origin.emulated = emulated;
        }
        traces
    }
}
