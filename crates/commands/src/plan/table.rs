//! The table of `garland plan suggest`.

use std::fmt;

use garland_core::units::{Nanos, bytes};

use super::{SuggestResult, Tried};

/// The most plans that are printed.
const MAX_PRINTED_PLANS: usize = 8;

impl fmt::Display for SuggestResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} to {} nodes\n", bytes::format(self.bytes), self.nodes)?;
        writeln!(
            f,
            "{:<13} {:<5} {:>5} {:>10} {:>9} {:>9} {:>9}  always busy",
            "shape", "order", "lanes", "blocks", "time", "to first", "stream"
        )?;
        // The best plan of each shape and order, and all plans of the best ones.
        let kind = |plan: &Tried| (plan.shape.clone(), plan.lanes, plan.order.clone());
        let best = &self.plans[0];
        let is_shown = |(place, plan): &(usize, &Tried)| {
            let mut before = self.plans[..*place].iter();
            kind(plan) == kind(best) || !before.any(|other| kind(other) == kind(plan))
        };
        let shown = self.plans.iter().enumerate().filter(is_shown).take(MAX_PRINTED_PLANS);
        shown.map(|(_, plan)| plan).try_for_each(|plan| write!(f, "{plan}"))?;
        writeln!(f, "\nplan    garland cp {} FILE '{}:PATH'", self.options, self.list)?;
        writeln!(f, "why     {}", self.why)
    }
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |seconds: f64| Nanos((seconds * 1e9).round() as u64).to_string();
        writeln!(
            f,
            "{:<13} {:<5} {:>5} {:>10} {:>9} {:>9} {:>9}  {}",
            self.shape,
            if self.order == "list" { "list" } else { "own" },
            self.lanes,
            bytes::format(u64::from(self.block_size)),
            time(self.seconds),
            time(self.fill),
            time(self.stream),
            self.limit.as_deref().unwrap_or("nothing")
        )
    }
}
