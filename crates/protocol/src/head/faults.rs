//! Changed bytes, and the hop where they were found.

use super::Head;
use super::chain::LaneState;
use crate::route::LinkSide;
use garland_core::plan::NodeId;

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

impl Head {
    /// The changed blocks and the hop where each was found: of the nodes that saw one, the most
    /// upstream; those behind it only had it passed on.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        for (&index, seen) in &self.faults {
            let carries = |lane: &&LaneState| lane.blocks.ordinal(index).is_some();
            let Some(lane) = self.lanes.iter().find(carries) else { continue };
            // Everyone comes behind who feeds it.
            let to = lane.route.nodes().iter().find(|node| seen.contains(node));
            let Some(&to) = to else { continue };
            faults.push(Fault { index, from: lane.route.feeder(to).unwrap_or(to), to });
        }
        faults
    }

    /// The hops where frames came in changed, in the order of their reports.
    #[must_use]
    pub fn bad_frames(&self) -> &[BadFrame] {
        &self.bad_frames
    }

    pub(super) fn changed(&mut self, index: u64, at: NodeId) {
        let seen = self.faults.entry(index).or_default();
        if !seen.contains(&at) {
            seen.push(at);
        }
    }

    pub(super) fn bad_frame(&mut self, by: NodeId, lane: u16, epoch: u32, side: LinkSide) {
        if let Some((near, far)) = self.ends_of(by, lane, epoch, side) {
            let (from, to) = match side {
                LinkSide::Up => (near, far),
                LinkSide::Down => (far, near),
            };
            self.bad_frames.push(BadFrame { from, to });
        }
    }
}
