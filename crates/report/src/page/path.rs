//! The critical path on a page, reduced to what a strip on a screen can show.

use serde::Serialize;

use crate::format::Step;

/// The most stretches of a path, which is more than a screen has columns to tell them apart.
const STRETCHES: u64 = 1_200;

/// A stretch of the critical path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Stretch {
    /// Start in nanoseconds since the start of the run.
    begin_ns: u64,
    /// End in nanoseconds since the start of the run.
    end_ns: u64,
    /// The cause of the delay.
    cause: &'static str,
    /// The node that caused the delay, or the sender of the hop.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    /// The receiver of the hop.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    /// The activity in which a straggler was slow.
    #[serde(skip_serializing_if = "Option::is_none")]
    within: Option<&'static str>,
}

impl Stretch {
    fn from_step(step: &Step, since_ns: u64) -> Self {
        let since = |at_ns: u64| at_ns.saturating_sub(since_ns);
        let begin_ns = since(step.begin_ns);
        let end_ns = since(step.end_ns);
        let node = step.node.clone();
        let to = step.to.clone();
        Self { begin_ns, end_ns, cause: step.cause, node, to, within: step.within }
    }

    /// Returns whether cause and place are those of `other`.
    fn is_like(&self, other: &Self) -> bool {
        let place = self.node == other.node && self.to == other.to;
        place && self.cause == other.cause && self.within == other.within
    }

    /// Returns how much of the stretch is between two times, in nanoseconds.
    fn within_ns(&self, from: u64, to: u64) -> u64 {
        self.end_ns.min(to).saturating_sub(self.begin_ns.max(from))
    }
}

/// Returns the stretches of a path of `steps`, which begins at `since_ns` of the head's clock and
/// is `length_ns` long. Adjacent steps with the same cause and place are one stretch. If there are
/// too many, the path is divided into equal intervals, and each becomes what took most of it.
pub(super) fn stretches(steps: &[Step], since_ns: u64, length_ns: u64) -> Vec<Stretch> {
    let mut path = Vec::new();
    steps.iter().for_each(|step| join(&mut path, Stretch::from_step(step, since_ns)));
    if path.len() as u64 <= STRETCHES {
        return path;
    }
    let width = (length_ns / STRETCHES).max(1);
    let mut reduced = Vec::new();
    let mut first = 0;
    for begin_ns in (0..STRETCHES).map(|at| at * width) {
        let end_ns = begin_ns + width;
        first += path[first..].iter().take_while(|one| one.end_ns <= begin_ns).count();
        let inside = path[first..].iter().take_while(|one| one.begin_ns < end_ns);
        let mut sums: Vec<(&Stretch, u64)> = Vec::new();
        for one in inside {
            let ns = one.within_ns(begin_ns, end_ns);
            match sums.iter_mut().find(|(other, _)| other.is_like(one)) {
                Some((_, sum)) => *sum += ns,
                None => sums.push((one, ns)),
            }
        }
        if let Some((most, _)) = sums.into_iter().max_by_key(|(_, ns)| *ns) {
            join(&mut reduced, Stretch { begin_ns, end_ns, ..most.clone() });
        }
    }
    reduced
}

/// Adds a stretch to a path; the last one is extended if both are alike.
fn join(path: &mut Vec<Stretch>, next: Stretch) {
    match path.last_mut() {
        Some(last) if last.is_like(&next) => last.end_ns = next.end_ns,
        _ => path.push(next),
    }
}

#[cfg(test)]
mod tests;
