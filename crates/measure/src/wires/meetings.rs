//! Measurements of pairs of nodes, which their agents carry out.

use garland_control::{Session, meet};
use garland_protocol::operation::wires::{MetPair, PairFindings};
use garland_protocol::operation::{Pair, PairEnd};
use garland_terminal::failure::{Failure, OrFailure};

/// A session with the agents that measure pairs.
pub struct Meetings<'a> {
    session: Session<'a>,
    /// Whether the user interrupted a round.
    pub interrupted: bool,
}

impl<'a> Meetings<'a> {
    /// Creates the measurements of `session`, with no round run yet.
    pub fn new(session: Session<'a>) -> Self {
        Self { session, interrupted: false }
    }

    /// Returns whether the control channel to a node's agent is open.
    pub fn has(&self, node: usize) -> bool {
        self.session.closed()[node].is_none()
    }

    /// Measures all pairs at once. Returns the results in the order of `meetings`.
    pub fn round(&mut self, meetings: &[Pair]) -> Result<Vec<MetPair>, Failure> {
        let ends = meet(&mut self.session, meetings);
        let ends = ends.or_nothing("failed to wait for the agents")?;
        let met = |((end, found), pair): ((PairEnd, Vec<_>), &Pair)| match end {
            PairEnd::Done => Ok(Box::new(PairFindings::combine(found, pair))),
            end => Err(end),
        };
        let ends: Vec<_> = ends.zip(meetings).map(met).collect();
        self.interrupted |= ends.iter().any(|end| matches!(end, Err(PairEnd::Interrupted)));
        Ok(ends)
    }
}
