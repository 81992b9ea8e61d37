//! Changed blocks and frames, and the hops that changed them.

use std::collections::BTreeMap;

use super::lane::LaneState;
use crate::route::LinkSide;
use garland_core::plan::NodeId;

/// A changed block and the hop where it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The block.
    pub index: u64,
    /// The node that sent the block, by the planned route.
    pub from: NodeId,
    /// The node at which the block arrived changed.
    pub to: NodeId,
}

/// A hop where a frame arrived changed. It is unknown to which block the frame belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadFrame {
    /// The node that sent the frame.
    pub from: NodeId,
    /// The node at which the frame arrived changed.
    pub to: NodeId,
}

/// The reports of changed blocks and frames.
#[derive(Debug, Default)]
pub(super) struct Faults {
    /// The nodes that received each block changed.
    blocks: BTreeMap<u64, Vec<NodeId>>,
    frames: Vec<BadFrame>,
}

impl Faults {
    /// Notes that block `index` arrived changed at a node.
    pub(super) fn add_block(&mut self, index: u64, at: NodeId) {
        let seen = self.blocks.entry(index).or_default();
        if !seen.contains(&at) {
            seen.push(at);
        }
    }

    /// Notes that a frame arrived changed over the link from `near` to `far`: at the lower end if
    /// the link is upstream of the reporting node (`LinkSide::Up`), otherwise at the upper end.
    pub(super) fn add_frame(&mut self, (near, far): (NodeId, NodeId), side: LinkSide) {
        let (from, to) = match side {
            LinkSide::Up => (near, far),
            LinkSide::Down => (far, near),
        };
        self.frames.push(BadFrame { from, to });
    }

    /// Returns the changed blocks with the hop where each was changed. That hop ends at the most
    /// upstream of the nodes that received the block changed; the nodes behind it received it from
    /// there.
    pub(super) fn blocks(&self, lanes: &[LaneState]) -> Vec<Fault> {
        let located = self.blocks.iter().filter_map(|(&index, seen)| {
            let route = &lanes.iter().find(|lane| lane.blocks.ordinal(index).is_some())?.route;
            let &to = route.nodes().iter().find(|node| seen.contains(node))?;
            Some(Fault { index, from: route.feeder(to).unwrap_or(to), to })
        });
        located.collect()
    }

    /// Returns the hops where frames arrived changed, in the order of the reports.
    pub(super) fn frames(&self) -> &[BadFrame] {
        &self.frames
    }
}
