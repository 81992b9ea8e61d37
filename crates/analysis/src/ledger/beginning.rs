//! The time before the first byte: agents, the comparison with what nodes have, and their being
//! ready.

use super::cause::Cause;
use super::run::Run;
use super::segment::{Place, Segment};
use super::world::World;

/// Returns the path between two moments of the set-up or of the comparison, last segment first:
/// back from the end through what was waited for.
pub(super) fn beginning(run: &Run<'_>, world: &World, begin: i64, end: i64) -> Vec<Segment> {
    let mut path = Vec::new();
    let mut at = end;
    let mut pass = |to: i64, cause: Cause, place: Place| {
        let to = to.clamp(begin, at);
        path.push(Segment::new(to, at, cause, place));
        at = to;
        at
    };
    let mut until = end;
    // The last of it was the transfer of the last node's `Ready`.
    let ready = world.last_ready();
    let ready = ready.filter(|&(_, since, heard)| begin <= since && since < heard && heard <= end);
    if let Some((node, since, heard)) = ready {
        pass(heard, Cause::SetUp, Place::default());
        until = pass(since, Cause::Control, Place::node(node));
    }
    let mut works: Vec<(i64, i64, usize)> = run
        .comparison
        .iter()
        .map(|work| (run.at(work.end_ns), run.at(work.begin_ns), work.node))
        .filter(|(until, since, _)| since < until)
        .collect();
    works.sort_unstable();
    let first = works.iter().map(|(_, since, _)| *since).min();
    let mut is_last = true;
    for (done, since, node) in works.into_iter().rev() {
        // Whoever was still at work when the next one on the path began is not on it.
        if done > until || done <= begin {
            continue;
        }
        let between = if is_last { Cause::SetUp } else { Cause::Control };
        is_last = false;
        pass(done, between, Place::default());
        until = pass(since, Cause::Comparison, Place::node(node));
    }
    // Whoever worked first got its order when the comparison began.
    if let Some(first) = first.filter(|first| *first < until && !is_last) {
        pass(first, Cause::Control, Place::default());
    }
    pass(begin, Cause::SetUp, Place::default());
    path
}
