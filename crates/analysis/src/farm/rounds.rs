//! The minimum time of whole jobs. 24 equal jobs on 11 equal nodes take three rounds, so at most 73
//! % of the nodes' power can be used, whatever the network.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::Worker;

/// Returns the time in seconds if jobs could be divided arbitrarily: total work divided by total
/// power; `None` without power.
pub fn fluid(works: &[f64], workers: &[Worker]) -> Option<f64> {
    let power: f64 = workers.iter().map(Worker::power).sum();
    (power > 0.0 && power.is_finite()).then(|| works.iter().sum::<f64>() / power)
}

/// The time when a slot becomes free, with a total order.
#[derive(Clone, Copy, PartialEq)]
struct Free(f64);

impl Eq for Free {}

impl PartialOrd for Free {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Free {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Returns the time in seconds of whole jobs, assigned longest first, each to the slot that would
/// finish it first. That is optimal for equal jobs, and within a third of the optimum for others on
/// equal nodes (Graham, Bounds on multiprocessing timing anomalies, 1969). `None` without power.
pub fn rounds(works: &[f64], workers: &[Worker]) -> Option<f64> {
    let least = fluid(works, workers)?;
    // Slots of equal pace are equivalent, so only the first free one of each pace is considered.
    let mut slots: BTreeMap<Free, BinaryHeap<Reverse<Free>>> = BTreeMap::new();
    for worker in workers.iter().filter(|worker| worker.pace() > 0.0) {
        // More slots than jobs are of no use.
        let count = (worker.slots as usize).min(works.len());
        let free = std::iter::repeat_n(Reverse(Free(0.0)), count);
        slots.entry(Free(worker.pace())).or_default().extend(free);
    }
    let mut works = works.to_vec();
    works.sort_by(|one, two| two.total_cmp(one));
    let mut last = 0.0_f64;
    for work in works {
        let ends = |(pace, heap): (&Free, &BinaryHeap<Reverse<Free>>)| {
            heap.peek().map(|Reverse(free)| (Free(free.0 + work / pace.0), *pace))
        };
        let Some((end, pace)) = slots.iter().filter_map(ends).min() else { break };
        if let Some(heap) = slots.get_mut(&pace) {
            heap.pop();
            heap.push(Reverse(end));
        }
        last = last.max(end.0);
    }
    Some(last.max(least))
}
