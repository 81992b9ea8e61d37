//! The frames of which only the first bytes have arrived: a lane serves its other links until the
//! rest comes.

use garland_protocol::copy::LinkSide;
use garland_transport::link::PartialFrame;

/// The unfinished frames of a lane's links.
#[derive(Debug, Default)]
pub(super) struct UnfinishedFrames(Vec<Unfinished>);

/// The unfinished frame of a link.
#[derive(Debug)]
struct Unfinished {
    side: LinkSide,
    epoch: u32,
    frame: PartialFrame,
}

impl Unfinished {
    fn is_on(&self, side: LinkSide, epoch: u32) -> bool {
        (self.side, self.epoch) == (side, epoch)
    }
}

impl UnfinishedFrames {
    /// Removes and returns the unfinished frame of a link; an empty one if there is none.
    pub(super) fn take(&mut self, side: LinkSide, epoch: u32) -> PartialFrame {
        let at = self.0.iter().position(|unfinished| unfinished.is_on(side, epoch));
        at.map(|at| self.0.swap_remove(at).frame).unwrap_or_default()
    }

    /// Forgets the unfinished frame of a link, if there is one.
    pub(super) fn forget(&mut self, side: LinkSide, epoch: u32) {
        self.0.retain(|unfinished| !unfinished.is_on(side, epoch));
    }

    /// Keeps the unfinished frame of a link, which was taken before.
    pub(super) fn keep(&mut self, side: LinkSide, epoch: u32, frame: PartialFrame) {
        if !frame.is_empty() {
            self.0.push(Unfinished { side, epoch, frame });
        }
    }

    /// Whether the first bytes of a frame were read from a link, and the others were not.
    pub(super) fn has(&self, side: LinkSide, epoch: u32) -> bool {
        self.0.iter().any(|unfinished| unfinished.is_on(side, epoch))
    }
}
