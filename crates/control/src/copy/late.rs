//! Nodes that join while the copy is running.

use garland_core::plan::NodeId;
use garland_core::trace::Exchange;
use garland_protocol::{Absence, HeadEvent, ToAgent};
use garland_sys::clock;

use super::{Agent, Driver, Newcomer};
use crate::outcome::NodeOutcome;

impl Driver<'_> {
    /// Adds the nodes that have become available.
    pub(super) fn take_in_late(&mut self) {
        let job = self.job;
        // Until all others have begun the copy may still have to queue.
        let Some(late) = job.late.as_ref().filter(|_| self.moments.ready.is_some()) else { return };
        for newcomer in late.try_iter().collect::<Vec<_>>() {
            if self.finished || self.interrupted {
                continue;
            }
            match newcomer {
                Newcomer::Late(id, agent) => self.take_in(id, agent),
                Newcomer::Joins(name, agent) => {
                    let reason = agent.as_ref().err().cloned().unwrap_or_default();
                    let id = self.add(NodeOutcome::failed(&name, reason));
                    agent.into_iter().for_each(|agent| self.take_in(id, agent));
                }
            }
        }
    }

    /// Adds a node that is not in the plan; its outcome is `outcome` unless it begins.
    fn add(&mut self, outcome: NodeOutcome) -> NodeId {
        let id = NodeId(u32::try_from(self.started.len()).unwrap_or(u32::MAX));
        self.head.handle(clock::now_ns(), HeadEvent::Added(outcome.name.clone()));
        self.joined.push(outcome.name.clone());
        self.before.push(Some(outcome));
        self.addresses.push(Vec::new());
        self.absences.push(Absence::default());
        self.started.push(false);
        self.firsts.push(false);
        self.held_ns.push(None);
        self.closed.push(false);
        self.heard_ns.push(clock::now_ns());
        self.agents.grow();
        self.exchanges.grow();
        self.probes.grow();
        self.harvest.grow();
        id
    }

    /// Sends a node the order to begin.
    fn take_in(&mut self, id: NodeId, agent: Agent) {
        let has_failed = self.before.get(id.index() - 1).is_some_and(Option::is_some);
        if !has_failed {
            return;
        }
        let (now, at) = (clock::now_ns(), id.index());
        self.before[at - 1] = None;
        self.addresses[at - 1].clone_from(&agent.addresses);
        self.heard_ns[at] = now;
        self.started[at] = true;
        self.late.push(id);
        self.agents.set_connection(id, agent.connection);
        self.head.handle(now, HeadEvent::Joined(id, agent.addresses));
        // The copy is no longer complete.
        (self.moments.held, self.moments.committed) = (None, None);
        self.exchanges.asked(id, Exchange::Begin, &self.member.config.trace);
        let begin = self.begin_of(id);
        self.agents.send(id, &ToAgent::Begin(Box::new(begin)));
    }

    /// A node's name, whether it is in the plan or has joined.
    pub(super) fn name_of(&self, id: NodeId) -> &str {
        let planned = &self.job.plan.nodes;
        match planned.get(id.index()) {
            Some(node) => &node.name,
            None => self.joined.get(id.index() - planned.len()).map_or("", String::as_str),
        }
    }
}
