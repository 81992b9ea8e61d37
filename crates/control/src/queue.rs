//! Waiting for a place at agents that are busy with other copies: the head's side.
//!
//! One agent is asked after another, in the order of their keys, which all heads share; each is
//! waited for before the next is asked. A head only ever waits for agents behind those that it
//! holds, so heads can't wait for each other in a ring.

use garland_core::plan::NodeId;
use garland_protocol::PublicKey;

/// The agents that are still to be asked.
#[derive(Debug)]
pub struct Queue {
    /// The next one last.
    left: Vec<NodeId>,
    asked: bool,
    /// Those that said that they are busy, in the plan's order.
    busy: Vec<NodeId>,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Ask this agent for a place.
    Ask(NodeId),
    /// Wait for its answer.
    Wait,
    /// There is a place everywhere.
    Through,
}

impl Queue {
    /// A queue at these agents, of which `busy` have said that they are.
    #[must_use]
    pub fn new(mut agents: Vec<(PublicKey, NodeId)>, mut busy: Vec<NodeId>) -> Self {
        agents.sort_by(|one, two| two.cmp(one));
        busy.sort();
        Self { left: agents.into_iter().map(|(_, id)| id).collect(), asked: false, busy }
    }

    /// Takes note that an agent has given a place, or is dead.
    pub fn settle(&mut self, id: NodeId) {
        if self.left.last() == Some(&id) {
            self.asked = false;
        }
        self.left.retain(|&other| other != id);
        self.busy.retain(|&other| other != id);
    }

    /// What comes next.
    pub fn step(&mut self) -> Step {
        match self.left.last() {
            None => Step::Through,
            Some(_) if self.asked => Step::Wait,
            Some(&id) => {
                self.asked = true;
                Step::Ask(id)
            }
        }
    }

    /// The agents that are waited for, in the plan's order: those that were busy and haven't given
    /// a place since, or else the one that was asked last.
    #[must_use]
    pub fn waited_for(&self) -> Vec<NodeId> {
        if self.busy.is_empty() {
            self.left.last().copied().into_iter().collect()
        } else {
            self.busy.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_asked_one_by_one_in_the_order_of_their_keys() {
        let agents = [3, 1, 2, 4].map(|key| ([key; 32], NodeId(u32::from(10 - key)))).to_vec();
        let mut queue = Queue::new(agents, vec![NodeId(8), NodeId(7)]);
        assert_eq!(queue.step(), Step::Ask(NodeId(9)));
        assert_eq!(queue.step(), Step::Wait);
        queue.settle(NodeId(7));
        assert_eq!(queue.step(), Step::Wait, "a death further on changes nothing");
        assert_eq!(queue.waited_for(), [NodeId(8)]);
        queue.settle(NodeId(9));
        assert_eq!(queue.step(), Step::Ask(NodeId(8)));
        queue.settle(NodeId(8));
        assert_eq!(queue.waited_for(), [NodeId(6)]);
        assert_eq!(queue.step(), Step::Ask(NodeId(6)));
        queue.settle(NodeId(6));
        assert_eq!(queue.step(), Step::Through);
    }
}
