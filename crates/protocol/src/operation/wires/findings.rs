//! What the agents of a pair have found, taken together.

use garland_analysis::conditions::Conditions;

use super::super::meetings::{Pair, PairEnd};
use crate::measure::{Finding, Summary, TxStats};

/// The findings of one pair, in which one node connects to the other.
#[derive(Clone, Debug, Default)]
pub struct PairFindings {
    /// The total rate of all streams from the connecting node, in bytes per second.
    pub forward: f64,
    /// The total rate of all streams to the connecting node, in bytes per second.
    pub backward: f64,
    /// Statistics from the sender's kernel: of a stream that the connecting node sent, and of one
    /// that the accepting node sent.
    pub went: [Option<TxStats>; 2],
    /// The distribution of the round-trip times; none if they were not measured.
    pub latency: Option<Summary>,
    /// The conditions of the connecting node and of the accepting one.
    pub conditions: [Conditions; 2],
}

/// The findings of a pair, or why some of them are missing.
pub type MetPair = Result<Box<PairFindings>, PairEnd>;

impl PairFindings {
    /// Combines the findings of a pair. Each has the index of the node that reported the finding.
    #[must_use]
    pub fn combine(found: Vec<(usize, Finding)>, pair: &Pair) -> Self {
        let mut sum = Self::default();
        found.into_iter().for_each(|(node, finding)| sum.take(finding, node == pair.to));
        sum
    }

    /// Adds a finding, reported by the accepting node if `dialled`, otherwise by the connecting
    /// one.
    fn take(&mut self, finding: Finding, dialled: bool) {
        match finding {
            Finding::RxStats(came) => {
                let rate = came.bytes as f64 * 1e9 / came.elapsed_ns.max(1) as f64;
                *(if dialled { &mut self.forward } else { &mut self.backward }) += rate;
            }
            Finding::TxStats(went) => self.went[usize::from(dialled)] = Some(went),
            Finding::Ping(took) => self.latency = Some(took.sojourn),
            Finding::Conditions(more) => self.conditions[usize::from(dialled)].extend(more),
            Finding::Timer(_) | Finding::Fabric(_) => {}
        }
    }
}
