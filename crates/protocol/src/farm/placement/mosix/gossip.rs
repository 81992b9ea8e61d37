//! Gossip between nodes. Every second each node adds its own state to its entries, and sends the
//! newest half of them to a random other node. So each node knows the recent state of a few nodes,
//! however many there are (Barak, Guday and Wheeler, The MOSIX distributed operating system, 1993).

use garland_core::farm::Job;

use super::super::Candidate;
use super::cost::Stand;

/// The maximum number of entries of a node.
pub(super) const VECTOR: usize = 8;

/// The interval of a node's messages in seconds.
const PERIOD: f64 = 1.0;

/// The number of rounds that are simulated before the run, since the nodes were up before it.
const BEFORE: u32 = 16;

/// The maximum number of rounds that are simulated at once: after so many rounds, no older entry is
/// left.
const MAX_ROUNDS: u32 = 64;

/// What one node knows of another.
#[derive(Clone, Copy, Debug)]
struct Entry {
    node: usize,
    stand: Stand,
    /// The time of the node's state, in seconds since the run began.
    since: f64,
}

/// The entries of all nodes and of the controller.
#[derive(Clone, Debug)]
pub(super) struct Gossip {
    random: u64,
    /// The entries of the nodes in order, then those of the controller, which has no load of its
    /// own.
    views: Vec<Vec<Entry>>,
    /// The time of the last round; `None` before the first.
    round: Option<f64>,
    /// The state of the nodes at the last update.
    last: Vec<Candidate>,
}

impl Gossip {
    pub(super) fn new(seed: u64) -> Self {
        // The generator would return only 0 after the seed 0.
        Self { random: seed | 1, views: Vec::new(), round: None, last: Vec::new() }
    }

    /// Simulates the rounds up to `now`; `nodes` is the present state of the nodes.
    pub(super) fn advance(&mut self, nodes: &[Candidate], now: f64) {
        self.views.resize(nodes.len() + 1, Vec::new());
        let first = self.round.is_none();
        let mut at = self.round.unwrap_or(now - f64::from(BEFORE) * PERIOD);
        at = at.max(now - f64::from(MAX_ROUNDS) * PERIOD);
        while at + PERIOD <= now {
            at += PERIOD;
            // The states between two updates are unknown: the state at one of them is used.
            let seen = if first || at + PERIOD > now { nodes } else { &self.last.clone()[..] };
            self.exchange(seen, at);
        }
        self.round = Some(at);
        self.note_returns(nodes, now);
        for view in &mut self.views {
            view.retain(|entry| nodes.get(entry.node).is_some_and(|node| node.is_alive));
        }
        self.last = nodes.to_vec();
    }

    /// Returns the indexes and states of the nodes that the controller knows.
    pub(super) fn known(&self) -> impl Iterator<Item = (usize, &Stand)> {
        self.views.last().into_iter().flatten().map(|entry| (entry.node, &entry.stand))
    }

    /// Notes that the controller sends a job to the node with index `at`.
    pub(super) fn place(&mut self, at: usize, node: &Candidate, job: &Job, now: f64) {
        let Some(view) = self.views.last_mut() else { return };
        let known = view.iter().find(|entry| entry.node == at);
        let stand = known.map_or(Stand::from_candidate(node), |entry| entry.stand).with(job);
        learn(view, Entry { node: at, stand, since: now });
        if let Some(last) = self.last.get_mut(at) {
            last.busy += job.cores;
        }
    }

    /// Gives the controller the state of each node that has fewer jobs than at the last update.
    fn note_returns(&mut self, nodes: &[Candidate], now: f64) {
        let Some(view) = self.views.last_mut() else { return };
        for (at, (node, before)) in nodes.iter().zip(&self.last).enumerate() {
            if node.is_alive && node.busy + node.waiting < before.busy + before.waiting {
                learn(view, Entry { node: at, stand: Stand::from_candidate(node), since: now });
            }
        }
    }

    /// Simulates one round at the time `at`.
    fn exchange(&mut self, nodes: &[Candidate], at: f64) {
        let count = nodes.len();
        for (teller, node) in nodes.iter().enumerate().filter(|(_, node)| node.is_alive) {
            let own = Entry { node: teller, stand: Stand::from_candidate(node), since: at };
            learn(&mut self.views[teller], own);
            // The receiver is another node, or the controller, which has the last index.
            let to = (teller + 1 + self.below(count)) % (count + 1);
            let news: Vec<Entry> = newest(&self.views[teller]).take(VECTOR / 2).collect();
            for entry in news {
                if entry.node != to {
                    learn(&mut self.views[to], entry);
                }
            }
        }
    }

    /// Returns a pseudo-random number below `count`; 0 if `count` is 0 (Marsaglia, Xorshift RNGs,
    /// 2003).
    fn below(&mut self, count: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random % count.max(1) as u64) as usize
    }
}

/// Returns the entries, the newest first.
fn newest(view: &[Entry]) -> impl Iterator<Item = Entry> {
    let mut sorted = view.to_vec();
    sorted.sort_by(|one, two| two.since.total_cmp(&one.since));
    sorted.into_iter()
}

/// Adds `entry` unless `view` has a newer one of that node; keeps the newest [`VECTOR`] entries.
fn learn(view: &mut Vec<Entry>, entry: Entry) {
    match view.iter_mut().find(|known| known.node == entry.node) {
        Some(known) if known.since > entry.since => {}
        Some(known) => *known = entry,
        None => view.push(entry),
    }
    if view.len() > VECTOR {
        *view = newest(view).take(VECTOR).collect();
    }
}
