//! The head's side of the queue for memory on agents that are busy with other copies.
//!
//! Agents are asked one after another, in the order of their public keys, which is the same for all
//! heads; each answer is awaited before the next request. A head that waits for an agent has
//! reserved memory only of agents that come earlier in this order, so heads cannot deadlock.

use garland_core::plan::NodeId;
use garland_protocol::PublicKey;

/// The agents that are still to be asked.
#[derive(Debug)]
pub struct Queue {
    /// The agents, the next one last.
    left: Vec<NodeId>,
    /// Whether the next agent has been asked.
    asked: bool,
    /// Busy agents, in the order of the plan.
    busy: Vec<NodeId>,
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Request memory of this agent.
    Ask(NodeId),
    /// Wait for the answer of the agent that was asked.
    Wait,
    /// All agents have granted memory.
    Through,
}

impl Queue {
    /// Creates a queue for `agents`, of which `busy` are busy.
    pub fn new(mut agents: Vec<(PublicKey, NodeId)>, mut busy: Vec<NodeId>) -> Self {
        agents.sort_by(|one, two| two.cmp(one));
        busy.sort();
        Self { left: agents.into_iter().map(|(_, id)| id).collect(), asked: false, busy }
    }

    /// Removes an agent, which has granted memory or is dead.
    pub fn settle(&mut self, id: NodeId) {
        if self.left.last() == Some(&id) {
            self.asked = false;
        }
        self.left.retain(|&other| other != id);
        self.busy.retain(|&other| other != id);
    }

    /// Returns the next step.
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

    /// Returns the agents that the copy waits for, in the order of the plan: the busy agents that
    /// have not granted memory yet, or, if there are none, the agent that was asked last.
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
