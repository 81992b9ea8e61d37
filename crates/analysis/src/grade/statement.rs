//! What was published, and how runs judge it.

use serde::{Deserialize, Serialize};

use super::condition::Condition;
use super::error::EmulationError;
use super::limits::{RUNS, WIDEST};
use super::published::Published;
use super::runs::{Interval, Runs};
use super::verdict::{Grade, Noise, Why};

/// A published figure with its resolution.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Figure {
    /// The figure, or the least and the most of several runs.
    pub published: Published,
    /// Half a unit of its last digit, in its unit: what was published may have been so much less or
    /// more.
    pub resolution: f64,
}

/// A published statement. Runs give one number each for it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statement {
    /// A figure; runs measure it in the unit of the publication.
    Figure(Figure),
    /// A figure is at least this one; runs measure it in the unit of the publication.
    AtLeast(f64),
    /// A figure is at most this one; runs measure it in the unit of the publication.
    AtMost(f64),
    /// The first of two is smaller than the second, by an unpublished quotient; runs measure the
    /// quotient. Of several pairs they measure the largest quotient.
    Below,
    /// A question is answered with yes; runs show any number if the answer is yes, and none
    /// otherwise.
    Answer,
}

/// Why runs do not have what was published.
enum Miss {
    NotMeasured,
    Noise(Noise),
    Differs { why: Why, factor: Option<f64> },
}

impl Figure {
    /// Creates the figure of a text, with half a unit of its last digit.
    pub fn new(published: Published) -> Self {
        Self { resolution: published.half_unit(), published }
    }

    /// Returns all values that the printed figure may stand for.
    fn values(&self) -> Interval {
        let Self { published, resolution } = self;
        Interval { least: published.least(), most: published.most() }.widened(*resolution)
    }

    /// Returns a measured value divided by this figure, or by the middle of a range; `None` unless
    /// both are on the same side of 0.
    fn factor(&self, value: f64) -> Option<f64> {
        Some(value / self.published.middle()).filter(|factor| factor.is_finite() && *factor > 0.0)
    }
}

impl Statement {
    /// Grades the statement by runs in the lab as it is (`bare`), and by runs with each of several
    /// conditions. `constants` describes the constants that are in the lab in all of these runs;
    /// `None` if there are none.
    pub fn grade(
        &self,
        bare: &Runs,
        with: &[(Condition, Runs)],
        constants: Option<&str>,
        error: &EmulationError,
    ) -> Grade {
        let share = error.share();
        let miss = match (self.holds(bare, share), constants) {
            (Ok(()), None) => return Grade::Reproduced,
            (Ok(()), Some(from)) => {
                return Grade::Follows { from: from.to_owned(), off: self.off(bare) };
            }
            (Err(miss), _) => miss,
        };
        let closing = with
            .iter()
            .filter(|(condition, runs)| self.holds(runs, condition.error(share)).is_ok());
        let closing: Vec<_> = closing.collect();
        let (why, factor) = match miss {
            Miss::NotMeasured => return Grade::NotMeasured,
            Miss::Noise(noise) => return Grade::TooNoisy(noise),
            // A condition explains what would not have been so without it, which void or wide runs
            // do not show.
            Miss::Differs { why, factor } => (why, factor),
        };
        let sourced = closing.iter().find(|(condition, _)| condition.source().is_some());
        if let Some((condition, _)) = sourced {
            return Grade::Explained { by: condition.name().to_owned() };
        }
        let fitted = closing.iter().find(|(condition, _)| !condition.constants().is_empty());
        if let Some((condition, runs)) = fitted {
            let inputs = condition.constants().join(", ");
            let from = format!("{} ({inputs})", condition.name());
            return Grade::Follows { from, off: self.off(runs) };
        }
        match closing.first() {
            Some((condition, _)) => {
                let why = Why::Unsourced { condition: condition.name().to_owned() };
                Grade::Differs { why, factor }
            }
            None => Grade::Differs { why, factor },
        }
    }

    /// Returns by how much the median is off, as a share of a published figure.
    fn off(&self, runs: &Runs) -> Option<f64> {
        match self {
            Self::Figure(figure) => Some(figure.factor(runs.median()?)? - 1.0),
            _ => None,
        }
    }

    /// Returns why these runs do not have what was published; `Ok` if they have it. `error` is by
    /// how much they may be off, as a share of the median.
    fn holds(&self, runs: &Runs, error: f64) -> Result<(), Miss> {
        let (valid, all_show) = runs.shown();
        if runs.samples().is_empty() {
            return Err(Miss::NotMeasured);
        }
        if valid < RUNS {
            return Err(Miss::Noise(Noise::Void { valid }));
        }
        let differs = |why, factor| Err(Miss::Differs { why, factor });
        let (Some(median), Some(interval), true) = (runs.median(), runs.interval(), all_show)
        else {
            return differs(Why::NotShown, None);
        };
        let widen = error * median.abs();
        let interval = interval.widened(widen);
        let half = (interval.most - interval.least) / 2.0;
        let is_wide = half > WIDEST * median.abs();
        let wide = || Err(Miss::Noise(Noise::Wide { half: half / median.abs() }));
        let side = |bound: f64, below: bool, other: Why, tie: Why| {
            let this = if below { interval.most < bound } else { interval.least > bound };
            let far = if below { interval.least > bound } else { interval.most < bound };
            let factor = Some(median / bound).filter(|factor| *factor > 0.0);
            match (this, far) {
                (true, _) => Ok(()),
                (_, true) => differs(other, factor),
                _ if is_wide => wide(),
                _ => differs(tie, factor),
            }
        };
        match self {
            Self::Figure(figure) => {
                let published = &figure.published;
                let excluded = !interval.meets(figure.values());
                // A range has the spread of its runs already, so that the median must be in it.
                let middle = Interval { least: median, most: median }.widened(widen);
                let is_range = published.least() < published.most();
                let met = if is_range { middle.meets(figure.values()) } else { !excluded };
                match (met, is_wide) {
                    (true, false) => Ok(()),
                    (false, _) if excluded || !is_wide => {
                        differs(Why::Outside, figure.factor(median))
                    }
                    _ => wide(),
                }
            }
            Self::AtLeast(bound) => side(*bound, false, Why::Less, Why::NoOrder),
            Self::AtMost(bound) => side(*bound, true, Why::More, Why::NoOrder),
            Self::Below => side(1.0, true, Why::OtherWay, Why::NoOrder),
            Self::Answer => Ok(()),
        }
    }
}
