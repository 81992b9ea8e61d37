//! Finds nodes with slow links or machines; [`super::watch`] describes how.

use std::collections::BTreeMap;

use garland_core::plan::{HEAD, NodeId};

use super::node::Node;
use super::watch::{Hop, Mark, Slow, Suspect, WINDOW_NS, median};
use super::{Head, NodeState, SlowNodes};

impl Head {
    /// Judges the hops of the lanes whose window is over.
    pub(super) fn judge_hops(&mut self, now: u64) {
        if self.policy.slow == SlowNodes::Wait || self.policy.together {
            return;
        }
        for lane in 0..self.lanes.len() {
            if !self.lanes[lane].watch.end_window(now) {
                continue;
            }
            let Some(hops) = self.measure_hops(lane) else { continue };
            self.judge_trials(now, lane, &hops);
            if self.lanes[lane].watch.may_suspect(now) {
                self.suspect(now, lane, &hops);
            }
        }
    }

    /// Returns the hops of a lane's chain, as measured in the window that ends now, in the chain's
    /// order. Leaves out hops with too little data; `None` if nothing has moved.
    pub(super) fn measure_hops(&mut self, lane: usize) -> Option<Vec<Hop>> {
        let state = &self.lanes[lane];
        // The number of blocks that each node can have passed on: those that it says it got, and no
        // more than its feeder has. Who claims more would make its hop seem to carry holes.
        let mut passed: BTreeMap<NodeId, u64> = BTreeMap::new();
        let marks =
            state.nodes.iter().filter(|far| !state.side_fed.contains(far)).filter_map(|&far| {
                let &near = state.feeders.get(&far)?;
                let from = &self.nodes[near.index()];
                let to = &self.nodes[far.index()];
                let sender = from.report.lanes.get(lane)?;
                let before = state.feeders.get(&near).and_then(|feeder| passed.get(feeder));
                let got = sender.received.min(before.copied().unwrap_or(u64::MAX));
                passed.insert(near, got);
                let hop = sender.hop?;
                let mark = Mark {
                    at: from.reported,
                    hop,
                    writer_at: to.reported,
                    writer: (to.report.stalled_ns, to.report.blocked_ns),
                    is_excused: self.is_disk_excuse(far),
                    starved_ns: to.report.starved_ns,
                    // What the receiver says of itself may be meant to hide how slow it is.
                    passed: got,
                };
                (state.epochs.get(&far) == Some(&hop.epoch)).then_some((near, far, mark))
            });
        let marks: Vec<_> = marks.collect();
        self.lanes[lane].watch.measure(&marks, self.block_size)
    }

    /// Starts the trial of a node that was suspected for long enough: moves it to the side of the
    /// lane.
    fn suspect(&mut self, now: u64, lane: usize, hops: &[Hop]) {
        let found = self.slowest(now, lane, hops);
        let is_doubtful = found.is_some_and(|suspect| self.is_doubtful(now, lane, hops, &suspect));
        let watch = &mut self.lanes[lane].watch;
        if let Some(suspect) = found.filter(|_| is_doubtful)
            && watch.excuses(now, suspect.node)
        {
            return;
        }
        let suspect = found;
        let is_enough = watch.suspect(suspect);
        // Those that took nothing were not measured.
        let is_measured = |id: &&NodeId| !self.nodes[id.index()].took_nothing;
        if let Some(suspect) = suspect.filter(|_| is_enough)
            && self.slow.iter().filter(is_measured).count() < self.policy.slow_max
        {
            watch.start_trial(now, suspect, |node| blocks_of(&self.nodes, node, lane));
            self.nodes[suspect.node.index()].tried = true;
            self.feed_aside(lane, suspect.node);
        }
    }

    /// Returns whether a suspect may be no cause, but only for a while: it does not report its
    /// recent state, or the counters of its own hop, which a broken link has not, or a hop behind
    /// it is busy. A node that is silent for longer hangs or is dead.
    fn is_doubtful(&self, now: u64, lane: usize, hops: &[Hop], suspect: &Suspect) -> bool {
        let known = &self.nodes[suspect.node.index()];
        let speaks =
            now.saturating_sub(known.reported) < WINDOW_NS.max(2 * self.policy.heartbeat_ns);
        let mut fed = self.fed_in_chain(lane, suspect.hop_to);
        let is_known = fed.all(|far| hops.iter().any(|other| other.far == far));
        // After a slower hop that is further behind, others may rest for a moment.
        let behind = hops.iter().skip_while(|hop| hop.far != suspect.hop_to).skip(1);
        !speaks || !is_known || behind.into_iter().any(Hop::is_busy)
    }

