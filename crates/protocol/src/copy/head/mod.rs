//! The head state machine of a copy. It decides which nodes are alive, which node feeds which, and
//! the verdict of each node. Every agent reports directly to the head, so no verdict depends on
//! messages along the chain.

mod admission;
mod chain;
mod disks;
mod ending;
mod event;
mod faults;
mod gather;
mod hops;
mod idle;
mod idleness;
mod joining;
mod lane;
mod liveness;
mod milestones;
mod node;
mod policy;
mod progress;
mod rails;
mod retries;
mod stuck;
mod suspicion;
mod taking;
#[cfg(test)]
mod tests;
mod verdict;
mod watch;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use garland_core::plan::{HEAD, NodeId, Plan};

use self::admission::Admission;
pub use self::event::{HeadEvent, HeadOrder};
use self::faults::Faults;
pub use self::faults::{BadFrame, Fault};
use self::idleness::Idleness;
use self::lane::LaneState;
use self::liveness::{Liveness, Silent};
pub use self::milestones::Moments;
use self::milestones::{Milestone, Milestones};
use self::node::Node;
pub use self::node::{NodeOutcome, NodeState, Verdict};
pub use self::policy::{HEARTBEAT_NS, Policy, SlowNodes};
pub use self::watch::Slow;
use crate::copy::copy_id::CopyId;
use crate::copy::report::Report;
use crate::copy::route::{LinkSide, NodeAddress};
use crate::message::FromAgent;

/// The state of one copy at its head.
#[derive(Debug)]
pub struct Head {
    copy: CopyId,
    policy: Policy,
    /// The nodes that other nodes can feed; `None` for all. The head feeds the rest, and nodes that
    /// join.
    reached: Option<BTreeSet<NodeId>>,
    /// The names of the nodes, for messages.
    names: Vec<String>,
    /// The number of planned nodes including the head. Nodes from this index on were added to all
    /// lanes later.
    planned: usize,
    nodes: Vec<Node>,
    addresses: Vec<NodeAddress>,
    rails: Vec<u16>,
    /// The number of reports since the lanes' rates were last compared.
    reports: usize,
    /// The size of a block in bytes.
    block_size: u32,
    /// The number of blocks; the maximum number of a stream.
    blocks: u64,
    lanes: Vec<LaneState>,
    /// Nodes that were taken out of the chain for being slow; they do not feed others.
    slow: BTreeSet<NodeId>,
    /// For each receiver, in the order of nodes, the digest that its bytes must have; empty until
    /// known.
    roots: Vec<[u8; 32]>,
    faults: Faults,
    liveness: Liveness,
    /// How long nothing has moved.
    idleness: Idleness,
    admission: Admission,
    milestones: Milestones,
    /// The time after which agents that were ordered to close the copy are no longer awaited, in
    /// monotonic nanoseconds; `None` before the order.
    closing_until: Option<u64>,
    /// Whether the nodes are sources, and the head is the destination.
    gathers: bool,
    /// Suspected nodes that are still in their lanes. The order to begin must have its routes.
    bypassing: Vec<NodeId>,
    /// Nodes that are still being reached, and may join: the copy is not over before that is
    /// settled.
    awaited: BTreeSet<NodeId>,
    /// Sources that have delivered everything, with their reports: they complete when the file on
    /// the head's machine is committed.
    delivered: BTreeMap<NodeId, Box<Report>>,
    /// Whether the nodes were ordered to begin.
    has_begun: bool,
    /// Whether all nodes have prepared and were ordered to commit.
    committing: bool,
    /// Whether all nodes have committed and were ordered to remove the files that they replaced.
    settled: bool,
    interrupted: bool,
    finished: bool,
    /// The time of the present event, in monotonic nanoseconds.
    now: u64,
    orders: VecDeque<HeadOrder>,
}

