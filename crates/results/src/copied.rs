//! A completed copy.

use garland_control::Outcome;
use garland_core::plan::Plan;
use garland_protocol::copy::Verdict;

/// A completed copy: its plan and its outcome.
pub struct Copied {
    /// The plan of the copy.
    pub plan: Plan,
    /// The outcome of the copy, as the head recorded it.
    pub outcome: Outcome,
}

impl Copied {
    /// Returns the length of the file in bytes if a node received all of it, otherwise 0.
    pub fn bytes(&self) -> u64 {
        let arrived = self.outcome.nodes.iter().any(|node| node.verdict == Verdict::Ok);
        if arrived { self.plan.layout.length } else { 0 }
    }
}
