//! Lets pairs of nodes meet, and gathers what each pair found.

use garland_analysis::conditions::Conditions;
use garland_control::{Pair, PairEnd, Party};
use garland_protocol::{Finding, Summary, TxStats};
use garland_sys::signal::Interrupts;

use garland_terminal::failure::{Failure, OrFailure};

/// What came of one meeting.
#[derive(Clone, Debug, Default)]
pub struct Got {
    /// Bytes per second of all streams from the node that dialled.
    pub forward: f64,
    /// Bytes per second of all streams to the node that dialled.
    pub backward: f64,
    /// The kernel's accounts of a stream, by whether the sender was dialled.
    pub went: [Option<TxStats>; 2],
    /// Round trips.
    pub latency: Option<Summary>,
    /// The conditions of both, by whether one was dialled.
    pub conditions: [Conditions; 2],
}

/// How a meeting ended.
pub enum Met {
    /// As planned.
    Got(Box<Got>),
    /// Not: whose fault it seems, and why.
    Failed(usize, String),
    /// The user gave up before.
    Not,
}

/// Nodes that can meet, until the user gives up.
pub struct Meets<'a> {
    party: Party,
    interrupts: &'a Interrupts,
    /// Whether the user gave up.
    pub interrupted: bool,
}

impl<'a> Meets<'a> {
    /// The agents of `party`.
    pub fn new(party: Party, interrupts: &'a Interrupts) -> Self {
        Self { party, interrupts, interrupted: false }
    }

    /// Whether there is still a channel to a node's agent.
    pub fn has(&self, node: usize) -> bool {
        self.party.has(node)
    }

    /// Lets all pairs meet at once; how each ended, in their order.
    pub fn round(&mut self, meetings: &[Pair]) -> Result<Vec<Met>, Failure> {
        if self.interrupted {
            return Ok(meetings.iter().map(|_| Met::Not).collect());
        }
        let mut found: Vec<Got> = meetings.iter().map(|_| Got::default()).collect();
        let mut take = |at: usize, node: usize, finding: Finding| {
            if let (Some(got), Some(pair)) = (found.get_mut(at), meetings.get(at)) {
                got.take(finding, node == pair.to);
            }
        };
        let ends = self.party.round(meetings, Some(self.interrupts), &mut take);
        let ends = ends.or_nothing("waiting for the agents")?;
        let met = |(end, got): (PairEnd, Got)| match end {
            PairEnd::Done => Met::Got(Box::new(got)),
            PairEnd::Failed(node, reason) => Met::Failed(node, reason),
            PairEnd::Interrupted => Met::Not,
        };
        self.interrupted |= ends.contains(&PairEnd::Interrupted);
        Ok(ends.into_iter().zip(found).map(met).collect())
    }
}

impl Got {
    /// A finding, of the agent that was dialled or of the one that dialled.
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
