//! What an export's slices sum to.

use std::collections::BTreeMap;

use garland_core::trace::{Lost, Span, Stage};
use serde::Serialize;

/// The sums of all nodes, by stage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals(BTreeMap<Stage, Total>);

/// What a stage's spans sum to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Total {
    /// How many there are in the export.
    pub spans: u64,
    /// How many blocks they are for.
    pub blocks: u64,
    /// Nanoseconds at work, or waiting.
    pub busy_ns: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Totals {
    /// The stages that anything is known of, in their order.
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
