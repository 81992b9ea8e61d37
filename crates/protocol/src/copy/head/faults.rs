//! Corrupt blocks and frames, and the hops that corrupted them.

use std::collections::BTreeMap;

use garland_core::plan::NodeId;

use super::lane::LaneState;
use crate::copy::route::LinkSide;

/// A block that was corrupted in transit, and the hop on which this happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The index of the block.
    pub index: u64,
    /// The sender of the hop: the node that feeds `to` by the planned route.
    pub from: NodeId,
    /// The receiver of the hop: the first node of the route that received the block corrupt.
    pub to: NodeId,
}

/// A hop that corrupted a frame. It is unknown to which block the frame belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadFrame {
    /// The node that sent the frame.
    pub from: NodeId,
    /// The node that received the frame corrupt.
    pub to: NodeId,
}

/// The maximum number of reports that are kept of one node. A node whose wire corrupts more is
/// known by then, and no node fills the head's memory with them.
const REPORTS_MAX: usize = 1000;

/// The reports of corrupt blocks and frames.
#[derive(Debug, Default)]
pub(super) struct Faults {
    /// For each corrupt block, by its index, the nodes that received it corrupt.
    blocks: BTreeMap<u64, Vec<NodeId>>,
    frames: Vec<BadFrame>,
    /// The number of reports of each node, up to one beyond the maximum.
    reports: BTreeMap<NodeId, usize>,
}

impl Faults {
    /// Notes that the node `at` received block `index` corrupt.
    pub(super) fn add_block(&mut self, index: u64, at: NodeId) {
        if self.blocks.get(&index).is_some_and(|seen| seen.contains(&at)) || !self.has_room(at) {
            return;
        }
        self.blocks.entry(index).or_default().push(at);
    }

    /// Counts a report of the node `by`; returns whether it is kept.
    fn has_room(&mut self, by: NodeId) -> bool {
        let reports = self.reports.entry(by).or_default();
        *reports = reports.saturating_add(1).min(REPORTS_MAX + 1);
        *reports <= REPORTS_MAX
    }

    /// Returns the nodes that reported more than is kept.
    pub(super) fn cut_short(&self) -> Vec<NodeId> {
        self.reports.keys().copied().filter(|node| self.is_cut_short(*node)).collect()
    }

    /// Returns whether reports of the node were left out.
    fn is_cut_short(&self, node: NodeId) -> bool {
        self.reports.get(&node).is_some_and(|reports| *reports > REPORTS_MAX)
    }

    /// Notes that a corrupt frame arrived on the link between `near` and `far`. `side` is the side
    /// of the reporting node that the link is on: for `LinkSide::Up`, `far` received the frame, for
    /// `LinkSide::Down`, `near` did.
    pub(super) fn add_frame(&mut self, by: NodeId, near: NodeId, far: NodeId, side: LinkSide) {
        if !self.has_room(by) {
            return;
        }
        let (from, to) = match side {
            LinkSide::Up => (near, far),
            LinkSide::Down => (far, near),
        };
        self.frames.push(BadFrame { from, to });
    }

    /// Returns the corrupt blocks, each with the hop that corrupted it. That hop ends at the first
    /// node of the planned route that received the block corrupt; the nodes behind it received the
    /// block from there. Omits a block if a node in front of that hop has reported too much: it may
    /// have received this block corrupt, too.
    pub(super) fn blocks(&self, lanes: &[LaneState]) -> Vec<Fault> {
        let located = self.blocks.iter().filter_map(|(&index, seen)| {
            let route = &lanes.iter().find(|lane| lane.blocks.ordinal(index).is_some())?.route;
            let mut nodes = route.nodes().iter();
            let &to = nodes.find(|node| seen.contains(node) || self.is_cut_short(**node))?;
            if !seen.contains(&to) {
                return None;
            }
            Some(Fault { index, from: route.feeder(to).unwrap_or(to), to })
        });
        located.collect()
    }

    /// Returns the hops that corrupted frames, in the order of the reports.
    pub(super) fn frames(&self) -> &[BadFrame] {
        &self.frames
    }
}
