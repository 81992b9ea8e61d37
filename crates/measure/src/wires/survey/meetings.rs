//! Measurements of pairs of nodes by their agents.

use garland_analysis::conditions::Conditions;
use garland_control::{Pair, PairEnd, Party};
use garland_protocol::{Finding, Summary, TxStats};
use garland_sys::signal::Interrupts;

use garland_terminal::failure::{Failure, OrFailure};

/// The findings of one pair.
#[derive(Clone, Debug, Default)]
pub struct PairFindings {
    /// Bytes per second of all streams from the connecting node.
    pub forward: f64,
    /// Bytes per second of all streams to the connecting node.
    pub backward: f64,
    /// The kernel's statistics of a stream that the connecting node sent, and of one that the accepting node
    /// sent.
    pub went: [Option<TxStats>; 2],
    /// Times of round trips.
    pub latency: Option<Summary>,
    /// The conditions of the connecting node and of the accepting one.
    pub conditions: [Conditions; 2],
}

/// Agents that measure between pairs, until the user interrupts.
pub struct Meetings<'a> {
    party: Party,
    interrupts: &'a Interrupts,
    /// Whether the user interrupted.
    pub interrupted: bool,
}

impl<'a> Meetings<'a> {
    /// Measures with the agents of `party`.
    pub fn new(party: Party, interrupts: &'a Interrupts) -> Self {
        Self { party, interrupts, interrupted: false }
    }

    /// Returns whether the channel to a node's agent is open.
    pub fn has(&self, node: usize) -> bool {
        self.party.has(node)
    }

    /// Measures all pairs at once. Returns the end and the findings of each, in the same order; the
    /// findings are complete only if the end is [`PairEnd::Done`].
    pub fn round(&mut self, meetings: &[Pair]) -> Result<Vec<(PairEnd, PairFindings)>, Failure> {
        let mut found: Vec<PairFindings> =
            meetings.iter().map(|_| PairFindings::default()).collect();
        if self.interrupted {
            return Ok(found.into_iter().map(|none| (PairEnd::Interrupted, none)).collect());
        }
        let mut take = |at: usize, node: usize, finding: Finding| {
            if let (Some(got), Some(pair)) = (found.get_mut(at), meetings.get(at)) {
                got.take(finding, node == pair.to);
            }
        };
        let ends = self.party.round(meetings, Some(self.interrupts), &mut take);
        let ends = ends.or_nothing("failed to wait for the agents")?;
        self.interrupted |= ends.contains(&PairEnd::Interrupted);
        Ok(ends.into_iter().zip(found).collect())
    }
}

impl PairFindings {
    /// Adds a finding of the accepting agent if `dialled`, otherwise of the connecting one.
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