impl Head {
    /// Has the head feed all nodes that are not among `reached`: no other node reaches them. To be
    /// called before the copy begins.
    pub fn feed_unreached(&mut self, reached: BTreeSet<NodeId>) {
        self.reached = Some(reached);
    }

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
        let receivers = plan.nodes.len() - 1;
        let mut liveness = Liveness::new(policy.suspect_after_ns, policy.dead_after_ns);
        (1..).map(NodeId).take(receivers).for_each(|id| liveness.watch(now, id));
        Self {
            copy,
            policy,
            reached: None,
            names: plan.nodes.iter().map(|node| node.name.clone()).collect(),
            planned: plan.nodes.len(),
            nodes: plan.nodes.iter().map(|_| Node::new(now)).collect(),
            addresses,
            block_size: plan.layout.block_size,
            blocks: plan.layout.blocks(),
            rails: plan.lanes.iter().map(|lane| lane.rail).collect(),
            reports: 0,
            lanes: plan.lanes.iter().map(LaneState::new).collect(),
            slow: BTreeSet::new(),
            roots: Vec::new(),
            faults: Faults::default(),
            liveness,
            idleness: Idleness::new(now),
            admission: Admission::default(),
            milestones: Milestones::new(receivers),
            closing_until: None,
            gathers: plan.lanes.iter().any(|lane| lane.route.first() != HEAD),
            bypassing: Vec::new(),
            awaited: BTreeSet::new(),
            delivered: BTreeMap::new(),
            has_begun: false,
            committing: false,
            settled: false,
            interrupted: false,
            finished: false,
            now,
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

    /// Returns the digest that each node's bytes must have, in the order of the nodes; empty as
    /// long as they are not known.
    #[must_use]
    pub fn roots(&self) -> &[[u8; 32]] {
        &self.roots
    }

    /// Returns the number of leading blocks that all remaining nodes have. Suspected nodes count:
    /// otherwise the blocks that they lack could be released.
    #[must_use]
    pub fn held_by_all(&self) -> u64 {
        let others = self.nodes.iter().skip(1).filter(|node| !node.left);
        others.map(|node| node.report.whole).min().unwrap_or(u64::MAX)
    }

    /// Whether no node lacks a block any more, but for those that were set aside as slow, or that
    /// came later than the others.
    #[must_use]
    pub fn is_nothing_lacking(&self) -> bool {
        self.nodes.iter().skip(1).all(|node| {
            let has_all = !matches!(node.state, NodeState::Joining | NodeState::Ready);
            has_all || node.late || node.detached || node.slow.is_some()
        })
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

    /// Returns the name of a node; empty if there is none.
    #[must_use]
    pub fn name_of(&self, node: NodeId) -> &str {
        self.names.get(node.index()).map_or("", String::as_str)
    }

    /// Returns the nodes that the copy waits for, because other copies use their agents' memory.
    #[must_use]
    pub fn waited_for(&self) -> Vec<NodeId> {
        self.admission.waited_for()
    }

    /// Whether all nodes have verdicts, or the user interrupted the copy: no node may join it.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.finished || self.interrupted
    }

    /// Whether the user interrupted the copy.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    /// Returns the times of the phases of a copy that was closed at `closed`.
    #[must_use]
    pub fn moments(&self, closed: u64) -> Moments {
        self.milestones.moments(self.admission.waited(), closed)
    }

    /// Returns the corrupt blocks, each with the hop that corrupted it: the hop to the first node
    /// of the planned route that received the block corrupt.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        self.faults.blocks(&self.lanes)
    }

    /// Returns the hops that corrupted frames, in the order of the reports.
    #[must_use]
    pub fn bad_frames(&self) -> &[BadFrame] {
        self.faults.frames()
    }

    /// Returns the nodes that reported more corrupt blocks and frames than are kept.
    #[must_use]
    pub fn faults_cut_short(&self) -> Vec<NodeId> {
        self.faults.cut_short()
    }

    fn bad_block(&mut self, by: NodeId, index: u64) {
        if self.lanes.iter().any(|lane| lane.blocks.ordinal(index).is_some()) {
            self.faults.add_block(index, by);
        }
    }

    fn bad_frame(&mut self, by: NodeId, lane: u16, epoch: u32, side: LinkSide) {
        let lane = self.lanes.get(usize::from(lane));
        if let Some((near, far)) = lane.and_then(|lane| lane.ends(by, epoch, side)) {
            self.faults.add_frame(by, near, far, side);
        }
    }

