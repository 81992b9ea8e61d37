//! Nodes that join while the copy is running.

use garland_core::plan::NodeId;
use garland_core::trace::Exchange;
use garland_protocol::{HeadEvent, ToAgent};
use garland_sys::clock;

use super::{Agent, CopyNode, Driver, Newcomer};
use crate::outcome::NodeOutcome;

impl Driver<'_> {
    /// Adds the nodes that have become available.
    pub(super) fn add_late(&mut self) {
        let job = self.job;
        // Wait until all others have begun: before that, the copy may still have to queue for memory.
        let Some(late) = job.late.as_ref().filter(|_| self.moments.ready.is_some()) else { return };
        for newcomer in late.try_iter().collect::<Vec<_>>() {
            if self.finished || self.interrupted {
                continue;
            }
            match newcomer {
                Newcomer::Late(id, agent) => self.begin_late(id, agent),
                Newcomer::Joins(name, agent) => {
                    let reason = agent.as_ref().err().cloned().unwrap_or_default();
                    let id = self.add(NodeOutcome::failed(&name, reason));
                    agent.into_iter().for_each(|agent| self.begin_late(id, agent));
                }
            }
        }
    }

    /// Adds a node that is not in the plan. Its outcome is `outcome` unless it begins the copy.
    /// Returns its id.
    fn add(&mut self, outcome: NodeOutcome) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.head.handle(clock::now_ns(), HeadEvent::Added(outcome.name.clone()));
        self.joined.push(outcome.name.clone());
        let heard_ns = clock::now_ns();
        self.nodes.push(CopyNode { before: Some(outcome), heard_ns, ..CopyNode::default() });
        self.agents.grow();
        self.exchanges.grow();
        self.probes.grow();
        self.harvest.grow();
        id
    }

    /// Adds the agent of a late node, and sends it the order to begin.
    fn begin_late(&mut self, id: NodeId, agent: Agent) {
        let now = clock::now_ns();
        let node = self.nodes.get_mut(id.index()).filter(|node| node.before.is_some());
        let Some(node) = node else { return };
        node.before = None;
        node.addresses.clone_from(&agent.addresses);
        (node.heard_ns, node.started) = (now, true);
        self.late.push(id);
        self.agents.set_connection(id, agent.connection);
        self.head.handle(now, HeadEvent::Joined(id, agent.addresses));
        // These phases have not ended for the new node.
        (self.moments.held, self.moments.committed) = (None, None);
        self.exchanges.asked(id, Exchange::Begin, &self.context.config.trace);
        let begin = self.begin_of(id);
        self.agents.send(id, &ToAgent::Begin(Box::new(begin)));
    }

    /// Returns the name of a node, which is in the plan or has joined.
    pub(super) fn name_of(&self, id: NodeId) -> &str {
        let planned = &self.job.plan.nodes;
        match planned.get(id.index()) {
            Some(node) => &node.name,
            None => self.joined.get(id.index() - planned.len()).map_or("", String::as_str),
        }
    }
}
