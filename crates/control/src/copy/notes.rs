//! The trace of a copy: the head's times of orders and clock probes, and the traces of all nodes.

use std::time::Duration;

use garland_core::plan::{Layout, NodeId};
use garland_core::trace::{Exchange, NO_BLOCK, Record, Trace};
use garland_dataplane::recorder::Tracing;
use garland_dataplane::recorder::{ClockProbes, Harvest};
use garland_protocol::copy::Cut;
use garland_protocol::{FromAgent, ToAgent};
use garland_sys::clock;
use garland_sys::clock::after;

use super::Driver;

/// Timeout for the nodes' traces after a copy.
const TRACES_TIMEOUT: Duration = Duration::from_secs(2);

/// Timeout for the nodes' traces after an interrupt.
const INTERRUPTED_TRACES_TIMEOUT: Duration = Duration::from_millis(300);

impl Driver<'_> {
    /// If a message is the answer to an order, records the time at which it arrived.
    pub(super) fn note_answer(&mut self, id: NodeId, message: &FromAgent) {
        let (of, exchange) = match message {
            FromAgent::Ready(of) => (of, Exchange::Begin),
            FromAgent::Prepared(of) | FromAgent::Committed(of, _) => (of, Exchange::Commit),
            FromAgent::Closed(of) => (of, Exchange::Close),
            FromAgent::Admitted(of) => (of, Exchange::Queue),
            _ => return,
        };
        if *of == self.attempt.copy {
            self.attempt.answered(id, exchange);
        }
    }

    /// Begins a burst of clock probes to all nodes.
    pub(super) fn begin_clock_probes(&mut self) {
        if self.attempt.context.config.trace.is_on() {
            self.attempt.probes.begin_burst();
            self.agents.ids().for_each(|id| self.agents.send(id, &ToAgent::Clock(clock::now_ns())));
        }
    }

    /// Sends a clock probe to all nodes if one is due.
    pub(super) fn probe_clocks(&mut self) {
        if self.attempt.probes.is_due() {
            self.agents.ids().for_each(|id| self.agents.send(id, &ToAgent::Clock(clock::now_ns())));
        }
    }

    /// Records the answer to a clock probe, and sends the next probe of the burst.
    pub(super) fn note_clock(&mut self, id: NodeId, asked: u64, received: u64, answered: u64) {
        let Some(connection) = self.agents.connection(id) else { return };
        if self.attempt.probes.answered(id, [asked, received, answered, connection.read_ns()]) {
            self.agents.send(id, &ToAgent::Clock(clock::now_ns()));
        }
    }

    /// Waits for the traces of nodes that have closed the copy, up to a timeout.
    pub(super) fn await_traces(&mut self) {
        let patience =
            if self.head.is_interrupted() { INTERRUPTED_TRACES_TIMEOUT } else { TRACES_TIMEOUT };
        let deadline = after(patience);
        let owes = |own: &Self, id: NodeId| {
            own.agents.has(id) && own.head.has_closed(id) && own.attempt.harvest.is_awaiting(id)
        };
        while self.attempt.context.config.trace.is_on() && clock::now_ns() < deadline {
            if !self.agents.ids().any(|id| owes(self, id)) || self.wait(None).is_err() {
                return;
            }
            self.attempt.wake.lower();
        }
    }

    /// Returns the traces of the head and of all nodes.
    pub(super) fn traces(&mut self) -> Vec<Trace> {
        let Some(Tracing { emulated, .. }) = self.job.tracing else { return Vec::new() };
        let mut own = self.attempt.context.config.trace.finish();
        let probes = std::mem::replace(&mut self.attempt.probes, ClockProbes::new(0));
        own.records.extend(probes.into_records());
        own.put_in_order();
        let harvest = std::mem::replace(&mut self.attempt.harvest, Harvest::new(0));
        let mut traces = vec![own];
        traces.extend(harvest.into_traces(self.attempt.copy));
        for trace in &mut traces {
            trace.origin.node = self.head.name_of(NodeId(trace.origin.index.into())).to_owned();
            trace.origin.emulated = emulated;
            if let Some(cut) = self.job.pipeline.cut {
                number_operations(trace, cut, self.job.plan.layout);
            }
        }
        traces
    }
}

/// Sets the operation number, from 1, of each block's span. Nodes cannot do this: only the head
/// knows how the file is divided into operations.
pub(super) fn number_operations(trace: &mut Trace, cut: Cut, layout: Layout) {
    for record in &mut trace.records {
        if let Record::Span(span) = record
            && span.stage.is_of_blocks()
            && span.block != NO_BLOCK
        {
            let number = cut.operation(layout, u64::from(span.block)) + 1;
            span.operation = u16::try_from(number).unwrap_or(u16::MAX);
        }
    }
}
