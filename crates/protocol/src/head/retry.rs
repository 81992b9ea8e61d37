//! A link that broke while both its ends live.

use crate::route::LinkSide;

/// The time in nanoseconds from the loss of a link to its next try. A death is known by then.
const RETRY_NS: u64 = 300_000_000;

/// The number of tries after which one end of a link is given up.
pub(super) const RETRIES: u32 = 3;

/// The time in nanoseconds for which a link must hold after a try to count as sound again.
const FORGIVE_NS: u64 = 10_000_000_000;

/// A link that broke while both its ends live.
#[derive(Debug, Clone, Default)]
pub(super) struct Retry {
    /// When it is tried next; `None` while it is being tried.
    due: Option<u64>,
    /// The number of tries since it last held for long.
    tries: u32,
    /// When it was tried last.
    tried: u64,
    /// Why it was lost, and the side that reported it: the end that opens the link, if it has.
    reason: Option<(LinkSide, String)>,
}

impl Retry {
    /// Notes that the link was lost.
    pub(super) fn lost(&mut self, now: u64, side: LinkSide, reason: String) {
        if now.saturating_sub(self.tried) >= FORGIVE_NS {
            self.tries = 0;
        }
        let opener_spoke = matches!(self.reason, Some((LinkSide::Down, _)));
        if side == LinkSide::Down || !opener_spoke {
            self.reason = Some((side, reason));
        }
        self.due = Some(now + RETRY_NS);
    }

    /// Notes that the link is tried.
    pub(super) fn try_again(&mut self, now: u64) {
        (self.due, self.tried) = (None, now);
        self.tries += 1;
    }

    /// When the link is tried next; `None` while it is being tried.
    pub(super) fn due(&self) -> Option<u64> {
        self.due
    }

    /// Whether the link was tried often enough.
    pub(super) fn is_exhausted(&self) -> bool {
        self.tries >= RETRIES
    }

    /// Why the link was lost.
    pub(super) fn reason(&self) -> &str {
        self.reason
            .as_ref()
            .map_or("connection closed without an error message", |(_, reason)| reason)
    }
}
