//! The statements of a scenario's file: each names a published fact, and what of the measurements
//! shows whether it is so.

use std::fmt::Display;

use garland_analysis::grade::{Condition, Figure, Published, Runs, Sample, Statement};
use garland_core::units::bytes;
use garland_terminal::failure::Failure;
use serde::{Deserialize, Serialize};

use crate::claim::Measure;
use crate::facts::{Fact, Facts};

/// Entry of `[[statement]]`: a published fact, and the measurements that grade it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Line {
    /// The id of the fact in the list of facts; `None` if the file states it itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fact: Option<String>,
    /// What was published, in words, where the file states it itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    /// The figure, to the digit, where the file states it itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
    /// Whether the statement is shown and not counted, where the file states it itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub beside: bool,
    /// The measurement that must give the figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figure: Option<String>,
    /// The least value of the measurement `figure`, if the fact has no figure of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// The most value of the measurement `figure`, if the fact has no figure of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// Measured quotients that must all be below 1.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<String>,
    /// Measured quotients that must all be above 1.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub above: Vec<String>,
    /// Lists of measurements, each of which must ascend.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ascending: Vec<Vec<String>>,
    /// Measurements of which the largest is at most `at_most` times the smallest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alike: Vec<String>,
    /// A condition that must bring a share of what the lab lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<Portion>,
}

/// A cause that was named: with this condition alone, the lab must come so much of the way from
/// what it measures without to what was published.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Portion {
    /// The id of the fact with the published figure.
    pub of: String,
    /// The condition's name.
    pub by: String,
    /// The least share.
    pub at_least: f64,
}

/// Entry of `[[constant]]`: a constant of the lab that was fitted on published figures, or is one.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    /// What it is.
    pub name: String,
    /// The ids of the facts that it was fitted on, or that it is; these are not counted.
    pub on: Vec<String>,
    /// Whether it is in all labs of the scenario, and not only in those with a condition.
    pub everywhere: bool,
}

/// Entry of `[[law]]`: stages that bytes pass one after the other, which a lab has not: the figures
/// of `measures` take this much longer.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Law {
    /// What it is.
    pub name: String,
    /// The measured seconds that it adds to.
    pub measures: Vec<String>,
    /// The number of bytes.
    pub bytes: String,
    /// The ids of the facts that have the rates of the stages, in MB/s.
    pub rates: Vec<String>,
}

