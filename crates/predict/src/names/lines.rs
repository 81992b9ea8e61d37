//! Lines of followers: each node takes the content, from its beginning to its end, from one that came before it.

use garland_core::splitmix::SplitMix;

use super::crowd::{Comer, Crowd};
use super::log::Log;

/// What a node has less than the one that it follows: a block of a MiB, in pieces of 64 MiB.
const LAG: f64 = 1.0 / 64.0;

/// The rounds of a tick.
const ROUNDS: usize = 3;

/// What rounding may take away.
const ROUNDING: f64 = 1e-9;

/// A node and the one that it follows.
struct Follower {
    comer: Comer,
    /// The node before it; `None` for the origin.
    before: Option<usize>,
    /// The pieces that it has, those that it gets in this tick, and those that it could take.
    has: f64,
    gets: f64,
    wants: f64,
    /// Whether it is there.
    stays: bool,
}

/// Simulates one line of followers, or one in each rack.
pub(super) fn follow(crowd: &Crowd, by_rack: bool) -> Log {
    let mut lines = Lines {
        crowd,
        by_rack,
        nodes: Vec::new(),
        active: Vec::new(),
        log: Log::default(),
        random: crowd.random(),
    };
    let (mut next, mut tick) = (0, 0);
    while next < crowd.first().len() || !lines.active.is_empty() {
        let now = f64::from(tick);
        while let Some(comer) = crowd.first().get(next).filter(|comer| comer.at <= now) {
            lines.joins(*comer);
            next += 1;
        }
        lines.transfer();
        tick += 1;
        lines.ends(f64::from(tick));
    }
    lines.log
}

struct Lines<'a> {
    crowd: &'a Crowd,
    by_rack: bool,
    /// All that ever came: each after the one that it follows.
    nodes: Vec<Follower>,
    /// Those that have not all pieces, in this order.
    active: Vec<usize>,
    log: Log,
    random: SplitMix,
}

/// The parts of what they could take that wires let through: out of each node and the origin (last), out of and into
/// each rack.
struct Factors {
    nodes: Vec<f64>,
    out: Vec<f64>,
    into: Vec<f64>,
}

impl Lines<'_> {
    fn joins(&mut self, comer: Comer) {
        let near = |node: &Follower| node.stays && node.comer.rack == comer.rack;
        let last = self.nodes.iter().rposition(|node| node.stays);
        let before = match self.by_rack {
            true => self.nodes.iter().rposition(near).or_else(|| self.newest_first_of_a_rack()),
            false => last,
        };
        self.active.push(self.nodes.len());
        self.nodes.push(Follower { comer, before, has: 0.0, gets: 0.0, wants: 0.0, stays: true });
        self.log.requests.push(comer.at);
    }

    /// Returns the last node that follows one in another rack, or the origin.
    fn newest_first_of_a_rack(&self) -> Option<usize> {
        let is_first = |node: &Follower| {
            let rack = node.before.map(|before| self.nodes[before].comer.rack);
            node.stays && rack != Some(node.comer.rack)
        };
        self.nodes.iter().rposition(is_first)
    }

    /// Returns the rack from which a node is fed.
    fn from(&self, node: &Follower) -> usize {
        node.before.map_or(self.crowd.origin(), |before| self.nodes[before].comer.rack)
    }

    /// Returns the pieces that `node` can have after this tick, if the node before it gets what it `gets`.
    fn offered(&self, node: &Follower, gets: impl Fn(&Follower) -> f64) -> f64 {
        let all = f64::from(self.crowd.pieces());
        let has = node.before.map_or(all, |before| {
            let before = &self.nodes[before];
            before.has + gets(before)
        });
        if has >= all - ROUNDING { all } else { has - LAG }
    }

    /// Lets time go on by a tick. What a node takes depends on what that before it gets, which depends on what wires
    /// let through: each round knows more of it.
    fn transfer(&mut self) {
        for round in 0..ROUNDS {
            let factors = self.factors(round == 0);
            for at in &self.active {
                let node = &self.nodes[*at];
                let (rack, from) = (node.comer.rack, self.from(node));
                let mut factor = factors.nodes[node.before.unwrap_or(self.nodes.len())];
                if rack != from {
                    factor = factor.min(factors.out[from]).min(factors.into[rack]);
                }
                let most = self.offered(node, |before| before.gets) - node.has;
                self.nodes[*at].gets = (node.wants * factor).min(most).max(0.0);
            }
        }
        for at in &self.active {
            let node = &mut self.nodes[*at];
            node.has += node.gets;
            if node.before.is_none() {
                self.log.origin += node.gets;
            }
        }
    }

    /// Sets what each node could take, and returns how much of that the wires let through. `first`: nothing is known yet
    /// of what the nodes get in this tick, and none waits for a wire.
    fn factors(&mut self, first: bool) -> Factors {
        let racks = self.crowd.uplinks();
        let mut sums = Factors {
            nodes: vec![0.0; self.nodes.len() + 1],
            out: vec![0.0; racks.len()],
            into: vec![0.0; racks.len()],
        };
        for at in &self.active {
            let node = &self.nodes[*at];
            let (rack, from) = (node.comer.rack, self.from(node));
            let offered = self.offered(node, |it| if first { it.wants } else { it.gets });
            let wants = (offered - node.has).clamp(0.0, 1.0);
            sums.nodes[node.before.unwrap_or(self.nodes.len())] += wants;
            if rack != from {
                sums.out[from] += wants;
                sums.into[rack] += wants;
            }
            self.nodes[*at].wants = wants;
        }
        let part = |sum: &mut f64, limit: f64| *sum = (limit / *sum).min(1.0);
        sums.nodes.iter_mut().for_each(|sum| part(sum, 1.0));
        sums.out.iter_mut().zip(racks).for_each(|(sum, limit)| part(sum, *limit));
        sums.into.iter_mut().zip(racks).for_each(|(sum, limit)| part(sum, *limit));
        sums
    }

    /// Ends the nodes that have all, and those that leave, for which others come.
    fn ends(&mut self, now: f64) {
        let all = f64::from(self.crowd.pieces());
        let mut leaving = Vec::new();
        let (nodes, log) = (&mut self.nodes, &mut self.log);
        self.active.retain(|at| {
            let node = &mut nodes[*at];
            if node.comer.leaves.is_some_and(|piece| node.has >= f64::from(piece)) {
                node.stays = false;
                leaving.push(*at);
            } else if node.has >= all - ROUNDING {
                (node.has, node.gets, node.wants) = (all, 0.0, 0.0);
                log.ends(node.comer.at, now);
                return false;
            }
            node.stays
        });
        for at in leaving {
            let before = self.nodes[at].before;
            for node in self.nodes.iter_mut().filter(|node| node.before == Some(at)) {
                node.before = before;
                // It chooses the node to follow now.
                self.log.requests.push(now);
            }
            let comer = self.crowd.in_place_of(self.nodes[at].comer, now, &mut self.random);
            self.joins(comer);
        }
    }
}
