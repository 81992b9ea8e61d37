//! What a job costs a node, in one currency for processors and memory: a resource costs the more the
//! fuller it is, so that none is used up while there are others (Amir and others, 2000).

use super::super::Candidate;
use garland_core::farm::Job;

/// How a node stands, by what is known of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stand {
    /// Processes that want a processor there.
    wanted: f64,
    /// Its processors.
    cores: f64,
    /// How quick each is.
    speed: f64,
    memory: Option<u64>,
    memory_free: Option<u64>,
}

impl Stand {
    /// How `node` really stands.
    pub(super) fn of(node: &Candidate) -> Self {
        Self {
            wanted: f64::from(node.busy + node.waiting) + node.load.unwrap_or(0.0).max(0.0),
            cores: f64::from(node.cores.max(1)),
            speed: if node.speed > 0.0 { node.speed } else { 1.0 },
            memory: node.memory,
            memory_free: node.memory_free,
        }
    }

    /// Whether the job's memory is free there: a node that pages is worse than one with many jobs,
    /// which is why openMosix put memory above load.
    pub(super) fn holds(&self, job: &Job) -> bool {
        let enough = |free| job.memory.is_none_or(|needed| needed <= free);
        self.memory_free.is_none_or(enough)
    }

    /// Whether a processor is free for it.
    pub(super) fn has_room(&self, job: &Job) -> bool {
        self.wanted.round() + f64::from(job.cores) <= self.cores
    }

    /// The node with one more job.
    pub(super) fn with(&self, job: &Job) -> Self {
        let free = self.memory_free.map(|free| free.saturating_sub(job.memory.unwrap_or(0)));
        Self { wanted: self.wanted + f64::from(job.cores), memory_free: free, ..*self }
    }

    /// Processes a processor, by how long they take there.
    fn load(&self) -> f64 {
        self.wanted / (self.cores * self.speed)
    }

    /// The share of its memory that is used; nothing where it doesn't tell.
    fn memory_used(&self) -> f64 {
        match (self.memory, self.memory_free) {
            (Some(all), Some(free)) if all > 0 => 1.0 - (free as f64 / all as f64).min(1.0),
            _ => 0.0,
        }
    }
}

/// The least base of costs. In the paper it is the number of nodes; of a few that is so flat that a slow
/// idle node looks more expensive than a quick one with all jobs.
const LEAST_BASE: f64 = 256.0;

/// What loads are measured by: the largest that was ever seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    most: f64,
}

impl Default for Scale {
    fn default() -> Self {
        Self { most: 1.0 }
    }
}

impl Scale {
    /// What the job costs on a node of `nodes`: b^(memory used) + b^(load / largest load) with it, less
    /// that without it; b is the number of nodes, and not small.
    pub(super) fn marginal(&mut self, stand: &Stand, job: &Job, nodes: usize) -> f64 {
        let with = stand.with(job);
        if with.load().is_finite() {
            self.most = self.most.max(with.load());
        }
        let base = (nodes as f64).max(LEAST_BASE);
        let cost =
            |stand: &Stand| base.powf(stand.memory_used()) + base.powf(stand.load() / self.most);
        cost(&with) - cost(stand)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests_of::{job, node};
    use super::*;

    #[test]
    fn the_fuller_the_dearer() {
        let (mut scale, job) = (Scale::default(), job(1));
        let mut marginal = |busy| scale.marginal(&Stand::of(&node(4, busy)), &job, 10);
        let costs: Vec<f64> = (0..4).map(&mut marginal).collect();
        assert!(costs.is_sorted() && costs[0] > 0.0, "{costs:?}");
    }

    #[test]
    fn memory_and_processors_are_weighed_against_each_other() {
        let (mut scale, job) = (Scale::default(), Job { memory: Some(1 << 30), ..job(1) });
        let stand = |busy, free: u64| {
            let memory = (Some(8 << 30), Some(free << 30));
            Stand::of(&Candidate { memory: memory.0, memory_free: memory.1, ..node(4, busy) })
        };
        let mut cost = |busy, free| scale.marginal(&stand(busy, free), &job, 10);
        assert!(cost(2, 8) < cost(0, 1), "the last gigabyte is dearer than two jobs beside it");
        assert!(cost(3, 8) > cost(1, 5));
    }
}
