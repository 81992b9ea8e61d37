//! The measurements of one rail, which is one NIC of every node.

use std::collections::BTreeMap;

use garland_analysis::pairs::{MatchUp, Matrix};
use garland_protocol::{Summary, TxStats};

/// Nanoseconds that are added to every round trip before they are compared: smaller differences come from
/// schedulers and interrupts.
pub const GRACE_NS: u64 = 250_000;

/// The rates of one direction of a pair in bytes per second; none if not measured.
#[derive(Clone, Debug, Default)]
pub struct DirectionRates {
    /// The rate of one stream alone.
    pub one: Option<f64>,
    /// The rate of one stream while another one runs in the opposite direction.
    pub two_way: Option<f64>,
    /// The total rate of several streams; measured in one direction of each pair only.
    pub many: Option<f64>,
    /// The statistics of the single stream from the sender's kernel.
    pub went: Option<TxStats>,
}

/// The rates that pairs reached when a number of them were measured at once.
#[derive(Clone, Debug)]
pub struct LoadRates {
    /// The number of pairs measured at once.
    pub pairs: usize,
    /// For each pair, the rate of its stream in bytes per second; the lowest first.
    pub rates: Vec<f64>,
}

/// The measurements of one rail. Nodes are identified by their index in the node list.
#[derive(Clone, Debug)]
pub struct Rail {
    /// For each node, the number of consecutive partners with which it failed.
    pub strikes: Vec<u32>,
    /// For each node, why it is excluded from this rail; none if it is not.
    pub out: Vec<Option<String>>,
    /// For each sender and receiver, the rates in this direction.
    pub directions: BTreeMap<(usize, usize), DirectionRates>,
    /// For each pair, the distribution of its round trips of 8 bytes.
    pub latencies: BTreeMap<MatchUp, Summary>,
    /// For each pair that could not be measured, the reason.
    pub failed: BTreeMap<MatchUp, String>,
    /// The rates with growing numbers of pairs at once.
    pub loads: Vec<LoadRates>,
    /// The number of pairs that may be measured at once without disturbing each other.
    pub at_once: usize,
    /// The number of rounds so far.
    pub rounds: usize,
}

impl Rail {
    /// Creates a rail without measurements. For each node, `out` has the error if it has no agent.
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

    /// Returns, for each pair, the inverse of its shortest round trip plus [`GRACE_NS`], per
    /// second. Higher values are better, as for rates.
    pub fn round_trips(&self) -> Matrix {
        Matrix::by(self.out.len(), |from, to| {
            let latency = self.latencies.get(&(from.min(to), from.max(to)))?;
            Some(1e9 / (latency.min + GRACE_NS) as f64)
        })
    }

    /// Returns the rates from one node to another; adds an entry without rates if missing.
    pub fn way(&mut self, from: usize, to: usize) -> &mut DirectionRates {
        self.directions.entry((from, to)).or_default()
    }

    /// Records the round trips of a pair. Of several measurements, the one with the shortest round
    /// trip is kept.
    pub fn note_latency(&mut self, pair: MatchUp, latency: Summary) {
        if self.latencies.get(&pair).is_none_or(|before| latency.min < before.min) {
            self.latencies.insert(pair, latency);
        }
    }

    /// Records the rate of one stream. Of several measurements, the highest is kept, since other
    /// traffic only lowers rates.
    pub fn note_rate(&mut self, from: usize, to: usize, rate: f64, went: Option<TxStats>) {
        let way = self.way(from, to);
        if way.one.is_none_or(|before| before < rate) {
            way.one = Some(rate);
            way.went = went;
        }
    }

    /// Returns whether a pair can be measured: neither of its nodes is excluded from this rail, and
    /// the pair has not failed on it.
    pub fn may(&self, pair: &MatchUp) -> bool {
        self.out[pair.0].is_none() && self.out[pair.1].is_none() && !self.failed.contains_key(pair)
    }
}
