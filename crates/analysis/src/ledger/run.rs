//! What a ledger is made from.

use crate::clock::{Clocks, Evidence, reading};
use garland_core::trace::Trace;

/// A run as its directory describes it.
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

    /// When the command began, on the head's clock; 0 if unknown.
    #[must_use]
    pub fn began(&self) -> i64 {
        let head = self.traces.first().and_then(Option::as_ref);
        head.map_or(0, |head| reading(head.origin.started_ns))
    }

    /// The phases as stretches of the head's time.
    pub(super) fn stretches(&self) -> Vec<(&str, i64, i64)> {
        let mut stretches = Vec::with_capacity(self.phases.len());
        let mut at = self.began();
        for (name, ns) in self.phases {
            let end = at.saturating_add(reading(*ns));
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
        let mut evidence = Evidence::default();
        for (node, trace) in self.known() {
            evidence.learn(node, trace);
        }
        evidence.clocks(self.nodes.len())
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
