//! Measurements of pairs of nodes, which their agents carry out: the driver of a survey and of a
//! sweep.

use garland_control::{Session, meet};
use garland_protocol::operation::wires::{MetPair, PairFindings, Progress, Survey};
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

    /// Holds the meetings of `survey` until it is over. Calls `tell` with a line of progress before
    /// each round.
    pub fn hold(
        &mut self,
        survey: &mut Survey,
        tell: &mut dyn FnMut(String),
    ) -> Result<(), Failure> {
        while let Some(step) = survey.begin_step() {
            step.progress.into_iter().for_each(|progress| tell(line(progress)));
            let met = self.round(&step.meetings)?;
            survey.end_step(met, self.session.closed());
        }
        Ok(())
    }

    /// Measures all pairs at once. Returns the results in the order of `meetings`.
    pub fn round(&mut self, meetings: &[Pair]) -> Result<Vec<MetPair>, Failure> {
        let ends = meet(&mut self.session, meetings);
        let ends = ends.or_nothing("cannot wait for the agents")?;
        let met = |((end, found), pair): ((PairEnd, Vec<_>), &Pair)| match end {
            PairEnd::Done => Ok(Box::new(PairFindings::combine(found, pair))),
            end => Err(end),
        };
        let ends: Vec<_> = ends.zip(meetings).map(met).collect();
        self.interrupted |= ends.iter().any(|end| matches!(end, Err(PairEnd::Interrupted)));
        Ok(ends)
    }
}

/// Returns a line that says how far a survey is.
fn line(progress: Progress) -> String {
    match progress {
        Progress::Round { number, count, rail } => {
            let of_rail = rail.map_or_else(String::new, |rail| format!(" of rail {rail}"));
            format!("measuring: round {number} of {count}{of_rail}")
        }
        Progress::Alone { number, count } => format!("measuring: pair {number} of {count} alone"),
    }
}
