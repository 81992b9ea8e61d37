//! A published statement beside what one repetition of an experiment measured for it.

use garland_analysis::grade::{Condition, Published, Sample, Statement, lead};

/// A published statement, and what one repetition measured.
#[derive(Clone, Debug)]
pub struct Claim {
    pub(crate) what: String,
    pub(crate) unit: &'static str,
    pub(crate) statement: Statement,
    pub(crate) sample: Sample,
    pub(crate) with: Vec<(Condition, Sample)>,
    pub(crate) calibrated: Option<String>,
}

impl Claim {
    /// Claims that `what` is a published figure, in `unit`.
    pub fn figure(
        what: impl Into<String>,
        unit: &'static str,
        published: &Published,
        sample: Sample,
    ) -> Self {
        Self::new(what, unit, Statement::Figure(published.clone()), sample)
    }

    /// Claims that `what` is at least a published figure, in `unit`.
    pub fn at_least(
        what: impl Into<String>,
        unit: &'static str,
        published: &Published,
        sample: Sample,
    ) -> Self {
        Self::new(what, unit, Statement::AtLeast(published.clone()), sample)
    }

    /// Claims the order of two published figures, of which `sample` is the measured quotient.
    /// `None` if the published figures have no order.
    pub fn order(
        what: impl Into<String>,
        first: &Published,
        second: &Published,
        sample: Sample,
    ) -> Option<Self> {
        let quotient = first.over(second)?;
        let is_order = quotient.most() < 1.0 || quotient.least() > 1.0;
        is_order.then(|| Self::new(what, "times", Statement::Order(quotient), sample))
    }

    /// Claims that the first of two is smaller, of which `sample` is the measured quotient.
    pub fn below(what: impl Into<String>, sample: Sample) -> Self {
        Self::new(what, "times", Statement::Below, sample)
    }

    /// Claims that a curve has its peak at `place`.
    pub fn peak(what: impl Into<String>, place: usize, curve: &[(usize, f64)]) -> Self {
        let sample = lead(curve, place).map_or_else(Sample::none, Sample::new);
        Self::new(what, "times the next", Statement::Peak(place), sample)
    }

    /// Claims that a question is answered with yes, as it was here if `yes`.
    pub fn answer(what: impl Into<String>, yes: bool) -> Self {
        let sample = if yes { Sample::new(1.0) } else { Sample::none() };
        Self::new(what, "", Statement::Answer, sample)
    }

    fn new(
        what: impl Into<String>,
        unit: &'static str,
        statement: Statement,
        sample: Sample,
    ) -> Self {
        let what = what.into();
        Self { what, unit, statement, sample, with: Vec::new(), calibrated: None }
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

    /// Marks the claim as one to which the emulation was fitted, as `reason` says. It is shown and
    /// not counted.
    #[must_use]
    pub fn calibrated(self, reason: Option<&str>) -> Self {
        Self { calibrated: reason.map(str::to_owned).or(self.calibrated), ..self }
    }
}