    /// Returns the time of the next `Tick` in nanoseconds; `None` if none is due.
    #[must_use]
    pub fn deadline(&self) -> Option<u64> {
        if let Some(until) = self.closing_until {
            return self.liveness.due().map(|due| due.min(until)).filter(|_| !self.is_closed());
        }
        let retries = self.lanes.iter().flat_map(|lane| lane.retries.values());
        let retries = retries.filter_map(|retry| retry.due);
        let bypass = Some(self.now).filter(|_| self.has_begun && !self.bypassing.is_empty());
        let times = retries.chain(self.liveness.due()).chain(bypass).chain(self.admission.due());
        times.min().filter(|_| !self.finished)
    }

    /// Handles an event at `now` (nanoseconds of a monotonic clock).
    pub fn handle(&mut self, now: u64, event: HeadEvent) {
        self.now = now;
        match event {
            HeadEvent::Begin => self.begin(),
            HeadEvent::From(node, message) => {
                self.hear(now, node);
                self.message(now, node, message);
            }
            HeadEvent::Heard(node) => self.hear(now, node),
            HeadEvent::Unavailable(node, reason) => self.miss(node, reason),
            HeadEvent::Awaited(node) => self.wait_for(node),
            HeadEvent::Lost(node, reason) => self.lose(node, reason),
            HeadEvent::Sent => self.milestones.sent(now),
            HeadEvent::SourceRead(root) => self.set_roots(&vec![root; self.nodes.len() - 1]),
            HeadEvent::PartsKnown(roots) => {
                // Before any node may commit: its stripe counts only with the manifest.
                self.orders.extend(self.receivers().map(HeadOrder::Attach));
                self.set_roots(&roots);
            }
            HeadEvent::FirstReceived => {
                self.receivers().for_each(|id| self.milestones.reach(now, id, Milestone::First))
            }
            HeadEvent::Received { roots, manifest } => self.receive(now, &roots, &manifest),
            HeadEvent::Stored(stored) => self.stored(stored),
            HeadEvent::Bad(index) => self.bad_block(HEAD, index),
            HeadEvent::SourceFailed(reason) => self.give_up(&reason),
            HeadEvent::Outdated(lane, epochs, reason) => self.outdated(lane, &epochs, &reason),
            HeadEvent::LinkLost(lane, epoch, reason) => {
                let side = self.own_side(lane);
                self.link_lost(now, HEAD, lane, epoch, side, reason);
            }
            HeadEvent::BadFrame(lane, epoch) => {
                self.bad_frame(HEAD, lane, epoch, self.own_side(lane));
            }
            HeadEvent::Added(name, agent) => self.add(now, name, agent),
            HeadEvent::Joined(node, address) => self.join(now, node, address),
            HeadEvent::Own(report) => {
                self.judge_own_call(&report);
                self.nodes[HEAD.index()].report = report;
                self.nodes[HEAD.index()].reported = now;
                self.judge_taking(now, HEAD);
            }
            HeadEvent::Interrupted => {
                self.interrupted = true;
                self.give_up("interrupted");
            }
            // Time during which the head was suspended does not count as silence of nodes.
            HeadEvent::Slept(ns) => {
                self.liveness.excuse(ns);
                self.idleness.excuse(ns);
            }
            HeadEvent::Tick => self.tick(now),
            HeadEvent::Close => self.close(now),
        }
        self.conclude();
    }

    /// Completes the handling of an event: fails nodes without a feeder, ends the copy if all nodes
    /// have verdicts, and continues to queue for memory.
    fn conclude(&mut self) {
        self.fail_unfed();
        self.finish();
        self.advance_queue();
        if !self.has_begun && self.closing_until.is_none() {
            // Nodes know nothing of the copy yet. The order to begin will contain its state.
            let stays =
                |order: &HeadOrder| !matches!(order, HeadOrder::Send(..) | HeadOrder::Route(_));
            self.orders.retain(stays);
        }
    }

