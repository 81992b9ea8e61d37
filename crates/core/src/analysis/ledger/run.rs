//! What a ledger is made from.

use crate::analysis::clock::{Clocks, Exchange, Message};
use crate::trace::{NO_BLOCK, Record, Span, Stage, Trace};
use std::collections::BTreeMap;

/// A run as its folder tells it.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The plan's nodes, the head first.
    pub nodes: &'a [String],
    /// Their traces, in the same order; none where it is missing.
    pub traces: &'a [Option<Trace>],
    /// What the command's time went into by its own result: names and nanoseconds, without gaps.
    pub phases: &'a [(String, u64)],
    /// Bytes of the source.
    pub bytes: u64,
    /// The best that the wires allow, in bytes per second.
    pub limit: Option<f64>,
}

impl Run<'_> {
    /// Nanoseconds of the whole command.
    #[must_use]
    pub fn wall_ns(&self) -> u64 {
        let end = self.stretches().last().map_or(0, |(.., end)| end.saturating_sub(self.began()));
        u64::try_from(end).unwrap_or(0)
    }

    /// When the command began, on the head's clock; 0 where nobody knows.
    #[must_use]
    pub fn began(&self) -> i64 {
        let head = self.traces.first().and_then(Option::as_ref);
        head.map_or(0, |head| signed(head.origin.started_ns))
    }

    /// The phases as stretches of the head's time.
    pub(super) fn stretches(&self) -> Vec<(&str, i64, i64)> {
        let mut stretches = Vec::with_capacity(self.phases.len());
        let mut at = self.began();
        for (name, ns) in self.phases {
            let end = at.saturating_add(signed(*ns));
            stretches.push((name.as_str(), at, end));
            at = end;
        }
        stretches
    }

    /// When the last of these phases ended; the beginning where there is none of them.
    pub(super) fn end_of(&self, names: &[&str]) -> i64 {
        let stretches = self.stretches();
        let last = stretches.iter().rev().find(|(name, ..)| names.contains(name));
        last.map_or(self.began(), |(.., end)| *end)
    }

    /// What the traces tell of the nodes' clocks.
    #[must_use]
    pub fn clocks(&self) -> Clocks {
        let mut exchanges = Vec::new();
        for (from, trace) in self.known() {
            exchanges.extend(trace.records.iter().filter_map(|record| match record {
                Record::Probe(probe) => Some(Exchange {
                    from,
                    to: usize::from(probe.peer),
                    sent: signed(probe.sent_ns),
                    received: signed(probe.received_ns),
                    answered: signed(probe.answered_ns),
                    back: signed(probe.back_ns),
                }),
                _ => None,
            }));
        }
        Clocks::of(self.nodes.len(), &exchanges, &self.messages())
    }

    /// Blocks that both ends tell of apart from others.
    fn messages(&self) -> Vec<Message> {
        let mut sent = BTreeMap::new();
        for (from, span) in self.blocks(&[Stage::Send, Stage::Relay]) {
            sent.insert((from, usize::from(span.peer), span.lane, span.block), span.begin_ns);
        }
        let mut messages = Vec::new();
        for (to, span) in self.blocks(&[Stage::Receive]) {
            let from = usize::from(span.peer);
            if let Some(&sent) = sent.get(&(from, to, span.lane, span.block)) {
                let (sent, received) = (signed(sent), signed(span.end_ns));
                messages.push(Message { from, to, sent, received });
            }
        }
        messages
    }

    fn blocks<'s>(&'s self, stages: &'s [Stage]) -> impl Iterator<Item = (usize, &'s Span)> {
        self.known().flat_map(move |(node, trace)| {
            let spans = trace.records.iter().filter_map(move |record| match record {
                Record::Span(span) if stages.contains(&span.stage) => Some(span),
                _ => None,
            });
            spans
                .filter(|span| span.count == 1 && span.block != NO_BLOCK)
                .map(move |span| (node, span))
        })
    }

    /// The traces that are there, with their nodes.
    pub(super) fn known(&self) -> impl Iterator<Item = (usize, &Trace)> {
        let traces = self.traces.iter().enumerate();
        traces.filter_map(|(node, trace)| Some((node, trace.as_ref()?)))
    }

    /// Whether all nodes are played by one machine.
    pub(super) fn is_emulated(&self) -> bool {
        self.known().any(|(_, trace)| trace.origin.emulated)
    }
}

/// A reading of a monotonic clock: 36 years at most, so that sums of a few can't overflow, whatever a
/// file says.
pub(super) fn signed(ns: u64) -> i64 {
    const MOST: i64 = 1 << 60;
    i64::try_from(ns).unwrap_or(MOST).min(MOST)
}
