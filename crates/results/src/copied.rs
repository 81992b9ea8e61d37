//! A copy that was made.

use garland_control::Outcome;
use garland_core::plan::Plan;
use garland_protocol::Verdict;

/// A copy that was made.
pub struct Copied {
    /// What was to happen.
    pub plan: Plan,
    /// What did.
    pub outcome: Outcome,
}

impl Copied {
    /// Bytes of what arrived whole anywhere.
    pub fn bytes(&self) -> u64 {
        let arrived = self.outcome.nodes.iter().any(|node| node.verdict == Verdict::Ok);
        if arrived { self.plan.layout.length } else { 0 }
    }
}