    /// Handles the loss of a control channel, which does not matter if the node has delivered
    /// everything.
    fn lose(&mut self, id: NodeId, reason: String) {
        self.nodes[id.index()].lost = true;
        self.liveness.forget(id);
        if !self.delivered.contains_key(&id) {
            self.take_out(id, NodeState::Dead(reason));
        }
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
            FromAgent::Heartbeat(reports) => {
                let its = reports.into_iter().find(|(of, _)| *of == copy);
                let Some((_, report)) = its else { return };
                let report = self.bounded(report);
                self.judge_disk(now, id, report);
                self.nodes[at].reported = now;
                self.judge_call(id);
                self.judge_hops(now);
                self.share_rails(now);
                if self.closing_until.is_some() && self.hangs_in(id).is_some() {
                    self.liveness.forget(id);
                }
                self.judge_progress(now, id);
                self.judge_taking(now, id);
            }
            FromAgent::Busy(of, _) if of == copy && self.nodes[at].state == NodeState::Joining => {
                self.refuse(now, id);
            }
            FromAgent::Admitted(of) if of == copy => self.admission.grant(id),
            FromAgent::Ready(of) if of == copy && self.nodes[at].state == NodeState::Joining => {
                self.set_state(id, NodeState::Ready);
            }
            FromAgent::First(of) if of == copy => {
                self.milestones.reach(now, id, Milestone::First);
            }
            FromAgent::Absent(of, absence) if of == copy => {
                self.nodes[at].absence.add(absence, self.policy.absence_max);
            }
            FromAgent::Closed(of) if of == copy => {
                self.nodes[at].closed = true;
                if self.closing_until.is_some() {
                    self.liveness.forget(id);
                }
            }
            FromAgent::LinkLost { copy: of, lane, epoch, side, reason } if of == copy => {
                self.link_lost(now, id, lane, epoch, side, reason);
            }
            FromAgent::Bad(of, index) if of == copy => {
                self.bad_block(id, index);
            }
            FromAgent::BadFrame { copy: of, lane, epoch, side } if of == copy => {
                self.bad_frame(id, lane, epoch, side);
            }
            FromAgent::Complete(of, root, report) if of == copy => {
                self.complete(now, id, root, report);
            }
            FromAgent::Prepared(of)
                if of == copy && self.nodes[at].state == NodeState::Complete =>
            {
                self.prepared(id);
            }
            FromAgent::Committed(of, report) if of == copy && self.may_commit(at) => {
                match self.gathers {
                    true => self.deliver(id, report),
                    false => self.committed(id, report),
                }
            }
            FromAgent::Failed(of, reason) if of == copy => {
                self.nodes[id.index()].commits = false;
                self.take_out(id, NodeState::Failed(reason));
            }
            _ => {}
        }
    }

    /// Handles a node's message that it has every block, or, if it is a source, that it has sent
    /// every block.
    fn complete(&mut self, now: u64, id: NodeId, root: [u8; 32], report: Box<Report>) {
        if self.gathers {
            self.milestones.sent(now);
        } else {
            self.milestones.reach(now, id, Milestone::Held);
        }
        let report = self.bounded(*report);
        let node = &mut self.nodes[id.index()];
        node.held_ns = Some(now).filter(|_| !self.gathers).or(node.held_ns);
        node.root = Some(root);
        node.report = report;
        // A node that failed in the meantime stays failed.
        if matches!(node.state, NodeState::Joining | NodeState::Ready) {
            self.set_state(id, NodeState::Complete);
            self.commit(vec![id]);
        }
    }

    /// Returns a node's report with no more blocks than there are: a member may report any numbers.
    fn bounded(&self, mut report: Report) -> Report {
        report.whole = report.whole.min(self.blocks);
        report.held = report.held.min(self.blocks);
        report.lanes.truncate(self.lanes.len());
        for (lane, state) in report.lanes.iter_mut().zip(&self.lanes) {
            lane.received = lane.received.min(state.blocks.len());
        }
        report
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
        let Silent { suspects, dead } = self.liveness.take_silent(now);
        if self.closing_until.is_some() {
            return;
        }
        self.bypassing.extend(suspects);
        if self.has_begun {
            self.bypass_suspects();
        }
        for (id, ns) in dead {
            let before = self.nodes[id.index()].last_report.take();
            let word = self.neighbours_report(id).or(before).unwrap_or_default();
            let reason = liveness::silence(ns) + &word;
            self.take_out(id, NodeState::Dead(reason));
        }
        self.judge_idleness(now);
        for lane in 0..self.lanes.len() {
            self.retry_links(now, lane);
        }
    }
}
