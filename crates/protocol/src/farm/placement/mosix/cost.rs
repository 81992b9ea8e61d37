//! The cost of a job on a node, with one unit for processors and memory. The fuller a resource is,
//! the more it costs, so that no resource is used up while others are free (Amir and others, 2000).

use garland_core::farm::Job;

use super::super::Candidate;

/// The load of a node, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stand {
    /// The number of processes that need a processor on the node.
    wanted: f64,
    /// The number of the node's processors.
    cores: f64,
    /// The speed of each processor.
    speed: f64,
    memory: Option<u64>,
    memory_free: Option<u64>,
}

impl Stand {
    /// Returns the load of `node` by its present state.
    pub(super) fn from_candidate(node: &Candidate) -> Self {
        Self {
            wanted: f64::from(node.busy + node.waiting) + node.load.unwrap_or(0.0).max(0.0),
            cores: f64::from(node.cores.max(1)),
            speed: if node.speed > 0.0 { node.speed } else { 1.0 },
            memory: node.memory,
            memory_free: node.memory_free,
        }
    }

    /// Whether the memory that the job requests is free on the node. This counts more than the
    /// load, as in openMosix: a node that pages is worse than one with many jobs.
    pub(super) fn holds(&self, job: &Job) -> bool {
        self.memory_free.is_none_or(|free| job.fits_in(free))
    }

    /// Whether the node has a free processor for the job.
    pub(super) fn has_room(&self, job: &Job) -> bool {
        self.wanted.round() + f64::from(job.cores) <= self.cores
    }

    /// Returns the load of the node with one more job.
    pub(super) fn with(&self, job: &Job) -> Self {
        let free = self.memory_free.map(|free| free.saturating_sub(job.memory.unwrap_or(0)));
        Self { wanted: self.wanted + f64::from(job.cores), memory_free: free, ..*self }
    }

    /// Returns the number of processes per processor, divided by the processor's speed.
    fn load(&self) -> f64 {
        self.wanted / (self.cores * self.speed)
    }

    /// Returns the used share of the memory; 0 if it is unknown.
    fn memory_used(&self) -> f64 {
        match (self.memory, self.memory_free) {
            (Some(all), Some(free)) if all > 0 => 1.0 - (free as f64 / all as f64).min(1.0),
            _ => 0.0,
        }
    }
}

/// The minimum base of costs. In the paper the base is the number of nodes; with few nodes the
/// function is so flat that a slow idle node looks costlier than a fast node with all jobs.
const LEAST_BASE: f64 = 256.0;

/// The unit of loads: the largest load seen so far, at least 1.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scale {
    most: f64,
}

impl Scale {
    /// Returns the cost of the job on a node: the increase of b^(used share of memory) + b^(load /
    /// largest load) by the job, where b is `nodes`, but at least [`LEAST_BASE`].
    pub(super) fn marginal(&mut self, stand: &Stand, job: &Job, nodes: usize) -> f64 {
        let with = stand.with(job);
        let load = if with.load().is_finite() { with.load() } else { 0.0 };
        self.most = self.most.max(load).max(1.0);
        let base = (nodes as f64).max(LEAST_BASE);
        let cost =
            |stand: &Stand| base.powf(stand.memory_used()) + base.powf(stand.load() / self.most);
        cost(&with) - cost(stand)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests_of::{job_of, node};
    use super::*;

    #[test]
    fn the_fuller_the_dearer() {
        let mut scale = Scale::default();
        let job = job_of(1);
        let mut marginal = |busy| scale.marginal(&Stand::from_candidate(&node(4, busy)), &job, 10);
        let costs: Vec<f64> = (0..4).map(&mut marginal).collect();
        assert!(costs.is_sorted() && costs[0] > 0.0, "{costs:?}");
    }

    #[test]
    fn memory_and_processors_are_weighed_against_each_other() {
        let mut scale = Scale::default();
        let job = Job { memory: Some(1 << 30), ..job_of(1) };
        let stand = |busy, free: u64| {
            let memory = (Some(8 << 30), Some(free << 30));
            Stand::from_candidate(&Candidate {
                memory: memory.0,
                memory_free: memory.1,
                ..node(4, busy)
            })
        };
        let mut cost = |busy, free| scale.marginal(&stand(busy, free), &job, 10);
        assert!(cost(2, 8) < cost(0, 1), "the last gigabyte is dearer than two jobs beside it");
        assert!(cost(3, 8) > cost(1, 5));
    }
}
