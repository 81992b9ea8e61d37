//! The head machine: one copy as its head sees it. It decides who is alive, who feeds whom, who is
//! done and why not. Control is a star: every agent reports here, and no verdict waits for the chain.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::frame::Copy;
use super::message::{FromAgent, LinkSide, NodeAddress, Report, Route, ToAgent};
use crate::plan::{HEAD, NodeId, Plan};

/// How long a link may be reported broken while both its ends live before it is tried anew.
const RETRY_NS: u64 = 300_000_000;

/// How often a link is tried anew before its far end is given up.
const RETRIES: u32 = 3;

/// A link that held for so long after it was tried anew is as good as one that never broke.
const FORGIVE_NS: u64 = 10_000_000_000;

/// What the head may decide by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Nanoseconds without a word after which a node counts as dead.
    pub silence_ns: u64,
    /// How many nodes may be told to drop what their disk can't take.
    pub detached_max: usize,
}

impl Policy {
    /// What suits `receivers` nodes on one site: dead after 1.2 s of silence, so that splicing ends
    /// within 2 s; one node in twenty, and at least one, may be detached.
    #[must_use]
    pub fn for_nodes(receivers: usize) -> Self {
        Self { silence_ns: 1_200_000_000, detached_max: (receivers / 20).max(1) }
    }
}

/// Where a node stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// Told of the copy.
    Joining,
    /// Its destination is open.
    Ready,
    /// It holds every block.
    Complete,
    /// Its file has its final name.
    Committed,
    /// It can't go on.
    Failed(String),
    /// It is gone.
    Dead(String),
}

/// How a node ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The whole file is there.
    Ok,
    /// It isn't, and why.
    Failed(String),
    /// The node died, and how it was noticed.
    Dead(String),
}

/// What happened.
#[derive(Clone, Debug)]
pub enum HeadEvent {
    /// A message from a node's agent.
    From(NodeId, FromAgent),
    /// The control connection to a node is gone.
    Lost(NodeId, String),
    /// The whole source has been read, is unchanged, and has this digest.
    SourceRead([u8; 32]),
    /// The source can't be read on, or has changed.
    SourceFailed(String),
    /// The head's own first link broke.
    LinkLost(u16, u32, String),
    /// A frame came in changed over the head's own first link.
    BadFrame(u16, u32),
    /// The user gave up.
    Interrupted,
    /// For so many nanoseconds the head itself couldn't listen: it was stopped, or its machine was.
    Slept(u64),
    /// Time went by.
    Tick,
}

/// What to do.
#[derive(Clone, Debug)]
pub enum HeadOrder {
    /// Send this to a node.
    Send(NodeId, ToAgent),
    /// The head's own first hop of a lane has changed.
    Route(Route),
    /// The copy is over: every node has its verdict.
    Finished,
}

/// A changed block and the hop where it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The block.
    pub index: u64,
    /// The node that sent it, as far as the head knows the chain.
    pub from: NodeId,
    /// The node where it arrived changed.
    pub to: NodeId,
}

/// A hop where a frame came in changed: which block it spoke of isn't known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadFrame {
    /// The node that sent it.
    pub from: NodeId,
    /// The node where it arrived changed.
    pub to: NodeId,
}

#[derive(Debug)]
struct Node {
    state: NodeState,
    last_seen: u64,
    report: Report,
    /// The report and time that the next judgement of its disk is measured from.
    mark: (u64, u64),
    detached: bool,
    /// Its disk held the others up for more than half of the last window.
    held_up: bool,
    /// It is off every chain, and no word from it is waited for.
    left: bool,
    root: Option<[u8; 32]>,
}

/// A link that broke while both its ends lived.
#[derive(Debug, Clone, Copy, Default)]
struct Retry {
    /// When it is tried anew, if it isn't being tried now.
    due: Option<u64>,
    /// How often it was tried since it last held for long.
    tries: u32,
    /// When it was tried last.
    tried: u64,
}

#[derive(Debug, Default)]
struct LaneState {
    /// As planned.
    route: Vec<NodeId>,
    /// Who is still on it.
    chain: Vec<NodeId>,
    /// The epoch of the link that ends at each node of the chain.
    epochs: BTreeMap<NodeId, u32>,
    next_epoch: u32,
    /// Links that broke, by their far end.
    retries: BTreeMap<NodeId, Retry>,
    /// Nodes that couldn't reach the node behind them, which was failed for it.
    unreached: BTreeSet<NodeId>,
}

/// One copy.
#[derive(Debug)]
pub struct Head {
    copy: Copy,
    policy: Policy,
    nodes: Vec<Node>,
    addresses: Vec<NodeAddress>,
    rails: Vec<u16>,
    lanes: Vec<LaneState>,
    root: Option<[u8; 32]>,
    faults: BTreeMap<u64, Vec<NodeId>>,
    bad_frames: Vec<BadFrame>,
    finished: bool,
    orders: VecDeque<HeadOrder>,
}