impl Line {
    /// Returns the fact of the statement; `None` if the file states it itself.
    pub fn known(&self) -> Option<&'static Fact> {
        self.fact.as_deref().and_then(|id| Facts::embedded().find(id))
    }

    /// Returns the published figure; `None` if the statement has none.
    pub fn published(&self) -> Option<Figure> {
        match self.known() {
            Some(fact) => fact.figure(),
            None => self.published.clone().map(Figure::new),
        }
    }

    /// Checks that the statement names a known fact or says what it is, and has one test.
    pub fn check(&self) -> Result<(), Failure> {
        let name = self.fact.as_deref().or(self.what.as_deref()).unwrap_or("a statement");
        match (&self.fact, &self.what) {
            (Some(id), None) if self.known().is_none() => {
                return refuse(format!("`statement` has {id}, which is not in the list of facts"));
            }
            (Some(_), Some(_)) | (None, None) => {
                return refuse("a `statement` must have either a `fact` or a `what`");
            }
            _ => {}
        }
        let tests = [
            self.figure.is_some(),
            !(self.below.is_empty() && self.above.is_empty() && self.ascending.is_empty()),
            !self.alike.is_empty(),
            self.share.is_some(),
        ];
        if tests.iter().filter(|is_there| **is_there).count() > 1 {
            return refuse(format!("{name} has more than one test"));
        }
        let is_bound = self.at_least.is_some() || self.at_most.is_some();
        if self.figure.is_some() && self.published().is_none() && !is_bound {
            return refuse(format!("{name} has no figure to compare with"));
        }
        if let Some(Portion { of, .. }) = &self.share
            && Facts::embedded().find(of).and_then(Fact::figure).is_none()
        {
            return refuse(format!("{name} is about {of}, which is no fact with a figure"));
        }
        Ok(())
    }

    /// Returns the names of all measurements of the test.
    pub fn measures(&self, all: &[Self]) -> Vec<String> {
        let of_share = self.share.as_ref().and_then(|share| share.measure(all));
        let figure = self.figure.iter().chain(of_share);
        let orders = self.below.iter().chain(&self.above).chain(self.ascending.iter().flatten());
        figure.chain(orders).chain(&self.alike).cloned().collect()
    }

    /// Returns what must hold of the values of the test; `None` if the statement has no test.
    pub fn statement(&self) -> Option<Statement> {
        if let Some(share) = &self.share {
            return Some(Statement::AtLeast(share.at_least));
        }
        if self.figure.is_none() && self.alike.is_empty() {
            let is_order = !self.measures(&[]).is_empty();
            return is_order.then_some(Statement::Below);
        }
        match (self.at_least, self.at_most) {
            (Some(least), _) => Some(Statement::AtLeast(least)),
            (_, Some(most)) => Some(Statement::AtMost(most)),
            _ => self.published().map(Statement::Figure),
        }
    }

    /// Returns the values of the test in all repetitions: those of the lab as it is, and those with
    /// each condition that any of its measurements has. `all` are all statements of the file.
    pub fn values(&self, measures: &[Measure], all: &[Self]) -> (Runs, Vec<(Condition, Runs)>) {
        let names = self.measures(all);
        let used: Vec<&Measure> =
            names.iter().filter_map(|name| measures.iter().find(|one| one.what == *name)).collect();
        // The lab does not measure all that the statement needs.
        if used.len() < names.len() || used.is_empty() {
            return (Runs::default(), Vec::new());
        }
        let count = used.iter().map(|one| one.runs.samples().len()).max().unwrap_or(0);
        let of = |condition: Option<&Condition>| {
            let runs = (0..count).map(|at| self.value(&used, all, condition, at));
            Runs::new(runs.collect())
        };
        let mut conditions: Vec<&Condition> = Vec::new();
        for (condition, _) in used.iter().flat_map(|one| &one.with) {
            if !conditions.contains(&condition) {
                conditions.push(condition);
            }
        }
        if let Some(share) = &self.share {
            let is_tried = used.iter().any(|one| one.with(Some(&share.by)).is_some());
            let runs = if is_tried { of(None) } else { Runs::default() };
            return (runs, Vec::new());
        }
        let with = conditions.into_iter().map(|one| (one.clone(), of(Some(one))));
        (of(None), with.collect())
    }

    /// Returns the value of the test in repetition `at`, void if any sample of it is.
    fn value(
        &self,
        used: &[&Measure],
        all: &[Self],
        condition: Option<&Condition>,
        at: usize,
    ) -> Sample {
        let name = condition.map(Condition::name);
        let mut void = false;
        let mut is_with = condition.is_none();
        let mut sample = |what: &str, name: Option<&str>| -> Option<f64> {
            let measure = used.iter().find(|one| one.what == what)?;
            let with = measure.with(name);
            // What a condition does not concern is as it is without.
            let sample = with.unwrap_or(&measure.runs).samples().get(at)?;
            void |= sample.void;
            is_with |= with.is_some() && sample.value.is_some();
            sample.value
        };
        let value = if let Some(share) = &self.share {
            share.value(all, &mut sample)
        } else if let Some(figure) = &self.figure {
            sample(figure, name)
        } else if !self.alike.is_empty() {
            let values = self.alike.iter().map(|one| sample(one, name));
            let values: Option<Vec<f64>> = values.collect();
            values.map(|values| {
                let largest = values.iter().copied().fold(f64::MIN, f64::max);
                largest / values.into_iter().fold(f64::MAX, f64::min)
            })
        } else {
            let mut quotients = Vec::new();
            quotients.extend(self.below.iter().map(|one| sample(one, name)));
            quotients.extend(self.above.iter().map(|one| sample(one, name).map(f64::recip)));
            for pair in self.ascending.iter().flat_map(|list| list.windows(2)) {
                let first = sample(&pair[0], name);
                quotients.push(first.zip(sample(&pair[1], name)).map(|(one, two)| one / two));
            }
            // The worst of all pairs: an order is one statement.
            let quotients: Option<Vec<f64>> = quotients.into_iter().collect();
            quotients.and_then(|all| all.into_iter().reduce(f64::max))
        };
        let value = value.filter(|_| is_with);
        value.map_or_else(Sample::none, Sample::new).voided(void)
    }
}

impl Portion {
    /// Returns the name of the measurement of the fact, from the statement about it.
    fn measure<'a>(&self, all: &'a [Line]) -> Option<&'a String> {
        let line = all.iter().find(|line| line.fact.as_deref() == Some(&self.of))?;
        line.figure.as_ref()
    }

    /// Returns the part of the way to the published figure that the condition brings.
    fn value(
        &self,
        all: &[Line],
        sample: &mut dyn FnMut(&str, Option<&str>) -> Option<f64>,
    ) -> Option<f64> {
        let then = Facts::embedded().find(&self.of)?.figure()?.published.middle();
        let what = self.measure(all)?;
        let bare = sample(what, None)?;
        let with = sample(what, Some(&self.by))?;
        Some((with - bare) / (then - bare))
    }
}

impl Law {
    /// Checks that the bytes and the rates can be read.
    pub fn check(&self) -> Result<(), Failure> {
        match self.seconds() {
            Some(_) => Ok(()),
            None => refuse(format!("{}: `bytes` or `rates` cannot be read", self.name)),
        }
    }

    /// Returns the seconds that the stages take one after the other.
    fn seconds(&self) -> Option<f64> {
        let length = bytes::parse(&self.bytes).ok()? as f64 / 1e6;
        let rates = self.rates.iter().map(|id| {
            let figure = Facts::embedded().find(id)?.figure()?;
            Some(length / figure.published.middle()).filter(|seconds| seconds.is_finite())
        });
        rates.sum()
    }

    /// Adds what the law computes to the measurements that it concerns.
    pub fn apply(&self, measures: &mut [Measure]) {
        let Some(seconds) = self.seconds() else { return };
        let computed = Condition::law(&self.name, self.rates.clone());
        for measure in measures.iter_mut().filter(|one| self.measures.contains(&one.what)) {
            let later = |sample: &Sample| Sample {
                value: sample.value.map(|value| value + seconds),
                ..*sample
            };
            let runs = Runs::new(measure.runs.samples().iter().map(later).collect());
            measure.with.push((computed.clone(), runs));
        }
    }
}

/// Returns the error that `problem` is wrong with the file of a scenario.
fn refuse<T>(problem: impl Display) -> Result<T, Failure> {
    Err(Failure::usage(problem))
}
