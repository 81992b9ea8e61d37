//! Links that broke while both their ends live: tried anew, then given up.

use super::{Head, NodeState};
use crate::plan::{HEAD, NodeId};
use crate::proto::message::LinkSide;

/// How long a link may be reported broken while both its ends live before it is tried anew.
const RETRY_NS: u64 = 300_000_000;

/// How often a link is tried anew before its far end is given up.
const RETRIES: u32 = 3;

/// A link that held for so long after it was tried anew is as good as one that never broke.
const FORGIVE_NS: u64 = 10_000_000_000;

/// A link that broke while both its ends lived.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Retry {
    /// When it is tried anew, if it isn't being tried now.
    pub(super) due: Option<u64>,
    /// How often it was tried since it last held for long.
    pub(super) tries: u32,
    /// When it was tried last.
    pub(super) tried: u64,
}

impl Head {
    pub(super) fn link_lost(
        &mut self,
        now: u64,
        by: NodeId,
        lane: u16,
        epoch: u32,
        side: LinkSide,
    ) {
        let Some((_, far)) = self.ends_of(by, lane, epoch, side) else { return };
        let retry = self.lanes[usize::from(lane)].retries.entry(far).or_default();
        if now.saturating_sub(retry.tried) >= FORGIVE_NS {
            retry.tries = 0;
        }
        // A death makes itself known within moments: wait for it before trying the link anew.
        retry.due = Some(now + RETRY_NS);
    }

    pub(super) fn retry_links(&mut self, now: u64, lane: usize) {
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
}
