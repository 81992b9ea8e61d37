//! A completed copy, for its result.

use garland_control::Outcome;
use garland_core::plan::Plan;
use garland_protocol::Verdict;

/// A completed copy.
pub struct Copied {
    /// The plan.
    pub plan: Plan,
    /// The outcome.
    pub outcome: Outcome,
}

impl Copied {
    /// Returns the length of the file if a node received all of it, otherwise 0.
    pub fn bytes(&self) -> u64 {
        let arrived = self.outcome.nodes.iter().any(|node| node.verdict == Verdict::Ok);
        if arrived { self.plan.layout.length } else { 0 }
    }
}
