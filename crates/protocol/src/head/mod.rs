//! The head state machine of a copy. It decides which nodes are alive, which node feeds which, and
//! the verdict of each node. Every agent reports directly to the head, so no verdict depends on
//! messages along the chain.

mod chain;
mod disks;
mod event;
mod faults;
mod hops;
mod joining;
mod lane;
mod node;
mod policy;
mod rails;
mod retries;
mod stuck;
mod verdict;
mod watch;

use std::collections::{BTreeSet, VecDeque};

pub use self::event::{HeadEvent, HeadOrder};
use self::faults::Faults;
pub use self::faults::{BadFrame, Fault};
use self::lane::LaneState;
use self::node::Node;
pub use self::node::{NodeState, Verdict};
pub use self::policy::{Policy, SlowNodes};
pub use self::watch::Slow;
use super::copy_id::CopyId;
use super::message::FromAgent;
use super::report::Report;
use super::route::{LinkSide, NodeAddress};
use garland_core::plan::{HEAD, NodeId, Plan};

/// The state of one copy at its head.
#[derive(Debug)]
pub struct Head {
    copy: CopyId,
    policy: Policy,
    /// The names of the nodes, for messages.
    names: Vec<String>,
    /// The number of planned nodes including the head. Nodes with a higher index were added to all
    /// lanes later.
    planned: usize,
    nodes: Vec<Node>,
    addresses: Vec<NodeAddress>,
    rails: Vec<u16>,
    /// The size of a block in bytes.
    block_size: u32,
    lanes: Vec<LaneState>,
    /// Nodes that were taken out of the chain for being slow; they do not feed others.
    slow: BTreeSet<NodeId>,
    /// The digests that the bytes of each node must have, in the order of nodes; empty until known.
    roots: Vec<[u8; 32]>,
    faults: Faults,
    /// Whether all nodes have prepared and were ordered to commit.
    committing: bool,
    /// Whether all nodes have committed and were ordered to remove the files that they replaced.
    settled: bool,
    finished: bool,
    orders: VecDeque<HeadOrder>,
}

impl Head {
    /// Creates the head of a copy by `plan` to agents that listen at `addresses` (indexed by node;
    /// the head's own is not used).
    #[must_use]
    pub fn new(
        copy: CopyId,
        plan: &Plan,
        addresses: Vec<NodeAddress>,
        policy: Policy,
        now: u64,
    ) -> Self {
        Self {
            copy,
            policy,
            names: plan.nodes.iter().map(|node| node.name.clone()).collect(),
            planned: plan.nodes.len(),
            nodes: plan.nodes.iter().map(|_| Node::new(now)).collect(),
            addresses,
            block_size: plan.layout.block_size,
            rails: plan.lanes.iter().map(|lane| lane.rail).collect(),
            lanes: plan.lanes.iter().map(LaneState::new).collect(),
            slow: BTreeSet::new(),
            roots: Vec::new(),
            faults: Faults::default(),
            committing: false,
            settled: false,
            finished: false,
            orders: VecDeque::new(),
        }
    }

    /// Returns the state of each node, the head first.
    pub fn states(&self) -> impl Iterator<Item = &NodeState> {
        self.nodes.iter().map(|node| &node.state)
    }

    /// Returns the last report of a node.
    #[must_use]
    pub fn report(&self, node: NodeId) -> &Report {
        &self.nodes[node.index()].report
    }

    /// Returns the number of leading blocks that all remaining nodes have.
    #[must_use]
    pub fn held_by_all(&self) -> u64 {
        let others = self.nodes.iter().skip(1).filter(|node| !node.left);
        others.map(|node| node.report.whole).min().unwrap_or(u64::MAX)
    }

    /// Whether a node was ordered to drop blocks that its disk is too slow for.
    #[must_use]
    pub fn is_detached(&self, node: NodeId) -> bool {
        self.nodes[node.index()].detached
    }

    /// Returns the rates of a node whose link or machine slowed the others down; `None` for other
    /// nodes.
    #[must_use]
    pub fn slow(&self, node: NodeId) -> Option<Slow> {
        self.nodes[node.index()].slow
    }