impl Head {
    /// A copy by `plan` to agents that listen at `addresses` (by `NodeId`; the head's is not used).
    #[must_use]
    pub fn new(
        copy: Copy,
        plan: &Plan,
        addresses: Vec<NodeAddress>,
        policy: Policy,
        now: u64,
    ) -> Self {
        let node = || Node {
            state: NodeState::Joining,
            last_seen: now,
            report: Report::default(),
            mark: (now, 0),
            detached: false,
            held_up: false,
            left: false,
            root: None,
        };
        let mut head = Self {
            copy,
            policy,
            nodes: plan.nodes.iter().map(|_| node()).collect(),
            addresses,
            rails: plan.lanes.iter().map(|lane| lane.rail).collect(),
            lanes: Vec::new(),
            root: None,
            faults: BTreeMap::new(),
            bad_frames: Vec::new(),
            finished: false,
            orders: VecDeque::new(),
        };
        for lane in &plan.lanes {
            let mut state = LaneState {
                route: lane.route.clone(),
                chain: lane.route.clone(),
                ..LaneState::default()
            };
            for &node in lane.route.iter().skip(1) {
                state.next_epoch += 1;
                state.epochs.insert(node, state.next_epoch);
            }
            head.lanes.push(state);
        }
        head
    }

    /// A node's hops in every lane, as they stand now.
    #[must_use]
    pub fn routes(&self, node: NodeId) -> Vec<Route> {
        (0..self.lanes.len()).filter_map(|lane| self.route_of(lane, node)).collect()
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

    /// Whether a node was told to drop what its disk can't take.
    #[must_use]
    pub fn is_detached(&self, node: NodeId) -> bool {
        self.nodes[node.index()].detached
    }

    /// How a node ended; `None` while it hasn't.
    #[must_use]
    pub fn verdict(&self, node: NodeId) -> Option<Verdict> {
        match &self.nodes[node.index()].state {
            NodeState::Committed => Some(Verdict::Ok),
            NodeState::Failed(reason) => Some(Verdict::Failed(reason.clone())),
            NodeState::Dead(reason) => Some(Verdict::Dead(reason.clone())),
            NodeState::Joining | NodeState::Ready | NodeState::Complete => None,
        }
    }

    /// The changed blocks and the hop where each was found: of the nodes that saw one, the most
    /// upstream; those behind it only had it passed on.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        for (&index, seen) in &self.faults {
            let lane = usize::try_from(index).unwrap_or(0) % self.lanes.len().max(1);
            let chain = &self.lanes[lane].route;
            let place = |node: &NodeId| chain.iter().position(|other| other == node);
            let Some(first) = seen.iter().filter_map(place).min() else { continue };
            faults.push(Fault { index, from: chain[first.saturating_sub(1)], to: chain[first] });
        }
        faults
    }

    /// The hops where frames came in changed, in the order of their reports.
    #[must_use]
    pub fn bad_frames(&self) -> &[BadFrame] {
        &self.bad_frames
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
            HeadEvent::SourceRead(root) => {
                self.root = Some(root);
                (1..self.nodes.len()).for_each(|at| self.commit(at));
            }
            HeadEvent::SourceFailed(reason) => self.give_up(&reason),
            HeadEvent::LinkLost(lane, epoch, _) => {
                self.link_lost(now, HEAD, lane, epoch, LinkSide::Down);
            }
            HeadEvent::BadFrame(lane, epoch) => self.bad_frame(HEAD, lane, epoch, LinkSide::Down),
            HeadEvent::Interrupted => self.give_up("interrupted"),
            // Who was silent then may have spoken: nobody is dead because the head was.
            HeadEvent::Slept(ns) => self.nodes.iter_mut().for_each(|node| node.last_seen += ns),
            HeadEvent::Tick => self.tick(now),
        }
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
            FromAgent::Heartbeat(Some(report)) => self.judge_disk(now, id, report),
            FromAgent::Ready(of) if of == copy && self.nodes[at].state == NodeState::Joining => {
                self.nodes[at].state = NodeState::Ready;
            }
            FromAgent::LinkLost { copy: of, lane, epoch, side, .. } if of == copy => {
                self.link_lost(now, id, lane, epoch, side);
            }
            FromAgent::Bad(of, index) if of == copy => {
                let seen = self.faults.entry(index).or_default();
                if !seen.contains(&id) {
                    seen.push(id);
                }
            }
            FromAgent::BadFrame { copy: of, lane, epoch, side } if of == copy => {
                self.bad_frame(id, lane, epoch, side);
            }
            FromAgent::Complete(of, root, report) if of == copy => {
                self.nodes[at].root = Some(root);
                self.nodes[at].report = report;
                if self.is_alive(at) && self.nodes[at].state != NodeState::Committed {
                    self.nodes[at].state = NodeState::Complete;
                    self.commit(at);
                }
            }
            FromAgent::Committed(of, report) if of == copy && self.is_alive(at) => {
                self.nodes[at].report = report;
                self.nodes[at].state = NodeState::Committed;
            }
            FromAgent::Failed(of, reason) if of == copy => {
                self.gone(id, NodeState::Failed(reason));
            }
            _ => {}
        }
    }

    /// Lets a node complete once the whole source has been read and proved unchanged.
    fn commit(&mut self, at: usize) {
        let (Some(root), Some(theirs)) = (self.root, self.nodes[at].root) else { return };
        if self.nodes[at].state != NodeState::Complete {
            return;
        }
        let id = NodeId(u32::try_from(at).expect("a plan has fewer nodes"));
        if root == theirs {
            self.orders.push_back(HeadOrder::Send(id, ToAgent::Commit(self.copy, root)));
        } else {
            let reason = "its blocks are not those of the source".to_owned();
            self.gone(id, NodeState::Failed(reason));
        }
    }

    /// Detaches a node whose disk held the others up for more than half of the last second, unless
    /// most disks do: then the disks are the limit, and dropping blocks would only double the work.
    fn judge_disk(&mut self, now: u64, id: NodeId, report: Report) {
        const WINDOW_NS: u64 = 500_000_000;
        let detached = self.nodes.iter().filter(|node| node.detached).count();
        let slow = self.nodes.iter().filter(|node| node.held_up).count();
        let alone = slow * 2 < self.nodes.len();
        let may = detached < self.policy.detached_max && self.nodes.len() > 2 && alone;
        let node = &mut self.nodes[id.index()];
        let (since, stalled) = node.mark;
        if now.saturating_sub(since) >= WINDOW_NS {
            let share = report.stalled_ns.saturating_sub(stalled);
            let held_up_before = std::mem::replace(&mut node.held_up, share * 2 > now - since);
            // Twice in a row: once may be a disk's hiccup.
            if may && !node.detached && node.held_up && held_up_before {
                node.detached = true;
                self.orders.push_back(HeadOrder::Send(id, ToAgent::Detach(self.copy)));
            }
            node.mark = (now, report.stalled_ns);
        }
        node.report = report;
    }

    fn link_lost(&mut self, now: u64, by: NodeId, lane: u16, epoch: u32, side: LinkSide) {
        let Some((_, far)) = self.ends_of(by, lane, epoch, side) else { return };
        let retry = self.lanes[usize::from(lane)].retries.entry(far).or_default();
        if now.saturating_sub(retry.tried) >= FORGIVE_NS {
            retry.tries = 0;
        }
        // A death makes itself known within moments: wait for it before trying the link anew.
        retry.due = Some(now + RETRY_NS);
    }

    /// The near and far end of the link of `epoch` on that side of a node; `None` when the chain
    /// has changed since.
    fn ends_of(
        &self,
        by: NodeId,
        lane: u16,
        epoch: u32,
        side: LinkSide,
    ) -> Option<(NodeId, NodeId)> {
        let state = self.lanes.get(usize::from(lane))?;
        let place = state.chain.iter().position(|&node| node == by)?;
        let near = match side {
            LinkSide::Up => place.checked_sub(1)?,
            LinkSide::Down => place,
        };
        let far = *state.chain.get(near + 1)?;
        (state.epochs.get(&far) == Some(&epoch)).then_some((state.chain[near], far))
    }

    fn bad_frame(&mut self, by: NodeId, lane: u16, epoch: u32, side: LinkSide) {
        if let Some((near, far)) = self.ends_of(by, lane, epoch, side) {
            let (from, to) = match side {
                LinkSide::Up => (near, far),
                LinkSide::Down => (far, near),
            };
            self.bad_frames.push(BadFrame { from, to });
        }
    }

    fn tick(&mut self, now: u64) {
        for at in 1..self.nodes.len() {
            let silent = now.saturating_sub(self.nodes[at].last_seen);
            if self.is_alive(at) && silent >= self.policy.silence_ns {
                let id = NodeId(u32::try_from(at).expect("a plan has fewer nodes"));
                let reason = format!("no word from it for {} ms", silent / 1_000_000);
                self.gone(id, NodeState::Dead(reason));
            }
        }
        for lane in 0..self.lanes.len() {
            self.retry_links(now, lane);
        }
    }

    fn retry_links(&mut self, now: u64, lane: usize) {
        let state = &mut self.lanes[lane];
        let is_due = |retry: &Retry| retry.due.is_some_and(|due| due <= now);
        let due = state.retries.iter().filter(|(_, retry)| is_due(retry));
        let due: Vec<(NodeId, u32)> = due.map(|(&far, retry)| (far, retry.tries)).collect();
        for (far, tries) in due {
            if tries >= RETRIES {
                self.give_up_link(lane, far);
                continue;
            }
            let state = &mut self.lanes[lane];
            // The next loss of this link says when it is due again.
            state.retries.insert(far, Retry { due: None, tries: tries + 1, tried: now });
            let Some(place) = state.chain.iter().position(|&node| node == far) else { continue };
            let near = state.chain[place - 1];
            state.next_epoch += 1;
            state.epochs.insert(far, state.next_epoch);
            self.send_route(lane, near);
            self.send_route(lane, far);
        }
    }

    /// Fails one end of a link that can't be had: the far one, unless the near one couldn't reach
    /// another before, for then everyone behind it would be failed in its stead.
    fn give_up_link(&mut self, lane: usize, far: NodeId) {
        let state = &mut self.lanes[lane];
        let place = state.chain.iter().position(|&node| node == far);
        let near = place.and_then(|place| state.chain.get(place.checked_sub(1)?).copied());
        if let Some(near) = near.filter(|&near| near != HEAD)
            && !state.unreached.insert(near)
        {
            let reason = "it reaches none of the nodes behind it (is a firewall between?)";
            return self.gone(near, NodeState::Failed(reason.to_owned()));
        }
        let reason = format!("its upstream can't reach it ({RETRIES} tries)");
        self.gone(far, NodeState::Failed(reason));
    }

    /// Takes a node off every chain. What it had committed stays committed.
    fn gone(&mut self, id: NodeId, state: NodeState) {
        let node = &mut self.nodes[id.index()];
        if std::mem::replace(&mut node.left, true) {
            return;
        }
        let alive = !matches!(state, NodeState::Dead(_));
        if node.state != NodeState::Committed {
            node.state = state;
            if alive {
                self.orders.push_back(HeadOrder::Send(id, ToAgent::Close(self.copy)));
            }
        }
        for lane in 0..self.lanes.len() {
            self.splice(lane, id);
        }
    }

    fn splice(&mut self, lane: usize, id: NodeId) {
        let state = &mut self.lanes[lane];
        let Some(place) = state.chain.iter().position(|&node| node == id) else { return };
        state.chain.remove(place);
        state.epochs.remove(&id);
        state.retries.remove(&id);
        let near = state.chain[place - 1];
        let far = state.chain.get(place).copied();
        if let Some(far) = far {
            state.next_epoch += 1;
            state.epochs.insert(far, state.next_epoch);
            state.retries.remove(&far);
        }
        self.send_route(lane, near);
        if let Some(far) = far {
            self.send_route(lane, far);
        }
    }

    fn send_route(&mut self, lane: usize, node: NodeId) {
        let Some(route) = self.route_of(lane, node) else { return };
        self.orders.push_back(if node == HEAD {
            HeadOrder::Route(route)
        } else {
            HeadOrder::Send(node, ToAgent::Route(self.copy, route))
        });
    }

    fn route_of(&self, lane: usize, node: NodeId) -> Option<Route> {
        let state = &self.lanes[lane];
        let place = state.chain.iter().position(|&other| other == node)?;
        let upstream = (place > 0).then(|| (state.chain[place - 1], state.epochs[&node]));
        let downstream = state.chain.get(place + 1).and_then(|&far| {
            let addresses = self.addresses.get(far.index())?;
            let rail = usize::from(self.rails[lane]).min(addresses.len().checked_sub(1)?);
            Some((far, state.epochs[&far], addresses[rail]))
        });
        Some(Route { lane: u16::try_from(lane).ok()?, upstream, downstream })
    }

    /// Ends the copy for everyone who hasn't got it.
    fn give_up(&mut self, reason: &str) {
        for at in 1..self.nodes.len() {
            let id = NodeId(u32::try_from(at).expect("a plan has fewer nodes"));
            if self.verdict(id).is_none() {
                self.nodes[at].state = NodeState::Failed(reason.to_owned());
                self.orders.push_back(HeadOrder::Send(id, ToAgent::Close(self.copy)));
            }
        }
    }

    fn finish(&mut self) {
        let all = (1..self.nodes.len())
            .all(|at| self.verdict(NodeId(u32::try_from(at).unwrap_or(0))).is_some());
        if all && !self.finished {
            self.finished = true;
            self.orders.push_back(HeadOrder::Finished);
        }
    }

    fn is_alive(&self, at: usize) -> bool {
        !self.nodes[at].left
    }
}
