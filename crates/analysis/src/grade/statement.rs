//! What was published, and how runs judge it.

use serde::{Deserialize, Serialize};

use super::condition::Condition;
use super::error::EmulationError;
use super::published::Published;
use super::runs::{Interval, Runs};
use super::verdict::{Grade, Why};

/// A published statement. Runs give one number each for it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statement {
    /// A figure; runs measure it in the unit of the publication.
    Figure(Published),
    /// One of two is larger than the other, by this quotient of the first and the second; runs
    /// measure the quotient.
    Order(Published),
    /// A figure is at least this one; runs measure it in the unit of the publication.
    AtLeast(Published),
    /// The first of two is smaller than the second, by an unpublished quotient; runs measure the
    /// quotient.
    Below,
    /// A curve has its peak at this place; runs measure the [`lead`](super::lead) of that place.
    Peak(usize),
    /// A question is answered with yes; runs show any number if the answer is yes, and none
    /// otherwise.
    Answer,
}

impl Statement {
    /// Grades the statement by runs in the lab as it is (`bare`), and by runs with each of several
    /// conditions.
    pub fn grade(&self, bare: &Runs, with: &[(Condition, Runs)], error: &EmulationError) -> Grade {
        let Err(why) = self.holds(bare, error) else { return Grade::Reproduced };
        let mut closing = with.iter().filter(|(_, runs)| self.holds(runs, error).is_ok());
        let first = closing.next().map(|(condition, _)| condition);
        let sourced = |condition: &&Condition| condition.source().is_some();
        let found = first.into_iter().chain(closing.map(|(condition, _)| condition)).find(sourced);
        match (found, first) {
            // A condition explains what would not have been so without it, which void or wide runs
            // do not show.
            (Some(condition), _) if why.is_judged() => {
                Grade::Explained { by: condition.name().to_owned() }
            }
            (None, Some(condition)) if why.is_judged() => {
                Grade::Open(Why::Unsourced { condition: condition.name().to_owned() })
            }
            _ => Grade::Open(why),
        }
    }

    /// Returns why these runs do not have what was published; `Ok` if they have it.
    fn holds(&self, runs: &Runs, error: &EmulationError) -> Result<(), Why> {
        match self {
            Self::Figure(published) => {
                let interval = runs.interval(error)?.against(published, runs, error);
                if interval.meets(published) { Ok(()) } else { Err(Why::Outside) }
            }
            Self::Order(published) => {
                let first_is_smaller = match (published.most() < 1.0, published.least() > 1.0) {
                    (true, _) => true,
                    (_, true) => false,
                    _ => return Err(Why::NoOrder),
                };
                let interval = runs.interval(error)?;
                interval.is_on_side(first_is_smaller)?;
                let interval = interval.against(published, runs, error);
                if interval.meets(published) { Ok(()) } else { Err(Why::OtherSize) }
            }
            Self::AtLeast(published) => runs.interval(error)?.reaches(published),
            Self::Below => runs.interval(error)?.is_on_side(true),
            Self::Peak(_) => runs.interval(error)?.is_on_side(false).map_err(|why| match why {
                Why::NoOrder => Why::Flat,
                _ => Why::PeakElsewhere,
            }),
            Self::Answer => match runs.shown() {
                (valid, _) if valid < super::RUNS => Err(Why::Void { valid }),
                (_, true) => Ok(()),
                (_, false) => Err(Why::NotShown),
            },
        }
    }
}

impl Interval {
    /// Returns the interval that is compared with `published`: this one with a single figure. A
    /// published range has the spread of its runs already, so that the median must be in it, within
    /// the error of the emulation.
    fn against(self, published: &Published, runs: &Runs, error: &EmulationError) -> Self {
        match runs.median().filter(|_| published.least() < published.most()) {
            Some(median) => {
                let widen = error.share() * median.abs();
                Self { least: median - widen, most: median + widen }
            }
            None => self,
        }
    }

    /// Returns whether the interval has the published figure, or a part of the published range.
    fn meets(self, published: &Published) -> bool {
        self.least <= published.most() && published.least() <= self.most
    }

    /// Checks that all values are at least the published figure.
    fn reaches(self, published: &Published) -> Result<(), Why> {
        match published.least() {
            bound if self.least >= bound => Ok(()),
            bound if self.most < bound => Err(Why::Less),
            _ => Err(Why::NoOrder),
        }
    }

    /// Checks that all quotients are below 1, or above 1 if not `smaller`.
    fn is_on_side(self, smaller: bool) -> Result<(), Why> {
        let this = self.most < 1.0;
        let other = self.least > 1.0;
        match (this, other) {
            (false, false) => Err(Why::NoOrder),
            _ if this == smaller => Ok(()),
            _ => Err(Why::OtherWay),
        }
    }
}
