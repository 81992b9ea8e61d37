//! Moves lanes between rails of different rates: a finished lane's rail takes over an unfinished
//! lane.
//!
//! Lanes have equal shares, so the fastest rail is free first, and takes over the rest of a slow
//! rail's lane. The duration is close to that of shares in proportion to the rates, which are not
//! known in advance. Example: two rails, where one has the share s of the other's rate. The copy
//! takes 1 - s/2 of the time that the faster rail alone would need; the optimum is 1/(1 + s).

use garland_core::plan::HEAD;

use super::Head;

/// The minimum saving in nanoseconds for which a lane is moved, since moving reopens its links.
const WORTH_NS: u64 = 300_000_000;

impl Head {
    /// Moves lanes to rails that have become free, if the saving is large enough.
    pub(super) fn share_rails(&mut self, now: u64) {
        // Once per round of reports, so that a report costs the same whatever the number of nodes.
        self.reports += 1;
        if self.lanes.len() < 2
            || self.policy.together
            || self.reports + 1 < self.lanes[0].nodes.len()
        {
            return;
        }
        self.reports = 0;
        let nodes = self.lanes[0].nodes.iter().filter(|id| **id != HEAD);
        let rails = nodes.map(|id| self.addresses[id.index()].len()).min().unwrap_or(0);
        if rails < 2 {
            return;
        }
        for lane in 0..self.lanes.len() {
            let arrived = self.arrived(lane);
            let all = self.all(lane);
            self.lanes[lane].pace.note(now, arrived, all);
        }
        // The lane that took the least time has the fastest rail.
        let spans = self
            .lanes
            .iter()
            .enumerate()
            .filter_map(|(lane, state)| Some((state.pace.span()?, lane)));
        let Some((span, free)) = spans.min() else { return };
        let span = u128::from(span);
        for lane in 0..self.lanes.len() {
            let Some(began) = self.lanes[lane].pace.running_since() else { continue };
            let arrived = self.arrived(lane);
            let all = self.all(lane);
            let left = u128::from(all.saturating_sub(arrived));
            let took = u128::from(now.saturating_sub(began));
            let here = left * took / u128::from(arrived.max(1));
            let there = left * span / u128::from(self.all(free).max(1));
            if here > there + u128::from(WORTH_NS) {
                self.move_lane(lane, free, rails);
            }
        }
    }

    /// Returns the number of blocks of a lane.
    fn all(&self, lane: usize) -> u64 {
        self.lanes[lane].blocks.len()
    }

    /// Returns the number of blocks of a lane that have arrived at all its nodes.
    fn arrived(&self, lane: usize) -> u64 {
        // Nodes that are fed on the side count too: the rail may be the reason that they are slow.
        let nodes = self.lanes[lane].nodes.iter().filter(|id| **id != HEAD);
        let arrived = nodes.map(|id| {
            self.nodes[id.index()].report.lanes.get(lane).map_or(0, |report| report.received)
        });
        arrived.min().unwrap_or(0)
    }

    /// Moves all hops of a lane to the rail of the lane `other`.
    fn move_lane(&mut self, lane: usize, other: usize, rails: usize) {
        let rail = |lane: usize| usize::from(self.rails[lane]) % rails;
        if rail(lane) == rail(other) {
            return;
        }
        self.lanes[lane].pace.moved = true;
        self.rails[lane] = self.rails[other];
        for far in self.lanes[lane].nodes.clone().into_iter().skip(1) {
            let state = &mut self.lanes[lane];
            state.detours.remove(&far);
            state.retries.remove(&far);
            state.renew(far);
        }
        for node in self.lanes[lane].nodes.clone() {
            self.send_route(lane, node);
        }
    }
}
