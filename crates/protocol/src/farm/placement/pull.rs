//! Pull: the next job goes to a node with room for it.

use super::{Placement, PlacementRequest};

/// Chooses the node with the largest free share of its processors; of equal nodes, the first. Nodes
/// without room for the job are not chosen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pull;

impl Placement for Pull {
    fn choose(&mut self, asked: &PlacementRequest<'_>) -> Option<usize> {
        let job = asked.job;
        let nodes = asked.nodes;
        let has_room = |at: usize| match asked.at_once {
            true => nodes[at].has_memory(job),
            false => nodes[at].has_room(job),
        };
        (0..nodes.len())
            .filter(|&at| asked.may_have(at) && has_room(at))
            .min_by(|&a, &b| load(asked, a).total_cmp(&load(asked, b)))
    }

    fn may_move(&self) -> bool {
        true
    }
}

fn load(asked: &PlacementRequest<'_>, at: usize) -> f64 {
    let node = &asked.nodes[at];
    f64::from(node.busy) / f64::from(node.cores.max(1))
}

#[cfg(test)]
mod tests {
    use super::super::tests_of::{job_of, node};
    use super::*;

    #[test]
    fn the_idlest_node_with_room_is_taken() {
        let nodes = [node(2, 2), node(4, 3), node(2, 1), node(2, 1)];
        let job = job_of(1);
        let asked =
            PlacementRequest { job: &job, nodes: &nodes, now: 0.0, at_once: false, avoid: &[] };
        assert_eq!(Pull.choose(&asked), Some(2));
        assert_eq!(Pull.choose(&PlacementRequest { avoid: &[2], ..asked }), Some(3));
        assert_eq!(Pull.choose(&PlacementRequest { avoid: &[1, 2, 3], ..asked }), None);
        assert_eq!(
            Pull.choose(&PlacementRequest { avoid: &[1, 2, 3], at_once: true, ..asked }),
            Some(0)
        );
    }

    #[test]
    fn a_node_too_small_for_a_job_never_gets_it() {
        let nodes = [node(2, 0)];
        let job = job_of(3);
        let asked =
            PlacementRequest { job: &job, nodes: &nodes, now: 0.0, at_once: true, avoid: &[] };
        assert_eq!(Pull.choose(&asked), None);
    }
}
