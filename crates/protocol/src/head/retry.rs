//! A link that broke while both its ends live.

use crate::route::LinkSide;

/// The time in nanoseconds from the loss of a link to the next attempt. By then a dead node is
/// known to be dead.
const RETRY_NS: u64 = 300_000_000;

/// The number of attempts after which one end of a link is given up.
pub(super) const RETRIES: u32 = 3;

/// The time in nanoseconds that a link must hold after an attempt to count as healthy again.
const FORGIVE_NS: u64 = 10_000_000_000;

/// The attempts to reopen a link that broke while both its ends live.
#[derive(Debug, Clone, Default)]
pub(super) struct Retry {
    /// When the next attempt is due; `None` during an attempt.
    due: Option<u64>,
    /// The number of attempts since the link last held for long.
    tries: u32,
    /// When the last attempt was made.
    tried: u64,
    /// The reason of the loss, and the side that reported it: the end that opens the link is
    /// preferred.
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

    /// Notes that the link is being reopened.
    pub(super) fn try_again(&mut self, now: u64) {
        (self.due, self.tried) = (None, now);
        self.tries += 1;
    }

    /// Returns when the next attempt is due; `None` during an attempt.
    pub(super) fn due(&self) -> Option<u64> {
        self.due
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
}
