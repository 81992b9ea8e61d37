//! The measurements of one rail, which is one NIC of every node.

use std::collections::BTreeMap;

use garland_analysis::pairs::{MatchUp, Matrix};
use garland_protocol::{Summary, TxStats};

/// Nanoseconds that are added to every round trip before they are compared: smaller differences come from
/// schedulers and interrupts.
pub const GRACE_NS: u64 = 250_000;

/// The rates of one direction of a pair, in bytes per second.
#[derive(Clone, Debug, Default)]
pub struct DirectionRates {
    /// One stream alone.
    pub one: Option<f64>,
    /// One stream while another goes in the other direction.
    pub two_way: Option<f64>,
    /// Several streams together.
    pub many: Option<f64>,
    /// The kernel's statistics of the one stream.
    pub went: Option<TxStats>,
}

/// The rates of a number of pairs at once.
#[derive(Clone, Debug)]
pub struct LoadRates {
    /// Number of pairs.
    pub pairs: usize,
    /// Bytes per second of one stream of each pair; the lowest first.
    pub rates: Vec<f64>,
}

/// All measurements of one rail; nodes are identified by their index.
#[derive(Clone, Debug)]
pub struct Rail {
    /// For each node, the number of partners in a row with which it failed.
    pub strikes: Vec<u32>,
    /// The error of each node that is excluded from this rail.
    pub out: Vec<Option<String>>,
    /// Rates by sender and receiver.
    pub directions: BTreeMap<(usize, usize), DirectionRates>,
    /// Round trips of 8 bytes by pair.
    pub latencies: BTreeMap<MatchUp, Summary>,
    /// The errors of pairs that could not be measured.
    pub failed: BTreeMap<MatchUp, String>,
    /// Rates by number of pairs at once.
    pub loads: Vec<LoadRates>,
    /// Number of pairs that are measured at once.
    pub at_once: usize,
    /// Number of rounds so far.
    pub rounds: usize,
}

impl Rail {
    /// Creates an empty rail; `out` has the errors of nodes without an agent.
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

    /// Returns the rates of one stream in bytes per second, by sender and receiver.
    pub fn rates(&self) -> Matrix {
        Matrix::by(self.out.len(), |from, to| self.directions.get(&(from, to))?.one)
    }

    /// Returns the inverse of each pair's shortest round trip plus [`GRACE_NS`], per second.
    pub fn round_trips(&self) -> Matrix {
        Matrix::by(self.out.len(), |from, to| {
            let latency = self.latencies.get(&(from.min(to), from.max(to)))?;
            Some(1e9 / (latency.min + GRACE_NS) as f64)
        })
    }

    /// Returns the rates of one direction of a pair.
    pub fn way(&mut self, from: usize, to: usize) -> &mut DirectionRates {
        self.directions.entry((from, to)).or_default()
    }

    /// Records the round trips of a pair; of several, those with the shortest minimum.
    pub fn note_latency(&mut self, pair: MatchUp, latency: Summary) {
        if self.latencies.get(&pair).is_none_or(|before| latency.min < before.min) {
            self.latencies.insert(pair, latency);
        }
    }

    /// Records the rate of one stream; of several, the highest, since other traffic only lowers rates.
    pub fn note_rate(&mut self, from: usize, to: usize, rate: f64, went: Option<TxStats>) {
        let way = self.way(from, to);
        if way.one.is_none_or(|before| before < rate) {
            way.one = Some(rate);
            way.went = went;
        }
    }

    /// Returns whether a pair can be measured: neither node is excluded, and the pair has not failed.
    pub fn may(&self, pair: &MatchUp) -> bool {
        self.out[pair.0].is_none() && self.out[pair.1].is_none() && !self.failed.contains_key(pair)
    }
}
