//! The critical path of a copy, from the ledger: for every moment, what the end of the copy waited
//! for.

use garland_analysis::clock::Clocks;
use garland_analysis::ledger::{self, Segment};
use garland_report::Step;
use garland_results::explain::Kept;
use garland_state::traces::Traced;

/// Returns the critical path of a copy; empty if its run's directory lacks something that the
/// ledger needs.
pub fn of(traced: &Traced, clocks: &Clocks) -> Vec<Step> {
    let Ok(kept) = Kept::read(traced) else { return Vec::new() };
    let of = kept.run();
    let began = of.began();
    let name = |place: Option<usize>| place.and_then(|place| kept.nodes.get(place).cloned());
    let step = |segment: Segment| {
        let at = |ns: i64| u64::try_from(began.saturating_add(ns)).unwrap_or(0);
        let begin_ns = at(segment.begin);
        let end_ns = at(segment.end);
        Step {
            begin_ns,
            end_ns: end_ns.max(begin_ns),
            cause: segment.cause.name(),
            node: name(segment.place.node),
            to: name(segment.place.to),
            within: segment.within.map(|cause| cause.name()),
        }
    };
    ledger::explain(&of, clocks).path.into_iter().map(step).collect()
}