    /// Returns the nodes that `node` feeds in a lane, except those that are fed on the side.
    fn fed_in_chain(&self, lane: usize, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let state = &self.lanes[lane];
        state.fed_by(node).filter(|fed| !state.side_fed.contains(fed))
    }

    /// Returns the node that most likely slows the lane down; `None` if no node clearly does. The
    /// hops are trusted from the head on: those before the slow one are reported by nodes before
    /// it.
    fn slowest(&self, now: u64, lane: usize, hops: &[Hop]) -> Option<Suspect> {
        // What slows the lane down keeps all senders before it busy, up to the head. If the head is
        // idle, it has nothing to send.
        let at = hops.iter().take_while(|hop| hop.is_busy()).count().checked_sub(1)?;
        let before = &hops[..at];
        let hop = hops[at];
        let behind = &hops[at + 1..];
        let state = &self.lanes[lane];
        // Who feeds several nodes has no counters.
        let feeds_several = self.fed_in_chain(lane, hop.far).count() > 1;
        if hop.is_disk || feeds_several || hops[0].near != HEAD || hop.is_starved_as(hops) {
            return None;
        }
        // One hop may carry holes while another one carries bytes.
        if hops.iter().any(Hop::is_hollow) && state.watch.has_holes(now) {
            return None;
        }
        let share = f64::from(self.policy.slow_below) / 1000.0;
        let (node, is_certain) = match before {
            [] => (hop.far, hop.taken() < share * hop.wire()),
            _ => {
                let usual = share * median(before.iter().map(Hop::wire).collect())?;
                // A node with a slow network interface is slow on both its hops. What a hop could
                // carry whose receiver takes nothing is not known.
                let last = &before[at - 1];
                let both = last.wire() < usual && !last.is_blocked();
                let near = hop.near != HEAD && (both || state.watch.doubts(hop.near));
                (if near { hop.near } else { hop.far }, hop.taken() < usual)
            }
        };
        // Before the second hop there is only the head's own, which is as slow if the first node's
        // interface is. That all hops behind are faster is weak evidence: after a queue has formed
        // at one of several equally slow wires, those behind it carry what comes in short bursts.
        // The queue moves, though, and shows one after the other what they can carry.
        let first = before.len() == 1 && !before[0].is_blocked();
        let slowest = behind.iter().map(|hop| state.watch.capacity(hop)).reduce(f64::min);
        let may_be_first = first && slowest.is_some_and(|slowest| hop.taken() < share * slowest);
        if !is_certain && !may_be_first {
            return None;
        }
        let node = if is_certain { node } else { hop.near };
        let may_wait =
            self.policy.readers_may_pause || self.policy.in_order && self.lanes.len() > 1;
        // What a node says of its own destination may be meant to hide that it is slow.
        let is_in = node != HEAD && !self.nodes[node.index()].left && !may_wait;
        let hop_to = hop.far;
        is_in.then_some(Suspect { node, near: hop.near, hop_to, rate: hop.rate, is_certain })
    }

    /// Judges the trials of a lane.
    fn judge_trials(&mut self, now: u64, lane: usize, hops: &[Hop]) {
        let blocks = |node| blocks_of(&self.nodes, node, lane);
        let watch = &mut self.lanes[lane].watch;
        let outcome =
            watch.judge_trials(now, hops, self.policy.slow_below, self.block_size, blocks);
        for (node, rate, others) in outcome.slow {
            self.call_slow(node, rate, others);
        }
        if let Some(node) = outcome.acquitted {
            // The node is still fed on the side, where it slows no other node down, but it may feed
            // others.
            self.slow.remove(&node);
        }
    }

    /// Marks a node as slow, and fails it if the policy says so; `rate` and `others` are in bytes
    /// per second.
    fn call_slow(&mut self, id: NodeId, rate: f64, others: f64) {
        let slow = Slow { rate: rate as u64, others: others as u64 };
        let node = &mut self.nodes[id.index()];
        node.slow.get_or_insert(slow);
        self.slow.insert(id);
        if self.policy.slow == SlowNodes::Fail {
            let reason = format!(
                "it receives {:.1} MB/s, the other nodes {:.1} MB/s (--on-slow fail)",
                rate / 1e6,
                others / 1e6
            );
            self.take_out(id, NodeState::Failed(reason));
        }
    }
}

/// Returns the number of a lane's blocks that a node has by its last report.
fn blocks_of(nodes: &[Node], node: NodeId, lane: usize) -> u64 {
    let lanes = &nodes[node.index()].report.lanes;
    lanes.get(lane).map_or(0, |lane| lane.received)
}
