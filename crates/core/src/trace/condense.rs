use super::record::{NO_BLOCK, Span};
use super::stage::Stage;

/// The maximum number of kinds of spans that are merged; spans of further kinds are kept.
const KINDS: usize = 64;

/// The stage, lane, peer, thread and operation of a span.
type Kind = (Stage, u16, u16, u16, u16);

/// Merges neighbouring spans of one stage, lane, peer, thread and operation, to make room. The
/// spans must be approximately sorted by start time.
///
/// A merged span has the start of the first span, the end of the last one and the sums of the other
/// values, and covers at most `most` blocks. Totals stay exact, and the resolution stays even over
/// the whole copy if `most` grows only when necessary. Stages without blocks are merged only with
/// `all`. Allocates no memory.
pub fn condense(spans: &mut Vec<Span>, most: u32, all: bool) {
    // The index of the last span of each kind, into which the next one is merged.
    let mut kinds: [Option<(Kind, usize)>; KINDS] = [None; KINDS];
    let mut kept = 0;
    for at in 0..spans.len() {
        let span = spans[at];
        let kind = (span.stage, span.lane, span.peer, span.thread, span.operation);
        let slot = (all || span.stage.is_of_blocks())
            .then(|| kinds.iter_mut().find(|slot| slot.is_none_or(|(known, _)| known == kind)))
            .flatten();
        if let Some(slot) = slot {
            if let Some((_, last)) = *slot
                && spans[last].count.saturating_add(span.count) <= most
            {
                merge(&mut spans[last], &span);
                continue;
            }
            *slot = Some((kind, kept));
        }
        spans[kept] = span;
        kept += 1;
    }
    spans.truncate(kept);
}

fn merge(first: &mut Span, next: &Span) {
    first.begin_ns = first.begin_ns.min(next.begin_ns);
    first.end_ns = first.end_ns.max(next.end_ns);
    first.busy_ns = first.busy_ns.saturating_add(next.busy_ns);
    first.bytes = first.bytes.saturating_add(next.bytes);
    first.count = first.count.saturating_add(next.count);
    if first.block == NO_BLOCK {
        first.block = next.block;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trace::NONE;

    fn span(stage: Stage, peer: u16, begin_ns: u64, busy_ns: u64) -> Span {
        Span {
            stage,
            lane: 0,
            peer,
            thread: 1,
            begin_ns,
            end_ns: begin_ns + busy_ns,
            busy_ns,
            bytes: busy_ns * 2,
            block: u32::try_from(begin_ns).unwrap(),
            count: 1,
            operation: 0,
        }
    }

    #[test]
    fn neighbors_become_one_and_their_sums_stay() {
        let mut spans: Vec<Span> = (0..8)
            .flat_map(|at| {
                [span(Stage::Receive, 0, 100 * at, 10), span(Stage::Relay, 2, 100 * at + 10, 20)]
            })
            .collect();
        condense(&mut spans, 2, false);
        assert_eq!(spans.len(), 8);
        let first = spans[0];
        assert_eq!((first.begin_ns, first.end_ns, first.busy_ns), (0, 110, 20));
        assert_eq!((first.bytes, first.block, first.count), (40, 0, 2));
        assert_eq!(spans[1].stage, Stage::Relay);
    }

    #[test]
    fn what_is_of_a_copy_is_merged_only_when_nothing_else_helps() {
        let mut spans = vec![span(Stage::Dial, NONE, 0, 5), span(Stage::Dial, NONE, 10, 5)];
        condense(&mut spans, 8, false);
        assert_eq!(spans.len(), 2);
        condense(&mut spans, 8, true);
        assert_eq!(spans.len(), 1);
    }

    proptest! {
        #[test]
        fn sums_and_order_stay(stages in proptest::collection::vec((0..18_u8, 0..4_u16, 1..50_u64), 0..200), most in 1..9_u32, all: bool) {
            let mut begin = 0;
            let mut spans: Vec<Span> = stages.iter().map(|&(stage, peer, busy)| {
                begin += busy;
                span(Stage::of_number(stage).unwrap(), peer, begin, busy)
            }).collect();
            let sums = |spans: &[Span]| spans.iter().fold((0, 0, 0), |(busy, bytes, count), span| {
                (busy + span.busy_ns, bytes + span.bytes, count + span.count)
            });
            let before = sums(&spans);
            condense(&mut spans, most, all);
            prop_assert_eq!(sums(&spans), before);
            prop_assert!(spans.is_sorted_by_key(|span| span.begin_ns));
            prop_assert!(spans.iter().all(|span| span.count <= most.max(1)));
        }
    }
}
