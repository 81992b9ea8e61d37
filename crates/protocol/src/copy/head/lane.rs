//! The present state of a lane: the tree of its nodes, and the epochs of their links.

use std::collections::{BTreeMap, BTreeSet};

use garland_core::plan::{self, LaneBlocks, NodeId};

use super::watch::Watch;
use crate::copy::relay::RESUME_WITHIN_NS;
use crate::copy::route::LinkSide;

/// A node that feeds this many others does not become the feeder of a leaving node's downstreams.
const FED_MAX: usize = 16;

/// The time in nanoseconds from the loss of a link to the next attempt. By then a dead node is
/// known to be dead.
const RETRY_NS: u64 = 300_000_000;

/// The number of attempts after which a link is given up, and one of its ends fails.
pub(super) const RETRIES: u32 = 3;

/// The longest time in nanoseconds that opening a link takes: connecting, and the answer of its
/// other end.
const OPENING_NS: u64 = 4_000_000_000;

/// The longest time in nanoseconds that opening a link takes if the connection needs a login.
const OPENING_BY_LOGIN_NS: u64 = 10_000_000_000;

/// The time in nanoseconds that a link must hold after an attempt to count as healthy again.
pub(super) const FORGIVE_NS: u64 = 10_000_000_000;

/// The time in nanoseconds for which a link that may need a login must hold to count as healthy.
pub(super) const FORGIVE_BY_LOGIN_NS: u64 = 16_000_000_000;

// A link whose other end never asks for blocks is given up after the attempts, and not tried for
// ever.
const _: () = assert!(FORGIVE_NS > RESUME_WITHIN_NS + OPENING_NS);
const _: () = assert!(FORGIVE_BY_LOGIN_NS > RESUME_WITHIN_NS + OPENING_BY_LOGIN_NS);

/// The present state of a lane.
#[derive(Debug)]
pub(super) struct LaneState {
    /// The lane's blocks.
    pub(super) blocks: LaneBlocks,
    /// The planned route.
    pub(super) route: plan::Route,
    /// The nodes that are still on the lane, each after its feeder.
    pub(super) nodes: Vec<NodeId>,
    /// The feeder of each node; the first node has none.
    pub(super) feeders: BTreeMap<NodeId, NodeId>,
    /// Nodes that are fed on the side: the lane does not wait for them.
    pub(super) side_fed: BTreeSet<NodeId>,
    /// The epoch of the link to each node.
    pub(super) epochs: BTreeMap<NodeId, u32>,
    next_epoch: u32,
    /// The measurements that find the hop that slows the lane down.
    pub(super) watch: Watch,
    /// The nodes that take nothing from their feeders.
    pub(super) untaken: BTreeMap<NodeId, Untaken>,
    /// Broken links, by the node at their far end.
    pub(super) retries: BTreeMap<NodeId, Retry>,
    /// When the lane began and ended.
    pub(super) pace: Pace,
    /// For each node to which a link failed before: by how many rails the link is now moved from
    /// the planned rail.
    pub(super) detours: BTreeMap<NodeId, usize>,
    /// For each node that could not reach one of its downstreams: that downstream.
    pub(super) unreached: BTreeMap<NodeId, NodeId>,
    /// For each node to which a link was given up: the feeder, and why. It was given another one.
    pub(super) given_up: BTreeMap<NodeId, (NodeId, String)>,
    /// Whether a node may have lost its feeder.
    pub(super) may_starve: bool,
}

/// Since when a node takes nothing, in monotonic nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Untaken {
    /// Since when its feeder says so all the time.
    pub(super) since: u64,
    /// Since when the node has no excuse: it did not say meanwhile that others hold it up. `None`
    /// if it says so, or has said nothing else yet than that its disk hangs.
    pub(super) alone_since: Option<u64>,
}

impl LaneState {
    /// Creates the state of a lane as planned.
    pub(super) fn new(lane: &plan::Lane) -> Self {
        let far = lane.route.nodes().iter().skip(1);
        let epochs: BTreeMap<NodeId, u32> = far.copied().zip(1..).collect();
        Self {
            blocks: lane.blocks,
            nodes: lane.route.nodes().to_vec(),
            feeders: lane.route.hops().map(|(near, far)| (far, near)).collect(),
            side_fed: BTreeSet::new(),
            next_epoch: u32::try_from(epochs.len()).unwrap_or(u32::MAX),
            epochs,
            watch: Watch::default(),
            untaken: BTreeMap::new(),
            pace: Pace::default(),
            detours: BTreeMap::new(),
            retries: BTreeMap::new(),
            unreached: BTreeMap::new(),
            given_up: BTreeMap::new(),
            may_starve: false,
            route: lane.route.clone(),
        }
    }

    /// Returns the nodes that a node feeds.
    pub(super) fn fed_by(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        let nodes = self.nodes.iter().copied();
        nodes.filter(move |other| self.feeders.get(other) == Some(&node))
    }

    /// Gives the link to a node a new epoch: after a break, but also for another feeder and for
    /// another rail.
    pub(super) fn renew(&mut self, far: NodeId) {
        self.next_epoch += 1;
        self.epochs.insert(far, self.next_epoch);
    }

    /// Makes `near` the feeder of a node, in the chain or on the side; `None` leaves the node
    /// without a feeder.
    pub(super) fn attach(&mut self, node: NodeId, near: Option<NodeId>, on_side: bool) {
        match near {
            Some(near) => self.feeders.insert(node, near),
            None => self.feeders.remove(&node),
        };
        self.may_starve |= near.is_none();
        if on_side {
            self.side_fed.insert(node);
            // Each node comes after its feeder.
            self.nodes.retain(|&other| other != node);
            self.nodes.push(node);
        } else {
            self.side_fed.remove(&node);
        }
        self.renew(node);
        self.retries.remove(&node);
    }

