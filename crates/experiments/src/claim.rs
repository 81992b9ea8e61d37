//! What one repetition of an experiment measured.

use garland_analysis::grade::{Condition, Figure, Published, Runs, Sample, Statement};
use serde::{Deserialize, Serialize};

/// What one repetition measured of one quantity.
#[derive(Clone, Debug)]
pub struct Claim {
    pub(crate) what: String,
    pub(crate) unit: &'static str,
    /// What the experiment itself expects, without any publication; `None` if nothing.
    pub(crate) expected: Option<Statement>,
    pub(crate) sample: Sample,
    pub(crate) with: Vec<(Condition, Sample)>,
}

/// What all repetitions measured of one quantity. Statements of a scenario's file name it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Measure {
    /// A description of the quantity.
    pub what: String,
    /// The unit of the values; empty if they have none.
    pub unit: String,
    /// What each run measured, the void ones too.
    pub runs: Runs,
    /// What runs with a condition of the time measured.
    pub with: Vec<(Condition, Runs)>,
    /// What the experiment itself expects, without any publication; `None` if nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Statement>,
}

impl Claim {
    /// Creates a measurement of `what`, in `unit`.
    pub fn measured(what: impl Into<String>, unit: &'static str, sample: Sample) -> Self {
        Self { what: what.into(), unit, expected: None, sample, with: Vec::new() }
    }

    /// Creates a measurement of a quotient.
    pub fn quotient(what: impl Into<String>, sample: Sample) -> Self {
        Self::measured(what, "times", sample)
    }

    /// Creates a measurement that must give a figure which the experiment has put in.
    pub fn put_in(
        what: impl Into<String>,
        unit: &'static str,
        figure: &Published,
        sample: Sample,
    ) -> Self {
        let figure = Figure { published: figure.clone(), resolution: 0.0 };
        Self { expected: Some(Statement::Figure(figure)), ..Self::measured(what, unit, sample) }
    }

    /// Creates the answer to a question that the experiment expects to be answered with yes.
    pub fn answer(what: impl Into<String>, yes: bool) -> Self {
        let sample = if yes { Sample::new(1.0) } else { Sample::none() };
        Self { expected: Some(Statement::Answer), ..Self::measured(what, "", sample) }
    }

    /// Adds what was measured with a condition of the time.
    #[must_use]
    pub fn with(mut self, condition: Condition, sample: Sample) -> Self {
        self.with.push((condition, sample));
        self
    }

    /// Marks what was measured as void if the emulator lagged.
    #[must_use]
    pub fn voided(self, lagged: bool) -> Self {
        Self { sample: self.sample.voided(lagged), ..self }
    }
}

impl Measure {
    /// Gathers what all repetitions measured, in the order of the first one.
    pub fn gather(repetitions: &[Vec<Claim>]) -> Vec<Self> {
        let first = repetitions.first().into_iter().flatten();
        first.map(|claim| Self::from_claim(claim, repetitions)).collect()
    }

    /// Gathers what all `repetitions` measured of the quantity of `claim`.
    fn from_claim(claim: &Claim, repetitions: &[Vec<Claim>]) -> Self {
        let same: Vec<Option<&Claim>> =
            repetitions.iter().map(|all| all.iter().find(|one| one.what == claim.what)).collect();
        let gather = |sample: &dyn Fn(&Claim) -> Option<Sample>| {
            let samples = same.iter().map(|one| one.and_then(sample).unwrap_or_else(Sample::none));
            Runs::new(samples.collect())
        };
        let mut conditions: Vec<&Condition> = Vec::new();
        for (condition, _) in same.iter().flatten().flat_map(|one| &one.with) {
            if !conditions.contains(&condition) {
                conditions.push(condition);
            }
        }
        let with = conditions.into_iter().map(|condition| {
            let runs = gather(&|one| {
                one.with.iter().find(|(known, _)| known == condition).map(|(_, sample)| *sample)
            });
            (condition.clone(), runs)
        });
        Self {
            what: claim.what.clone(),
            unit: claim.unit.to_owned(),
            runs: gather(&|one| Some(one.sample)),
            with: with.collect(),
            expected: claim.expected.clone(),
        }
    }

    /// Returns the samples with a condition of this name, or those without any if it is `None`;
    /// `None` if nothing was measured with the condition.
    pub(crate) fn with(&self, condition: Option<&str>) -> Option<&Runs> {
        match condition {
            None => Some(&self.runs),
            Some(name) => {
                self.with.iter().find(|(known, _)| known.name() == name).map(|(_, runs)| runs)
            }
        }
    }
}