    /// Returns the changed blocks with the hop where each was changed: the one that ends at the
    /// most upstream of the nodes that received the block changed.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        self.faults.blocks(&self.lanes)
    }

    /// Returns the hops where frames arrived changed, in the order of their reports.
    #[must_use]
    pub fn bad_frames(&self) -> &[BadFrame] {
        self.faults.frames()
    }

    fn bad_frame(&mut self, by: NodeId, lane: u16, epoch: u32, side: LinkSide) {
        let lane = self.lanes.get(usize::from(lane));
        if let Some(ends) = lane.and_then(|lane| lane.ends(by, epoch, side)) {
            self.faults.add_frame(ends, side);
        }
    }

    /// Returns the time of the next `Tick` in nanoseconds; `None` if none is due.
    #[must_use]
    pub fn deadline(&self) -> Option<u64> {
        let alive = self.nodes.iter().skip(1).filter(|node| !node.left);
        let silence = alive.map(|node| node.last_seen + self.policy.silence_ns);
        let retries = self.lanes.iter().flat_map(|lane| lane.retries.values());
        let retries = retries.filter_map(|retry| retry.due);
        silence.chain(retries).min().filter(|_| !self.finished)
    }

    /// Handles an event at `now` (nanoseconds of a monotonic clock).
    pub fn handle(&mut self, now: u64, event: HeadEvent) {
        match event {
            HeadEvent::From(node, message) => {
                if let Some(node) = self.nodes.get_mut(node.index()) {
                    node.last_seen = now;
                }
                self.message(now, node, message);
            }
            HeadEvent::Lost(node, reason) => self.take_out(node, NodeState::Dead(reason)),
            HeadEvent::SourceRead(root) => self.set_roots(&vec![root; self.nodes.len() - 1]),
            HeadEvent::PartsKnown(roots) => self.set_roots(&roots),
            HeadEvent::Bad(index) => self.faults.add_block(index, HEAD),
            HeadEvent::SourceFailed(reason) => self.give_up(&reason),
            HeadEvent::LinkLost(lane, epoch, reason) => {
                let side = self.own_side(lane);
                self.link_lost(now, HEAD, (lane, epoch, side), reason);
            }
            HeadEvent::BadFrame(lane, epoch) => {
                self.bad_frame(HEAD, lane, epoch, self.own_side(lane));
            }
            HeadEvent::Added(name) => self.add(now, name),
            HeadEvent::Joined(node, address) => self.join(now, node, address),
            HeadEvent::Own(report) => {
                self.judge_own_call(&report);
                self.nodes[HEAD.index()].report = report;
                self.nodes[HEAD.index()].reported = now;
            }
            HeadEvent::Interrupted => self.give_up("interrupted"),
            // Time during which the head was suspended does not count as silence of nodes.
            HeadEvent::Slept(ns) => self.nodes.iter_mut().for_each(|node| node.last_seen += ns),
            HeadEvent::Tick => self.tick(now),
        }
        self.fail_unfed();
        self.finish();
    }

    /// Returns the next order; `None` if there is none until the next event.
    pub fn poll(&mut self) -> Option<HeadOrder> {
        self.orders.pop_front()
    }

    fn message(&mut self, now: u64, id: NodeId, message: FromAgent) {
        let at = id.index();
        if at == 0 || at >= self.nodes.len() {
            return;
        }
        let copy = self.copy;
        match message {
            FromAgent::Heartbeat(Some(report)) => {
                self.judge_disk(now, id, *report);
                self.nodes[at].reported = now;
                self.judge_call(id);
                self.judge_hops(now);
                self.share_rails(now);
            }
            FromAgent::Ready(of) if of == copy && self.nodes[at].state == NodeState::Joining => {
                self.nodes[at].state = NodeState::Ready;
            }
            FromAgent::LinkLost { copy: of, lane, epoch, side, reason } if of == copy => {
                self.link_lost(now, id, (lane, epoch, side), reason);
            }
            FromAgent::Bad(of, index) if of == copy => {
                self.faults.add_block(index, id);
            }
            FromAgent::BadFrame { copy: of, lane, epoch, side } if of == copy => {
                self.bad_frame(id, lane, epoch, side);
            }
            FromAgent::Complete(of, root, report) if of == copy => {
                self.nodes[at].root = Some(root);
                self.nodes[at].report = *report;
                // A node that failed in the meantime stays failed.
                if matches!(self.nodes[at].state, NodeState::Joining | NodeState::Ready) {
                    self.nodes[at].state = NodeState::Complete;
                    self.commit();
                }
            }
            FromAgent::Prepared(of)
                if of == copy && self.nodes[at].state == NodeState::Complete =>
            {
                self.nodes[at].state = NodeState::Prepared;
                self.commit_prepared();
            }
            FromAgent::Committed(of, report) if of == copy && self.may_commit(at) => {
                self.nodes[at].report = *report;
                self.nodes[at].state = NodeState::Committed;
                self.settle();
            }
            FromAgent::Failed(of, reason) if of == copy => {
                self.take_out(id, NodeState::Failed(reason));
            }
            _ => {}
        }
    }

    /// Returns all nodes except the head.
    fn receivers(&self) -> impl Iterator<Item = NodeId> + use<> {
        (1..).map(NodeId).take(self.nodes.len() - 1)
    }

    /// Returns a node's name for messages.
    fn name(&self, id: NodeId) -> &str {
        match self.names[id.index()].as_str() {
            // A node named `head` may also exist, and read the source for the head.
            "head" if id == HEAD => "the head",
            name => name,
        }
    }

    fn tick(&mut self, now: u64) {
        for id in self.receivers() {
            let node = &self.nodes[id.index()];
            let silent = now.saturating_sub(node.last_seen);
            if !node.left && silent >= self.policy.silence_ns {
                let word = self.neighbours_report(id).unwrap_or_default();
                let reason = format!("no word from it for {} ms{word}", silent / 1_000_000);
                self.take_out(id, NodeState::Dead(reason));
            }
        }
        for lane in 0..self.lanes.len() {
            self.retry_links(now, lane);
        }
    }
}
