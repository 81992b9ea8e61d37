//! Placement by least marginal cost, from the reports of a few nodes. openMosix chose the target
//! node of a migration in this way.
//!
//! openMosix moved processes while they ran; here a job is placed when it starts, and does not
//! move. In the simulations of Amir, Awerbuch, Barak, Borgstrom and Keren (An opportunity cost
//! approach for job assignment in a scalable computing cluster, TPDS 11(7), 2000) placement without
//! migration increases the mean slowdown by 14 %: 9.8 instead of 8.6; round robin has 14.4.

mod cost;
mod gossip;

use super::{Placement, PlacementRequest};
use cost::{Scale, Stand};
use gossip::Gossip;

/// Chooses the cheapest of the nodes that the controller knows.
///
/// The controller takes part in the gossip as one of the nodes. It knows its own placements, and a
/// node reports its state to the controller when a job ends.
#[derive(Clone, Debug)]
pub struct Mosix {
    gossip: Gossip,
    scale: Scale,
}

impl Mosix {
    /// Creates a placement; `seed` determines which nodes receive each other's reports.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { gossip: Gossip::new(seed), scale: Scale::default() }
    }
}

impl Placement for Mosix {
    fn choose(&mut self, asked: &PlacementRequest<'_>) -> Option<usize> {
        let job = asked.job;
        let nodes = asked.nodes;
        self.gossip.advance(nodes, asked.now);
        let count = nodes.iter().filter(|node| node.is_alive).count();
        let scale = &mut self.scale;
        let fitting = self.gossip.known().filter(|&(at, stand)| {
            let has_room = asked.at_once || stand.has_room(job);
            asked.may_have(at) && stand.holds(job) && has_room
        });
        let costs = fitting.map(|(at, stand)| (scale.marginal(stand, job, count), at));
        // Of equal nodes, the first is chosen, so that runs can be repeated.
        let cheapest = costs.min_by(|one, two| one.0.total_cmp(&two.0).then(one.1.cmp(&two.1)));
        let chosen = cheapest.map(|(_, at)| at).or_else(|| self.unknown_node(asked))?;
        self.gossip.place(chosen, &nodes[chosen], job, asked.now);
        Some(chosen)
    }
}

impl Mosix {
    /// Returns the first node with room for a job that fits on no known node. Considers all nodes
    /// if none has a job, since no report would follow; otherwise the nodes that the controller
    /// does not know, and only if jobs start at once.
    fn unknown_node(&self, asked: &PlacementRequest<'_>) -> Option<usize> {
        let nodes = asked.nodes;
        let is_quiet = nodes.iter().all(|node| !node.is_alive || node.busy + node.waiting == 0);
        let is_known = |at: usize| self.gossip.known().any(|(known, _)| known == at);
        let free = |at: &usize| {
            let room = asked.at_once || nodes[*at].has_room(asked.job);
            let new = is_quiet || (asked.at_once && !is_known(*at));
            new && room
                && asked.may_have(*at)
                && Stand::from_candidate(&nodes[*at]).holds(asked.job)
        };
        (0..nodes.len()).find(free)
    }
}

#[cfg(test)]
mod tests {
    use garland_core::farm::Job;

    use super::super::tests_of::{job_of, node};
    use super::super::{Candidate, Pull};
    use super::*;

    fn asked<'a>(job: &'a Job, nodes: &'a [Candidate], now: f64) -> PlacementRequest<'a> {
        PlacementRequest { job, nodes, now, at_once: true, avoid: &[] }
    }

    /// Places a number of jobs at once; returns the number that each node got.
    fn deal(placement: &mut impl Placement, nodes: &mut [Candidate], jobs: usize) -> Vec<u32> {
        let job = job_of(1);
        for _ in 0..jobs {
            let at = placement.choose(&asked(&job, nodes, 0.0)).unwrap();
            nodes[at].busy += 1;
        }
        nodes.iter().map(|node| node.busy).collect()
    }