    /// Returns the near and far end of the link with `epoch` on the side `side` of the node `by`;
    /// `None` if the link is no longer part of the lane.
    pub(super) fn ends(&self, by: NodeId, epoch: u32, side: LinkSide) -> Option<(NodeId, NodeId)> {
        let of_epoch = |far: &NodeId| self.epochs.get(far) == Some(&epoch);
        let far = match side {
            LinkSide::Up => Some(by).filter(of_epoch)?,
            LinkSide::Down => self.fed_by(by).find(of_epoch)?,
        };
        Some((*self.feeders.get(&far)?, far))
    }

    /// Whether a node gets its blocks, directly or indirectly, from `other`.
    pub(super) fn is_behind(&self, node: NodeId, other: NodeId) -> bool {
        let mut feeders =
            std::iter::successors(Some(node), |node| self.feeders.get(node).copied()).skip(1);
        feeders.any(|near| near == other)
    }

    /// Returns the number of nodes that `node` feeds, not counting the node `of`.
    pub(super) fn load(&self, node: NodeId, of: NodeId) -> usize {
        self.fed_by(node).filter(|&fed| fed != of).count()
    }

    /// Returns the new feeder of the node `of` in the chain: `near`, unless it feeds [`FED_MAX`]
    /// nodes already; then the node of the chain that feeds the fewest.
    pub(super) fn chain_feeder(&self, of: NodeId, near: NodeId) -> NodeId {
        if self.load(near, of) < FED_MAX {
            return near;
        }
        let others = self.nodes.iter().filter(|&&node| {
            node != of && !self.side_fed.contains(&node) && !self.is_behind(node, of)
        });
        others.min_by_key(|node| self.load(**node, of)).copied().unwrap_or(near)
    }
}

/// The times of a lane's progress, which decide whether the lane moves to another rail.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pace {
    /// When the first block had arrived at all nodes.
    began: Option<u64>,
    /// When all blocks had arrived at all nodes.
    over: Option<u64>,
    /// Whether the lane was moved to another rail.
    pub(super) moved: bool,
}

impl Pace {
    /// Notes that `arrived` of `all` blocks have arrived at all nodes.
    pub(super) fn note(&mut self, now: u64, arrived: u64, all: u64) {
        if arrived > 0 {
            self.began.get_or_insert(now);
        }
        if arrived == all {
            self.over.get_or_insert(now);
        }
    }

    /// Returns the nanoseconds that the lane took on its own rail; `None` if the lane is not
    /// finished, or was moved.
    pub(super) fn span(&self) -> Option<u64> {
        let span = self.over?.saturating_sub(self.began?).max(1);
        (!self.moved).then_some(span)
    }

    /// Returns when the lane began, if it is in progress on its own rail.
    pub(super) fn running_since(&self) -> Option<u64> {
        self.began.filter(|_| self.over.is_none() && !self.moved)
    }
}

/// The attempts to reopen a link that broke while both its ends are alive.
#[derive(Debug, Clone, Default)]
pub(super) struct Retry {
    /// When the next attempt is due; `None` during an attempt.
    pub(super) due: Option<u64>,
    /// The number of attempts since the link was last healthy.
    tries: u32,
    /// When the last attempt was made.
    tried: u64,
    /// When the link was lost first since it was last healthy.
    since: Option<u64>,
    /// Why the link was lost, and the side of the reporting node that the link is on. The reason
    /// from the feeder is preferred, which usually opens the link.
    reason: Option<(LinkSide, String)>,
}

impl Retry {
    /// Notes that the link was lost. One that held for `forgive_ns` was healthy.
    pub(super) fn lost(&mut self, now: u64, side: LinkSide, reason: String, forgive_ns: u64) {
        if now.saturating_sub(self.tried) >= forgive_ns {
            self.tries = 0;
            self.since = None;
        }
        self.since.get_or_insert(now);
        let opener_spoke = matches!(self.reason, Some((LinkSide::Down, _)));
        if side == LinkSide::Down || !opener_spoke {
            self.reason = Some((side, reason));
        }
        // A further report of the same loss does not put the attempt off: an end might repeat it
        // for ever.
        self.due.get_or_insert(now + RETRY_NS);
    }

    /// Notes that the link is being reopened. `counts` tells whether that should succeed.
    pub(super) fn try_again(&mut self, now: u64, counts: bool) {
        (self.due, self.tried) = (None, now);
        self.tries += u32::from(counts);
    }

    /// Whether attempts may still fail without being counted: the link was healthy less than
    /// `limit_ns` ago.
    pub(super) fn may_be_excused(&self, now: u64, limit_ns: u64) -> bool {
        self.since.is_none_or(|since| now.saturating_sub(since) < limit_ns)
    }

    /// Whether the maximum number of attempts was made.
    pub(super) fn is_exhausted(&self) -> bool {
        self.tries >= RETRIES
    }

    /// Returns why the link was lost.
    pub(super) fn reason(&self) -> &str {
        self.reason
            .as_ref()
            .map_or("connection closed without an error message", |(_, reason)| reason)
    }

    /// Returns whether the reason is that of the link's far end.
    pub(super) fn far_end_spoke(&self) -> bool {
        matches!(self.reason, Some((LinkSide::Up, _)))
    }
}
