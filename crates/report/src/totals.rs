//! The sums of an export's spans.

use std::collections::BTreeMap;

use garland_core::trace::{Lost, Span, Stage};
use serde::Serialize;

/// The sums over the spans of all nodes, by stage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals(BTreeMap<Stage, Total>);

/// The sums over the spans of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Total {
    /// The number of spans in the export, without lost ones.
    pub spans: u64,
    /// The number of blocks, including those of lost spans.
    pub blocks: u64,
    /// The time at work, or of waiting in stages that wait, in nanoseconds; includes lost spans.
    pub busy_ns: u64,
    /// The number of bytes, including those of lost spans.
    pub bytes: u64,
}

impl Totals {
    /// Returns the stages that have spans, in the order of stages, each with its sums.
    pub fn stages(&self) -> impl Iterator<Item = (Stage, Total)> {
        self.0.iter().map(|(stage, total)| (*stage, *total))
    }

    pub(crate) fn add(&mut self, span: &Span) {
        let total = self.0.entry(span.stage).or_default();
        total.spans += 1;
        total.add(u64::from(span.count), span.busy_ns, span.bytes);
    }

    pub(crate) fn add_lost(&mut self, lost: &Lost) {
        self.0.entry(lost.stage).or_default().add(lost.count, lost.busy_ns, lost.bytes);
    }
}

impl Total {
    fn add(&mut self, blocks: u64, busy_ns: u64, bytes: u64) {
        self.blocks = self.blocks.saturating_add(blocks);
        self.busy_ns = self.busy_ns.saturating_add(busy_ns);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}
