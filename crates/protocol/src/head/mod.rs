//! The head machine: one copy as its head sees it. It decides who is alive, who feeds whom, who is
//! done and why not. Control is a star: every agent reports here, and no verdict waits for the chain.

mod chain;
mod disks;
mod event;
mod faults;
mod hops;
mod joining;
mod node;
mod policy;
mod rails;
mod retries;
mod stuck;
mod verdict;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use self::chain::LaneState;
pub use self::event::{HeadEvent, HeadOrder};
pub use self::faults::{BadFrame, Fault};
pub use self::hops::Slow;
use self::node::Node;
pub use self::policy::{Policy, SlowNodes};
pub use self::verdict::{NodeState, Verdict};
use super::copy_id::CopyId;
use super::message::FromAgent;
use super::report::Report;
use super::route::NodeAddress;
use garland_core::plan::{HEAD, NodeId, Plan};

/// One copy.
#[derive(Debug)]
pub struct Head {
    copy: CopyId,
    policy: Policy,
    /// For messages, by `NodeId`.
    names: Vec<String>,
    /// How many nodes the plan knows, the head included; those behind were added to all lanes.
    planned: usize,
    nodes: Vec<Node>,
    addresses: Vec<NodeAddress>,
    rails: Vec<u16>,
    /// Bytes of a block.
    block_size: u32,
    lanes: Vec<LaneState>,
    /// Who feeds nobody any more, since it would hold them up.
    slow: BTreeSet<NodeId>,
    /// What each node must hold, the first node's first, once that is known.
    roots: Vec<[u8; 32]>,
    faults: BTreeMap<u64, Vec<NodeId>>,
    bad_frames: Vec<BadFrame>,
    /// All nodes have prepared, and were ordered to commit.
    committing: bool,
    /// All nodes have committed: what their parts replaced goes.
    settled: bool,
    finished: bool,
    orders: VecDeque<HeadOrder>,
}

impl Head {
    /// A copy by `plan` to agents that listen at `addresses` (by `NodeId`; the head's is not used).
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
            faults: BTreeMap::new(),
            bad_frames: Vec::new(),
            committing: false,
            settled: false,
            finished: false,
            orders: VecDeque::new(),
        }
    }

    /// Where each node stands, the head first.
    pub fn states(&self) -> impl Iterator<Item = &NodeState> {
        self.nodes.iter().map(|node| &node.state)
    }

    /// What a node reported last.
    #[must_use]
    pub fn report(&self, node: NodeId) -> &Report {
        &self.nodes[node.index()].report
    }

    /// How many blocks every node that still takes part has, from the first one on.
    #[must_use]
    pub fn held_by_all(&self) -> u64 {
        let others = self.nodes.iter().skip(1).filter(|node| !node.left);
        others.map(|node| node.report.whole).min().unwrap_or(u64::MAX)
    }

    /// Whether a node was told to drop what its disk can't take.
    #[must_use]
    pub fn is_detached(&self, node: NodeId) -> bool {
        self.nodes[node.index()].detached
    }

    /// Whether a node's link or machine held the others up, so that it is fed beside them.
    #[must_use]
    pub fn slow(&self, node: NodeId) -> Option<Slow> {
        self.nodes[node.index()].slow
    }

    /// When time itself becomes an event, in nanoseconds; `None` when it never does.
    #[must_use]
    pub fn deadline(&self) -> Option<u64> {
        let silence = (1..self.nodes.len())
            .filter(|&at| self.is_alive(at))
            .map(|at| self.nodes[at].last_seen + self.policy.silence_ns);
        let retries =
            self.lanes.iter().flat_map(|lane| lane.retries.values().filter_map(|retry| retry.due));
        silence.chain(retries).min().filter(|_| !self.finished)
    }

    /// Takes note of what happened at `now` (nanoseconds of a clock that only goes forward).
    pub fn handle(&mut self, now: u64, event: HeadEvent) {
        match event {
            HeadEvent::From(node, message) => {
                if let Some(node) = self.nodes.get_mut(node.index()) {
                    node.last_seen = now;
                }
                self.message(now, node, message);
            }
            HeadEvent::Lost(node, reason) => self.gone(node, NodeState::Dead(reason)),
            HeadEvent::SourceRead(root) => self.know(&vec![root; self.nodes.len() - 1]),
            HeadEvent::PartsKnown(roots) => self.know(&roots),
            HeadEvent::Bad(index) => self.changed(index, HEAD),
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
            // Who was silent then may have spoken: nobody is dead because the head was.
            HeadEvent::Slept(ns) => self.nodes.iter_mut().for_each(|node| node.last_seen += ns),
            HeadEvent::Tick => self.tick(now),
        }
        self.fail_unfed();
        self.finish();
    }

    /// The next thing to do; `None` when there is nothing until something happens.
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
                self.changed(index, id);
            }
            FromAgent::BadFrame { copy: of, lane, epoch, side } if of == copy => {
                self.bad_frame(id, lane, epoch, side);
            }
            FromAgent::Complete(of, root, report) if of == copy => {
                self.nodes[at].root = Some(root);
                self.nodes[at].report = *report;
                // Whoever was given up in the meantime stays so.
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
                self.gone(id, NodeState::Failed(reason));
            }
            _ => {}
        }
    }

    /// A node's name, as messages say it.
    fn name(&self, id: NodeId) -> &str {
        match self.names[id.index()].as_str() {
            // Unless another node reads the source for it.
            "head" if id == HEAD => "the head",
            name => name,
        }
    }

    fn tick(&mut self, now: u64) {
        for at in 1..self.nodes.len() {
            let silent = now.saturating_sub(self.nodes[at].last_seen);
            if self.is_alive(at) && silent >= self.policy.silence_ns {
                let id = NodeId(u32::try_from(at).expect("a plan has fewer nodes"));
                let mut reason = format!("no word from it for {} ms", silent / 1_000_000);
                if let Some(word) = self.neighbours_word(id) {
                    reason = format!("{reason}; {word}");
                }
                self.gone(id, NodeState::Dead(reason));
            }
        }
        for lane in 0..self.lanes.len() {
            self.retry_links(now, lane);
        }
    }
}
