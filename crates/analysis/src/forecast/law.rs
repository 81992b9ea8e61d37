//! Laws: how the time of work depends on the number of nodes.

use serde::Serialize;

use super::{Demand, Work};
use crate::queue::cycles;

/// A law by which the time depends on the number of nodes. The laws differ in how often jobs need a
/// shared resource at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Law {
    /// At random: a node waits for the nodes that are using the resource.
    Queue,
    /// In turns: nodes wait only when the resource is saturated. This is the upper bound of power.
    Turns,
    /// Between queue and lockstep: jobs that started together need the same resource together for a
    /// while.
    Bunched,
    /// All at the same time, every time: the lower bound of power.
    Lockstep,
    /// Each node adds the same time: the only law for a copy to all nodes.
    Linear,
}

impl Law {
    /// Returns the laws that can hold for `work`.
    pub(super) fn possible_for(work: &Work<'_>) -> &'static [Self] {
        match work {
            // Without a shared resource all laws are equal.
            Work::Fixed { demands: [], .. } => &[Self::Queue],
            Work::Fixed { .. } => &[Self::Queue, Self::Turns, Self::Bunched, Self::Lockstep],
            Work::Growing { .. } => &[Self::Linear],
        }
    }

    /// Returns a description for the user.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Queue => "nodes wait for others that use a shared resource",
            Self::Turns => "nodes use a shared resource in turns until it is saturated",
            Self::Bunched => "nodes tend to need a shared resource at the same time",
            Self::Lockstep => "all nodes need the shared resource at the same time",
            Self::Linear => "each node adds the same time",
        }
    }
}

/// Returns the seconds of fixed work at each node count of `counts` (ascending), if one node alone
/// needs `alone` seconds; for [`Law::Bunched`] without any bunching.
pub(super) fn shared(
    law: Law,
    alone: f64,
    jobs: Option<u32>,
    demands: &[Demand],
    counts: &[u32],
) -> Vec<f64> {
    let cut = f64::from(jobs.unwrap_or(1).max(1));
    let each: Vec<f64> = demands.iter().map(|demand| demand.seconds / cut).collect();
    let all = each.iter().sum::<f64>();
    let most = each.iter().copied().fold(0.0, f64::max);
    let own = (alone / cut - all).max(0.0);
    // At most as many nodes as jobs are busy.
    let busy = |count: u32| jobs.map_or(count, |jobs| count.min(jobs.max(1)));
    let largest = counts.last().map_or(0, |count| busy(*count));
    let queued = if matches!(law, Law::Queue | Law::Bunched) {
        cycles(own, &each, largest)
    } else {
        Vec::new()
    };
    let round = |nodes: u32| match law {
        Law::Queue | Law::Bunched => {
            queued.get(nodes.saturating_sub(1) as usize).copied().unwrap_or(0.0)
        }
        Law::Turns => (own + all).max(f64::from(nodes) * most),
        Law::Lockstep | Law::Linear => own + f64::from(nodes) * all,
    };
    let time = |&count: &u32| {
        let nodes = busy(count);
        let Some(jobs) = jobs.filter(|jobs| *jobs > 0) else {
            return round(nodes) / f64::from(nodes.max(1));
        };
        let full = jobs / nodes.max(1);
        let rest = jobs % nodes.max(1);
        f64::from(full) * round(nodes) + if rest > 0 { round(rest) } else { 0.0 }
    };
    counts.iter().map(time).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(seconds: f64) -> [Demand; 1] {
        [Demand { name: "wire".to_owned(), seconds }]
    }

    #[test]
    fn rounds_are_whole() {
        let times = shared(Law::Queue, 24.0, Some(24), &[], &[1, 5, 7, 11, 16, 23, 24, 100]);
        assert_eq!(times, [24.0, 5.0, 4.0, 3.0, 2.0, 2.0, 1.0, 1.0]);
    }

    #[test]
    fn the_bounds_enclose_the_queue() {
        let counts: Vec<u32> = (1..=40).collect();
        for jobs in [None, Some(24), Some(1000)] {
            let of = |law| shared(law, 90.0, jobs, &wire(6.0), &counts);
            let turns = of(Law::Turns);
            let queue = of(Law::Queue);
            let lockstep = of(Law::Lockstep);
            for place in 0..counts.len() {
                let at = (counts[place], jobs);
                assert!(turns[place] <= queue[place] + 1e-9, "{at:?}");
                assert!(queue[place] <= lockstep[place] + 1e-9, "{at:?}");
                assert!(turns[place] >= 6.0 - 1e-9, "{at:?}");
            }
            assert!((turns[0] - 90.0).abs() < 1e-9 && (lockstep[0] - 90.0).abs() < 1e-9);
        }
    }
}
