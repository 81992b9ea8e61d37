//! Links that broke while both their ends live: tried anew, then given up.

use super::{Head, NodeState};
use crate::route::LinkSide;
use garland_core::plan::{HEAD, NodeId};

/// How long a link may be reported broken while both its ends live before it is tried anew.
const RETRY_NS: u64 = 300_000_000;

/// How often a link is tried anew before one of its ends is given up.
const RETRIES: u32 = 3;

/// A link that held for so long after it was tried anew is as good as one that never broke.
const FORGIVE_NS: u64 = 10_000_000_000;

/// A link that broke while both its ends lived.
#[derive(Debug, Clone, Default)]
pub(super) struct Retry {
    /// When it is tried anew, if it isn't being tried now.
    pub(super) due: Option<u64>,
    /// How often it was tried since it last held for long.
    tries: u32,
    /// When it was tried last.
    tried: u64,
    /// Why it was lost last: as the end that opens it says, if that has said anything.
    reason: Option<(LinkSide, String)>,
}

impl Retry {
    fn reason(&self) -> &str {
        self.reason.as_ref().map_or("for no reason that was told", |(_, reason)| reason)
    }
}

impl Head {
    pub(super) fn link_lost(
        &mut self,
        now: u64,
        by: NodeId,
        (lane, epoch, side): (u16, u32, LinkSide),
        reason: String,
    ) {
        let Some((_, far)) = self.ends_of(by, lane, epoch, side) else { return };
        let retry = self.lanes[usize::from(lane)].retries.entry(far).or_default();
        if now.saturating_sub(retry.tried) >= FORGIVE_NS {
            retry.tries = 0;
        }
        let opener_spoke = matches!(retry.reason, Some((LinkSide::Down, _)));
        if side == LinkSide::Down || !opener_spoke {
            retry.reason = Some((side, reason));
        }
        // A death makes itself known within moments: wait for it before trying the link anew.
        retry.due = Some(now + RETRY_NS);
    }

    pub(super) fn retry_links(&mut self, now: u64, lane: usize) {
        // Down the chain: a node that loses the links on both its sides is the far end of the first,
        // and failed for it; the other one is then no more.
        for far in self.lanes[lane].nodes.clone() {
            let state = &mut self.lanes[lane];
            let is_due = |retry: &&Retry| retry.due.is_some_and(|due| due <= now);
            let Some(retry) = state.retries.get(&far).filter(is_due).cloned() else { continue };
            let Some(near) = self.upstream_of(lane, far) else { continue };
            // Nobody is at fault before its destination is open.
            let opening = self.is_opening(near) || self.is_opening(far);
            if retry.tries >= RETRIES && !opening {
                self.give_up_link(lane, near, far, retry.reason());
                continue;
            }
            let state = &mut self.lanes[lane];
            // The next loss of this link says when it is due again.
            let tries = retry.tries + 1;
            state.retries.insert(far, Retry { due: None, tries, tried: now, ..retry });
            state.renew(far);
            // Another of the addresses may hold, where there are several.
            *state.detours.entry(far).or_default() += 1;
            self.send_route(lane, near);
            self.send_route(lane, far);
        }
    }

    /// Fails one end of a link that can't be had: the far one, unless the near one couldn't reach
    /// another before, for then everyone behind it would be failed in its stead. Both live, so
    /// either may be at fault, or what lies between: the reason names both.
    fn give_up_link(&mut self, lane: usize, near: NodeId, far: NodeId, reason: &str) {
        let (from, to) = (self.name(near), self.name(far));
        if far == HEAD {
            let reason = format!(
                "{to} gave up the link to {from} after {RETRIES} tries: {reason} (both are alive: \
                 is a firewall between?)"
            );
            return self.gone(near, NodeState::Failed(reason));
        }
        let before = self.lanes[lane].unreached.get(&near).filter(|_| near != HEAD);
        if let Some(&before) = before {
            let before = self.name(before);
            let reason = format!(
                "it reaches neither {before} nor {to}, which are alive; gave up the link to {to} \
                 after {RETRIES} tries: {reason} (is a firewall between?)"
            );
            return self.gone(near, NodeState::Failed(reason));
        }
        let reason = format!(
            "{from} gave up the link to {to} after {RETRIES} tries: {reason} (both are alive: is \
             a firewall between?)"
        );
        self.lanes[lane].unreached.insert(near, far);
        self.gone(far, NodeState::Failed(reason));
    }

    /// What the upstream of a node says of its link to it, when it has lost it just now.
    pub(super) fn neighbours_word(&self, of: NodeId) -> Option<String> {
        let lost = |lane: usize| {
            let retry = self.lanes[lane].retries.get(&of).filter(|retry| retry.due.is_some())?;
            let near = self.upstream_of(lane, of)?;
            Some(format!("{} lost its link to it: {}", self.name(near), retry.reason()))
        };
        (0..self.lanes.len()).find_map(lost)
    }
}
