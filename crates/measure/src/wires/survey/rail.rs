//! What was found on one rail: by one NIC of every node.

use std::collections::BTreeMap;

use garland_analysis::pairs::{MatchUp, Matrix};
use garland_protocol::{Summary, TxStats};

/// What is granted to every round trip before they are compared: below that, wires aren't told from
/// what schedulers and interrupts do.
pub const GRACE_NS: u64 = 250_000;

/// One way of a pair.
#[derive(Clone, Debug, Default)]
pub struct DirectionRates {
    /// One stream, in bytes per second.
    pub one: Option<f64>,
    /// Beside one the other way.
    pub two_way: Option<f64>,
    /// Several streams together.
    pub many: Option<f64>,
    /// The kernel's account of the one stream.
    pub went: Option<TxStats>,
}

/// So many pairs at once.
#[derive(Clone, Debug)]
pub struct LoadRates {
    /// How many.
    pub pairs: usize,
    /// What they got, one way each, in bytes per second; the lowest first.
    pub rates: Vec<f64>,
}

/// All that was measured on one rail.
#[derive(Clone, Debug)]
pub struct Rail {
    /// Pairs that a node has failed with in a row, by its place.
    pub strikes: Vec<u32>,
    /// Why a node is out of this rail, by its place.
    pub out: Vec<Option<String>>,
    /// Both directions of every pair.
    pub directions: BTreeMap<(usize, usize), DirectionRates>,
    /// Round trips of 8 bytes by pair.
    pub latencies: BTreeMap<MatchUp, Summary>,
    /// Pairs that couldn't be measured, and why.
    pub failed: BTreeMap<MatchUp, String>,
    /// Pairs at once.
    pub loads: Vec<LoadRates>,
    /// How many pairs were measured at once.
    pub at_once: usize,
    /// Rounds.
    pub rounds: usize,
}

impl Rail {
    /// Nothing measured yet; `out` are the nodes without an agent.
    pub fn new(out: &[Option<String>]) -> Self {
        Self {
            strikes: vec![0; out.len()],
            out: out.to_vec(),
            directions: BTreeMap::new(),
            latencies: BTreeMap::new(),
            failed: BTreeMap::new(),
            loads: Vec::new(),
            at_once: 1,
            rounds: 0,
        }
    }

    /// The rates of one stream one way, in bytes per second.
    pub fn rates(&self) -> Matrix {
        Matrix::by(self.out.len(), |from, to| self.directions.get(&(from, to))?.one)
    }

    /// How many shortest round trips of 8 bytes go into a second, each with [`GRACE_NS`] added.
    pub fn round_trips(&self) -> Matrix {
        Matrix::by(self.out.len(), |from, to| {
            let latency = self.latencies.get(&(from.min(to), from.max(to)))?;
            Some(1e9 / (latency.min + GRACE_NS) as f64)
        })
    }

    /// One way of a pair.
    pub fn way(&mut self, from: usize, to: usize) -> &mut DirectionRates {
        self.directions.entry((from, to)).or_default()
    }

    /// Notes a round trip. Where there is one already, the one with the shortest counts.
    pub fn note_latency(&mut self, pair: MatchUp, latency: Summary) {
        if self.latencies.get(&pair).is_none_or(|before| latency.min < before.min) {
            self.latencies.insert(pair, latency);
        }
    }

    /// Notes one stream's rate. Where there is one already, the larger counts: what else goes on
    /// takes away and never gives.
    pub fn note_rate(&mut self, from: usize, to: usize, rate: f64, went: Option<TxStats>) {
        let way = self.way(from, to);
        if way.one.is_none_or(|before| before < rate) {
            way.one = Some(rate);
            way.went = went;
        }
    }

    /// Pairs that may be measured: both nodes are there, and they haven't failed together.
    pub fn may(&self, pair: &MatchUp) -> bool {
        self.out[pair.0].is_none() && self.out[pair.1].is_none() && !self.failed.contains_key(pair)
    }
}
