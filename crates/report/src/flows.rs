//! Flows, which connect the sending of a block with its receipt. Both ends get the same number,
//! which is derived from the hop and the block.

use std::collections::BTreeMap;

use garland_core::trace::{NO_BLOCK, NONE, Span, Stage};

use crate::format::Flow;

/// The hops so far, numbered in the order of their first spans.
#[derive(Default)]
pub(crate) struct Flows {
    hops: BTreeMap<Hop, u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Hop {
    lane: u16,
    from: u16,
    to: u16,
}

impl Flows {
    /// Returns the flow that starts or ends with a span. `place` is the index of the span's node in
    /// the plan. A span of several blocks has the flow of its first block. Returns `None` for spans
    /// that do not send or receive a block, or whose peer is unknown.
    pub(crate) fn of(&mut self, place: u16, span: &Span) -> Option<Flow> {
        let arrives = match span.stage {
            Stage::Receive => true,
            Stage::Send | Stage::Relay => false,
            _ => return None,
        };
        if span.peer == NONE || span.block == NO_BLOCK {
            return None;
        }
        let (from, to) = if arrives { (span.peer, place) } else { (place, span.peer) };
        let hops = self.hops.len() as u64;
        let hop = *self.hops.entry(Hop { lane: span.lane, from, to }).or_insert(hops);
        // 0 means no flow, so hops count from 1.
        Some(Flow { id: ((hop + 1) << 32) | u64::from(span.block), arrives })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::tests::span;

    #[test]
    fn both_ends_of_a_hop_have_the_same_number() {
        let mut flows = Flows::default();
        let sent = flows.of(0, &span(Stage::Send, 1, 7)).unwrap();
        let come = flows.of(1, &span(Stage::Receive, 0, 7)).unwrap();
        assert_eq!((sent.id, sent.arrives, come.arrives), (come.id, false, true));
        let passed = flows.of(1, &span(Stage::Relay, 2, 7)).unwrap();
        assert_ne!(passed.id, come.id, "the next hop is another");
        let back = flows.of(1, &span(Stage::Send, 0, 7)).unwrap();
        assert_ne!(back.id, sent.id, "and so is the way back");
        assert_ne!(flows.of(0, &span(Stage::Send, 1, 8)).unwrap().id, sent.id);
        assert_eq!(flows.of(0, &span(Stage::Send, NONE, 7)), None);
        assert_eq!(flows.of(0, &span(Stage::Send, 1, NO_BLOCK)), None);
        assert_eq!(flows.of(0, &span(Stage::Write, 1, 7)), None);
    }
}
