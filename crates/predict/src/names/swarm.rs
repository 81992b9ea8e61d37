//! A swarm: each node takes one piece a tick from a node chosen at random, of those that it lacks the rarest.

use garland_core::splitmix::SplitMix;

use super::crowd::{Comer, Crowd};
use super::log::Log;

/// The nodes that a node asks in a tick.
const ASKED: usize = 4;

/// The pieces of which the rarest is chosen.
const CANDIDATES: usize = 4;

/// Simulates a swarm. A piece that no node has is taken from the origin.
pub(super) fn swarm(crowd: &Crowd) -> Log {
    let words = (crowd.pieces() as usize).div_ceil(64);
    let mut swarm = Swarm {
        crowd,
        words,
        nodes: Vec::new(),
        pieces: Vec::new(),
        present: Vec::new(),
        active: Vec::new(),
        copies: vec![0; crowd.pieces() as usize],
        credit: crowd.uplinks().iter().map(|_| [0.0, 0.0]).collect(),
        log: Log::default(),
        random: crowd.random(),
    };
    let (mut next, mut tick) = (0, 0);
    while next < crowd.first().len() || !swarm.active.is_empty() {
        while let Some(comer) = crowd.first().get(next).filter(|it| it.at <= f64::from(tick)) {
            swarm.joins(*comer);
            next += 1;
        }
        tick += 1;
        swarm.exchange(tick);
        swarm.ends(f64::from(tick));
    }
    swarm.log
}

/// A node of the swarm.
struct Peer {
    comer: Comer,
    has: u32,
    /// The last tick in which it sent a piece.
    sent: u32,
}

struct Swarm<'a> {
    crowd: &'a Crowd,
    /// The words of a set of pieces.
    words: usize,
    nodes: Vec<Peer>,
    /// The pieces that each node has: a bit for each.
    pieces: Vec<u64>,
    /// The nodes that are there, and those of them that lack something.
    present: Vec<u32>,
    active: Vec<u32>,
    /// The number of nodes that have each piece.
    copies: Vec<u32>,
    /// The pieces that may leave and enter each rack.
    credit: Vec<[f64; 2]>,
    log: Log,
    random: SplitMix,
}

impl Swarm<'_> {
    fn joins(&mut self, comer: Comer) {
        let at = self.nodes.len() as u32;
        self.nodes.push(Peer { comer, has: 0, sent: 0 });
        self.pieces.resize(self.pieces.len() + self.words, 0);
        self.present.push(at);
        self.active.push(at);
        self.log.requests.push(comer.at);
    }

    /// Lets each node take a piece, in another order each time.
    fn exchange(&mut self, tick: u32) {
        for (credit, uplink) in self.credit.iter_mut().zip(self.crowd.uplinks()) {
            // What is left of a tick is lost, but for the fraction of a piece.
            *credit = credit.map(|left| left.min(1.0) + uplink);
        }
        for at in (1..self.active.len()).rev() {
            self.active.swap(at, self.random.below(at + 1));
        }
        let mut origin = self.copies.iter().position(|copies| *copies == 0);
        for at in 0..self.active.len() {
            let node = self.active[at] as usize;
            let way = [self.crowd.origin(), self.nodes[node].comer.rack];
            if let Some(piece) = origin.filter(|_| self.may_pass(way)) {
                origin = None;
                self.log.origin += 1.0;
                self.pass(way);
                self.takes(node, piece);
            } else if let Some((peer, piece)) = self.offer(node, tick) {
                self.nodes[peer].sent = tick;
                self.pass([peer, node].map(|it| self.nodes[it].comer.rack));
                self.takes(node, piece);
            }
        }
    }

    /// Returns a node that can send a piece to `node`, and the piece.
    fn offer(&mut self, node: usize, tick: u32) -> Option<(usize, usize)> {
        for _ in 0..ASKED {
            let peer = self.present[self.random.below(self.present.len())] as usize;
            let way = [peer, node].map(|it| self.nodes[it].comer.rack);
            if self.nodes[peer].sent == tick || !self.may_pass(way) {
                continue;
            }
            let start = self.random.below(self.words);
            if let Some(piece) = self.rarest(peer, node, start) {
                return Some((peer, piece));
            }
        }
        None
    }

    /// Returns the rarest of the first pieces from word `start` on that `peer` has and `node` lacks.
    fn rarest(&self, peer: usize, node: usize, start: usize) -> Option<usize> {
        let (has, lacks) = (self.set(peer), self.set(node));
        let mut found = None;
        let mut seen = 0;
        for word in (start..self.words).chain(0..start) {
            let mut bits = has[word] & !lacks[word];
            while bits != 0 && seen < CANDIDATES {
                let piece = word * 64 + bits.trailing_zeros() as usize;
                if found.is_none_or(|best: usize| self.copies[piece] < self.copies[best]) {
                    found = Some(piece);
                }
                bits &= bits - 1;
                seen += 1;
            }
            if seen == CANDIDATES {
                break;
            }
        }
        found
    }

    fn set(&self, node: usize) -> &[u64] {
        &self.pieces[node * self.words..][..self.words]
    }

    fn may_pass(&self, [from, to]: [usize; 2]) -> bool {
        from == to || self.credit[from][0] >= 1.0 && self.credit[to][1] >= 1.0
    }

    fn pass(&mut self, [from, to]: [usize; 2]) {
        if from != to {
            self.credit[from][0] -= 1.0;
            self.credit[to][1] -= 1.0;
        }
    }

    fn takes(&mut self, node: usize, piece: usize) {
        self.pieces[node * self.words + piece / 64] |= 1 << (piece % 64);
        self.copies[piece] += 1;
        self.nodes[node].has += 1;
    }

    /// Ends the nodes that have all, and those that leave, for which others come.
    fn ends(&mut self, now: f64) {
        let mut leaving = Vec::new();
        let (nodes, log, all) = (&self.nodes, &mut self.log, self.crowd.pieces());
        self.active.retain(|at| {
            let node = &nodes[*at as usize];
            let leaves = node.comer.leaves.is_some_and(|piece| node.has >= piece);
            if leaves {
                leaving.push(*at);
            } else if node.has == all {
                log.ends(node.comer.at, now);
            }
            !leaves && node.has < all
        });
        for at in leaving {
            self.present.retain(|it| *it != at);
            let node = at as usize;
            for piece in 0..self.copies.len() {
                let bit = self.pieces[node * self.words + piece / 64] >> (piece % 64) & 1;
                self.copies[piece] -= bit as u32;
            }
            let comer = self.crowd.in_place_of(self.nodes[node].comer, now, &mut self.random);
            self.joins(comer);
        }
    }
}
