//! Rails that aren't alike: a lane that is done leaves its rail to one that isn't.
//!
//! Lanes have equal shares, so the fastest rail is free first. What a slow rail still has to carry
//! goes on there: all is done nearly as soon as if shares had been cut by rates that nobody knew
//! beforehand (with two rails, of which one has the share s of the other's rate, in 1 - s/2 of the
//! faster one's time for everything; 1/(1 + s) would be the best).

use super::Head;
use garland_core::plan::HEAD;

/// A lane moves when that saves so much: its links are opened anew for it.
const WORTH_NS: u64 = 300_000_000;

/// What the head knows of a lane's pace.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pace {
    /// When its first block had come to any node.
    began: Option<u64>,
    /// When all of its blocks had come to all nodes.
    over: Option<u64>,
    /// It has been moved.
    moved: bool,
}

impl Head {
    /// Moves lanes over to rails that have become free, if that is worth it.
    pub(super) fn share_rails(&mut self, now: u64) {
        let nodes = self.lanes.first().map_or(&[][..], |lane| &lane.nodes);
        let rails = nodes.iter().filter(|id| **id != HEAD);
        let rails = rails.map(|id| self.addresses[id.index()].len()).min().unwrap_or(0);
        if rails < 2 || self.lanes.len() < 2 || self.policy.together {
            return;
        }
        for lane in 0..self.lanes.len() {
            self.note_pace(now, lane);
        }
        // The one that took least time has the fastest rail.
        let spans = self.lanes.iter().enumerate().filter_map(|(lane, state)| {
            let (began, over) = (state.pace.began?, state.pace.over?);
            (!state.pace.moved).then(|| (over.saturating_sub(began).max(1), lane))
        });
        let Some((span, free)) = spans.min() else { return };
        let span = u128::from(span);
        for lane in 0..self.lanes.len() {
            let (pace, come, all) = (self.lanes[lane].pace, self.come(lane), self.all(lane));
            let Some(began) = pace.began.filter(|_| pace.over.is_none() && !pace.moved) else {
                continue;
            };
            let left = u128::from(all.saturating_sub(come));
            let took = u128::from(now.saturating_sub(began));
            let here = left * took / u128::from(come.max(1));
            let there = left * span / u128::from(self.all(free).max(1));
            if here > there + u128::from(WORTH_NS) {
                self.move_lane(lane, free, rails);
            }
        }
    }

    fn note_pace(&mut self, now: u64, lane: usize) {
        let (come, all) = (self.come(lane), self.all(lane));
        let pace = &mut self.lanes[lane].pace;
        if come > 0 {
            pace.began.get_or_insert(now);
        }
        if come == all {
            pace.over.get_or_insert(now);
        }
    }

    /// Blocks that the lane carries.
    fn all(&self, lane: usize) -> u64 {
        self.lanes[lane].blocks.len()
    }

    /// Blocks that have come over a lane to all that are on it.
    fn come(&self, lane: usize) -> u64 {
        // Who is fed beside a lane, too: its own rail may be the slow one.
        let nodes = self.lanes[lane].nodes.iter().filter(|id| **id != HEAD);
        let come = nodes.map(|id| {
            self.nodes[id.index()].report.lanes.get(lane).map_or(0, |report| report.received)
        });
        come.min().unwrap_or(0)
    }

    /// Lets all hops of a lane go over the rail of another.
    fn move_lane(&mut self, lane: usize, other: usize, rails: usize) {
        let (from, to) = (usize::from(self.rails[lane]), usize::from(self.rails[other]));
        if from % rails == to % rails {
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