    fn speeds(speeds: &[f64]) -> Vec<Candidate> {
        speeds.iter().map(|&speed| Candidate { speed, ..node(1, 0) }).collect()
    }

    #[test]
    fn jobs_go_where_they_cost_least_so_the_quick_get_more() {
        let dealt = deal(&mut Mosix::new(1), &mut speeds(&[0.25, 0.5, 1.0]), 28);
        assert_eq!(dealt.iter().sum::<u32>(), 28);
        assert!((2..=5).contains(&dealt[0]), "as their speeds, nearly: {dealt:?}");
        assert!((6..=9).contains(&dealt[1]) && dealt[2] <= 19, "{dealt:?}");
        // Without known speeds all nodes get the same number.
        assert_eq!(deal(&mut Pull, &mut speeds(&[0.25, 0.5, 1.0]), 27), [9, 9, 9]);
    }

    #[test]
    fn a_node_without_the_memory_is_left_alone_though_it_is_idle() {
        let mut nodes = vec![node(4, 0), node(4, 3)];
        for node in &mut nodes {
            (node.memory, node.memory_free) = (Some(8 << 30), Some(6 << 30));
        }
        nodes[0].memory_free = Some(1 << 30);
        let job = Job { memory: Some(2 << 30), ..job_of(1) };
        let mut mosix = Mosix::new(1);
        for _ in 0..3 {
            assert_eq!(mosix.choose(&asked(&job, &nodes, 0.0)), Some(1));
            nodes[1].busy += 1;
        }
        // A placed job takes its memory before the node has reported it.
        assert_eq!(mosix.choose(&asked(&job, &nodes, 0.0)), None);
    }

    #[test]
    fn the_load_of_unknown_nodes_counts_as_well() {
        let mut nodes = vec![node(2, 0), node(2, 0)];
        nodes[0].load = Some(1.5);
        assert_eq!(Mosix::new(1).choose(&asked(&job_of(1), &nodes, 0.0)), Some(1));
    }

    #[test]
    fn without_room_a_job_waits_for_a_report() {
        let mut nodes = vec![node(1, 0), node(1, 0)];
        let mut mosix = Mosix::new(1);
        let job = job_of(1);
        let mut choose = |nodes: &[Candidate], now| {
            mosix.choose(&PlacementRequest { at_once: false, ..asked(&job, nodes, now) })
        };
        for _ in 0..2 {
            let at = choose(&nodes, 0.0).unwrap();
            nodes[at].busy += 1;
        }
        assert_eq!(choose(&nodes, 0.1), None);
        nodes[1].busy = 0;
        assert_eq!(choose(&nodes, 0.2), Some(1), "a node that returns a job reports at once");
    }

    #[test]
    fn few_of_many_nodes_are_known_but_jobs_are_spread() {
        let mut nodes: Vec<Candidate> = (0..100).map(|_| node(1, 0)).collect();
        let mut mosix = Mosix::new(7);
        let job = job_of(1);
        for step in 0..100 {
            let at = mosix.choose(&asked(&job, &nodes, f64::from(step))).unwrap();
            assert!(mosix.gossip.known().count() <= gossip::VECTOR);
            nodes[at].busy += 1;
        }
        let used = nodes.iter().filter(|node| node.busy > 0).count();
        assert!((50..100).contains(&used), "{used} nodes of 100 have the 100 jobs");
    }

    #[test]
    fn a_job_never_waits_if_no_node_works() {
        let mut nodes: Vec<Candidate> = (0..50).map(|_| node(1, 0)).collect();
        let mut mosix = Mosix::new(3);
        let mut job = job_of(1);
        job.cores = 2;
        nodes[49].cores = 2;
        let asked = PlacementRequest { at_once: false, ..asked(&job, &nodes, 0.0) };
        assert_eq!(mosix.choose(&asked), Some(49), "unknown to the controller, but able to run it");
        let dead = Candidate { is_alive: false, ..node(2, 0) };
        let nodes = [dead];
        assert_eq!(mosix.choose(&PlacementRequest { nodes: &nodes, ..asked }), None);
    }
}
