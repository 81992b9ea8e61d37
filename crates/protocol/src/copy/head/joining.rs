//! The beginning of a copy, and nodes that join while it is in progress: they are fed on the side.

use garland_core::plan::{HEAD, NodeId, Plan};

use super::admission::{Consequence, Step};
use super::milestones::Milestone;
use super::node::Node;
use super::{Head, HeadOrder, NodeState};
use crate::copy::copy_id::CopyId;
use crate::copy::route::NodeAddress;
use crate::wire::PublicKey;

impl Head {
    /// Orders the head and all nodes without a verdict to begin, with the present routes.
    pub(super) fn begin(&mut self) {
        self.has_begun = true;
        self.orders.push_back(HeadOrder::Start);
        for id in self.receivers().filter(|id| !self.has_verdict(*id)).collect::<Vec<_>>() {
            self.nodes[id.index()].begun = true;
            self.orders.push_back(HeadOrder::Begin(id));
            self.ask_for_patience(id);
        }
        let routes = self.routes(HEAD).into_iter();
        self.orders.extend(routes.map(HeadOrder::Route));
    }

    /// Begins the copy again as `copy`, because an agent was busy; all agents have closed the
    /// previous attempt. Queues for memory of the `agents` without a verdict. Nodes with a verdict
    /// stay out of the new attempt.
    pub fn begin_again(
        &mut self,
        now: u64,
        copy: CopyId,
        plan: &Plan,
        agents: Vec<(PublicKey, NodeId)>,
    ) {
        self.now = now;
        self.fail_open();
        let addresses = std::mem::take(&mut self.addresses);
        let mut next = Self::new(copy, plan, addresses, self.policy, now);
        (next.now, next.interrupted) = (now, self.interrupted);
        next.admission = std::mem::take(&mut self.admission);
        next.awaited = std::mem::take(&mut self.awaited);
        // No node can have joined yet: nodes join only after all have begun.
        let ended: Vec<NodeId> = self.receivers().filter(|id| self.has_verdict(*id)).collect();
        for id in ended {
            next.nodes[id.index()] = std::mem::take(&mut self.nodes[id.index()]);
            next.nodes[id.index()].left = true;
            next.liveness.forget(id);
            next.milestones.reach(now, id, Milestone::Over);
            (0..next.lanes.len()).for_each(|lane| next.splice(lane, id));
        }
        next.admission.queue(agents.into_iter().filter(|(_, id)| !next.has_verdict(*id)).collect());
        *self = next;
        self.conclude();
    }

    /// Requests memory of the next agent, or begins the copy if all have granted it.
    pub(super) fn advance_queue(&mut self) {
        match self.admission.step(self.now) {
            Some(Step::Ask(id)) => self.orders.push_back(HeadOrder::Queue(id)),
            Some(Step::GiveBack) => self.orders.push_back(HeadOrder::BeginAgain),
            Some(Step::GoOnWithout(id)) => {
                let reason = "other copies use the memory of its agent, for which this one has \
                              waited long enough: the other nodes have some";
                self.take_out(id, NodeState::Failed(reason.to_owned()));
            }
            Some(Step::Through) if !self.finished => self.begin(),
            _ => {}
        }
    }

    /// Handles a busy agent: the copy has to begin again. A late node fails instead, and so does
    /// one whose agent is busy again and again.
    pub(super) fn refuse(&mut self, now: u64, id: NodeId) {
        if self.nodes[id.index()].late {
            let reason = "it joined late, and its agent has no free memory: other copies use it";
            return self.take_out(id, NodeState::Failed(reason.to_owned()));
        }
        match self.admission.refuse(now, id) {
            Consequence::BeginAgain => self.orders.push_back(HeadOrder::BeginAgain),
            Consequence::Nothing => {}
            Consequence::GoOnWithout => {
                let reason =
                    "its agent has no free memory again and again, after it had granted some";
                self.take_out(id, NodeState::Failed(reason.to_owned()));
            }
        }
    }

    /// Fails a node whose agent could not be started or reached. The node may join later.
    pub(super) fn miss(&mut self, id: NodeId, reason: String) {
        self.awaited.remove(&id);
        let node = &mut self.nodes[id.index()];
        if node.absent {
            // Now it is known why.
            node.state = NodeState::Failed(reason);
            return;
        }
        self.take_out(id, NodeState::Failed(reason));
        self.nodes[id.index()].absent = true;
    }

    /// Notes that an absent node is still being reached. A copy in which each node has its own part
    /// has failed without it.
    pub(super) fn wait_for(&mut self, id: NodeId) {
        if self.may_join(id) {
            self.awaited.insert(id);
        }
    }

    /// Whether an absent node is still being reached: its verdict may change.
    #[must_use]
    pub fn is_awaited(&self, id: NodeId) -> bool {
        self.awaited.contains(&id)
    }

    /// Adds a node that is not in the plan. The node joins if its agent was reached.
    pub(super) fn add(&mut self, now: u64, name: String, agent: Result<NodeAddress, String>) {
        let not_yet = || "it did not join before the copy ended".to_owned();
        let state = NodeState::Failed(agent.as_ref().err().cloned().unwrap_or_else(not_yet));
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(Node { state, left: true, absent: true, ..Node::new(now) });
        self.names.push(name);
        self.addresses.push(NodeAddress::default());
        agent.into_iter().for_each(|addresses| self.join(now, id, addresses));
    }

    /// Whether a node that could not be reached, or is not in the plan, may join now.
    #[must_use]
    pub fn may_join(&self, id: NodeId) -> bool {
        // A copy in which each node has its own part has failed already, and a finished one is not
        // resumed.
        let is_open = !self.policy.together && !self.is_over();
        is_open && self.nodes.get(id.index()).is_some_and(|node| node.absent)
    }

    /// Whether all nodes have been ready: nodes may join from then on. Before that, the copy may
    /// have to queue for memory.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.milestones.is_ready()
    }

    /// Orders an absent node to begin, and adds it to the side of all lanes that it belongs to.
    /// Does nothing if the node may not join.
    pub(super) fn join(&mut self, now: u64, id: NodeId, address: NodeAddress) {
        if !self.may_join(id) {
            return;
        }
        self.awaited.remove(&id);
        let at = id.index();
        // A node that is not in the plan gets the same bytes as the others.
        let wanted = self.roots.get(at - 1).or(self.roots.first()).copied();
        self.set_state(id, NodeState::Joining);
        self.nodes[at] = Node { wanted, late: true, begun: true, ..Node::new(now) };
        self.addresses[at] = address;
        self.liveness.watch(now, id);
        self.milestones.join(id);
        self.orders.push_back(HeadOrder::Begin(id));
        self.ask_for_patience(id);
        // The order to begin contains the routes.
        let _ = self.join_lanes(id);
    }
}
