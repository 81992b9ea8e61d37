//! Round robin: each node gets a job in turn, however many jobs it has already.

use super::{Placement, PlacementRequest};

/// Assigns jobs to nodes in turn. A job waits at its node, even if others are idle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turns {
    next: usize,
}

impl Placement for Turns {
    fn choose(&mut self, asked: &PlacementRequest<'_>) -> Option<usize> {
        let count = asked.nodes.len();
        let at =
            (0..count).map(|step| (self.next + step) % count).find(|&at| asked.may_have(at))?;
        self.next = (at + 1) % count;
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests_of::{job_of, node};
    use super::*;

    #[test]
    fn each_node_has_its_turn_and_the_dead_have_none() {
        let mut nodes = [node(1, 0), node(1, 9), node(1, 0)];
        nodes[2].is_alive = false;
        let mut turns = Turns::default();
        let job = job_of(1);
        let mut choose = |avoid: &[usize]| {
            turns.choose(&PlacementRequest {
                job: &job,
                nodes: &nodes,
                now: 0.0,
                at_once: false,
                avoid,
            })
        };
        assert_eq!([choose(&[]), choose(&[]), choose(&[])], [Some(0), Some(1), Some(0)]);
        assert_eq!([choose(&[1]), choose(&[0, 1])], [Some(0), None]);
    }
}
