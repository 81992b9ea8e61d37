//! Retries of links that broke while both ends live. After several attempts the link is given up.

use garland_core::plan::{HEAD, NodeId};

use super::lane::{FORGIVE_BY_LOGIN_NS, FORGIVE_NS, LaneState, RETRIES, Retry};
use super::{Head, NodeState};
use crate::copy::link_limit::advice_on_own_limit;
use crate::copy::route::LinkSide;

impl Head {
    /// Handles the report of a lost link from the end `by` of the link.
    pub(super) fn link_lost(
        &mut self,
        now: u64,
        by: NodeId,
        lane: u16,
        epoch: u32,
        side: LinkSide,
        reason: String,
    ) {
        let Some(state) = self.lanes.get_mut(usize::from(lane)) else { return };
        let Some((_, far)) = state.ends(by, epoch, side) else { return };
        let forgive_ns = if self.reached.is_some() { FORGIVE_BY_LOGIN_NS } else { FORGIVE_NS };
        state.retries.entry(far).or_default().lost(now, side, reason, forgive_ns);
    }

    /// Fails the nodes that the head feeds on the links with these epochs: nobody can send them
    /// what they lack. The others go on.
    pub(super) fn outdated(&mut self, lane: u16, epochs: &[u32], reason: &str) {
        let Some(state) = self.lanes.get(usize::from(lane)) else { return };
        let end = |&epoch: &u32| state.ends(HEAD, epoch, LinkSide::Down);
        let far: Vec<NodeId> = epochs.iter().filter_map(end).map(|(_, far)| far).collect();
        for id in far {
            self.take_out(id, NodeState::Failed(reason.to_owned()));
        }
    }

    /// Retries the broken links of a lane for which an attempt is due, or gives them up.
    pub(super) fn retry_links(&mut self, now: u64, lane: usize) {
        // Links are tried in the order of the chain: a node that loses both its links fails as the
        // far end of the first one, which settles the second one.
        for far in self.lanes[lane].nodes.clone() {
            let state = &mut self.lanes[lane];
            let is_due = |retry: &&Retry| retry.due.is_some_and(|due| due <= now);
            let Some(mut retry) = state.retries.get(&far).filter(is_due).cloned() else { continue };
            let Some(&near) = state.feeders.get(&far) else { continue };
            // A link is not given up while one of its ends still opens its destination, hangs on
            // its disk, or is silent; but no longer than a disk may hang, since an end may only
            // say so.
            let stands = |id| self.is_opening(id) || self.is_held_up(id);
            let waits = |id| stands(id) || self.liveness.is_quiet(now, id);
            let is_excused = retry.may_be_excused(now, self.policy.stuck_after_ns);
            let waits = is_excused && (waits(near) || waits(far));
            if retry.is_exhausted() && !waits {
                self.give_up_link(lane, near, far, &retry);
                continue;
            }
            let state = &mut self.lanes[lane];
            retry.try_again(now, !waits);
            state.retries.insert(far, retry);
            state.renew(far);
            // Another address may work, if there are several.
            *state.detours.entry(far).or_default() += 1;
            // The link of a source to the head is the source's.
            let its = if far == HEAD { near } else { far };
            self.nodes[its.index()].reopened += 1;
            self.send_route(lane, near);
            self.send_route(lane, far);
        }
    }

    /// Gives up a link that cannot be opened. Both ends are alive, so the fault may be at either of
    /// them or in the network between, and either may lie: the far end gets another feeder, once.
    /// It fails if that one cannot reach it either, or if there is no other one; its reason names
    /// all. The near end fails if it could not reach another node before, or if the far end is the
    /// head. What a node that has left said or caused is held against nobody.
    fn give_up_link(&mut self, lane: usize, near: NodeId, far: NodeId, retry: &Retry) {
        let reason = retry.reason();
        let from = self.name(near);
        let to = self.name(far);
        let told_by = if retry.far_end_spoke() { to } else { from };
        let advice = advice_on_own_limit(reason, told_by);
        let advice = advice.as_deref().unwrap_or("check for a firewall between them");
        let gave_up = |by: &str, link_to: &str| {
            format!(
                "{by} gave up the link to {link_to} after {RETRIES} tries: {reason} (both are \
                 alive: {advice})"
            )
        };
        let has_left = |id: NodeId| self.nodes[id.index()].left;
        if far == HEAD {
            let reason = gave_up(to, from);
            return self.take_out(near, NodeState::Failed(reason));
        }
        let reason = gave_up(from, to);
        let unreached = self.lanes[lane].unreached.get(&near);
        let before =
            unreached.filter(|before| near != HEAD && **before != far && !has_left(**before));
        if let Some(&before) = before {
            let before = self.name(before);
            let reason = format!("it reaches neither {before} nor {to}, which are alive; {reason}");
            return self.take_out(near, NodeState::Failed(reason));
        }
        let given_up = self.lanes[lane].given_up.get(&far);
        let given_up = given_up.filter(|(by, _)| !has_left(*by)).cloned();
        let state = &mut self.lanes[lane];
        state.unreached.insert(near, far);
        if let Some((_, earlier)) = given_up {
            let reason = format!("{earlier}; {reason}");
            return self.take_out(far, NodeState::Failed(reason));
        }
        state.given_up.insert(far, (near, reason.clone()));
        if near == HEAD || self.policy.together || !self.feed_by_another(lane, far, near) {
            self.take_out(far, NodeState::Failed(reason));
        }
    }

    /// If the link from a node's feeder to the node was just lost, returns the feeder's error, to
    /// be appended to a message about the node.
    pub(super) fn neighbours_report(&self, of: NodeId) -> Option<String> {
        let lost = |lane: &LaneState| {
            let retry = lane.retries.get(&of).filter(|retry| retry.due.is_some())?;
            let near = self.name(*lane.feeders.get(&of)?);
            Some(format!("; {near} lost its link to it: {}", retry.reason()))
        };
        self.lanes.iter().find_map(lost)
    }
}
