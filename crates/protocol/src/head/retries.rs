//! Retries of links that broke while both ends live. After several attempts the link is given up.

use super::retry::{RETRIES, Retry};
use super::{Head, NodeState};
use crate::route::LinkSide;
use garland_core::plan::{HEAD, NodeId};

impl Head {
    /// Takes the report of a lost link from one of its ends.
    pub(super) fn link_lost(
        &mut self,
        now: u64,
        by: NodeId,
        (lane, epoch, side): (u16, u32, LinkSide),
        reason: String,
    ) {
        let Some((_, far)) = self.ends_of(by, lane, epoch, side) else { return };
        let retry = self.lanes[usize::from(lane)].retries.entry(far).or_default();
        retry.lost(now, side, reason);
    }

    /// Retries the broken links of a lane that are due, or gives them up.
    pub(super) fn retry_links(&mut self, now: u64, lane: usize) {
        // In the order of the chain: a node that loses both its links is the far end of the first
        // one and fails for it, which settles the second one.
        for far in self.lanes[lane].nodes.clone() {
            let state = &mut self.lanes[lane];
            let is_due = |retry: &&Retry| retry.due().is_some_and(|due| due <= now);
            let Some(mut retry) = state.retries.get(&far).filter(is_due).cloned() else { continue };
            let Some(near) = self.upstream_of(lane, far) else { continue };
            // A link is not given up while one of its ends still opens its destination.
            let opening = self.is_opening(near) || self.is_opening(far);
            if retry.is_exhausted() && !opening {
                self.give_up_link(lane, near, far, retry.reason());
                continue;
            }
            let state = &mut self.lanes[lane];
            retry.try_again(now);
            state.retries.insert(far, retry);
            state.renew(far);
            // Another address may work, if there are several.
            *state.detours.entry(far).or_default() += 1;
            self.send_route(lane, near);
            self.send_route(lane, far);
        }
    }

    /// Gives up a link that cannot be opened, and fails one of its ends: the far one, unless the
    /// near one failed to reach another node before, because then all nodes behind it would fail in
    /// its place. Both ends are alive, so the fault may be at either of them or in the network
    /// between: the reason names both.
    fn give_up_link(&mut self, lane: usize, near: NodeId, far: NodeId, reason: &str) {
        let (from, to) = (self.name(near), self.name(far));
        if far == HEAD {
            let reason = format!(
                "{to} gave up the link to {from} after {RETRIES} tries: {reason} (both are alive: \
                 check for a firewall between them)"
            );
            return self.gone(near, NodeState::Failed(reason));
        }
        let before = self.lanes[lane].unreached.get(&near).filter(|_| near != HEAD);
        if let Some(&before) = before {
            let before = self.name(before);
            let reason = format!(
                "it reaches neither {before} nor {to}, which are alive; it gave up the link to {to} \
                 after {RETRIES} tries: {reason} (check for a firewall between them)"
            );
            return self.gone(near, NodeState::Failed(reason));
        }
        let reason = format!(
            "{from} gave up the link to {to} after {RETRIES} tries: {reason} (both are alive: check \
             for a firewall between them)"
        );
        self.lanes[lane].unreached.insert(near, far);
        self.gone(far, NodeState::Failed(reason));
    }

    /// Returns what a node's upstream reported, if it has just lost its link to the node.
    pub(super) fn neighbours_word(&self, of: NodeId) -> Option<String> {
        let lost = |lane: usize| {
            let retry = self.lanes[lane].retries.get(&of).filter(|retry| retry.due().is_some())?;
            let near = self.upstream_of(lane, of)?;
            Some(format!("{} lost its link to it: {}", self.name(near), retry.reason()))
        };
        (0..self.lanes.len()).find_map(lost)
    }
}
