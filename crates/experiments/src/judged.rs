//! Published statements with their grades.

use std::fmt::{self, Display, Formatter};

use garland_analysis::grade::{Condition, EmulationError, Grade, RUNS, Runs, Sample, Statement};
use serde::{Deserialize, Serialize};

use super::claim::Claim;
use super::sections::Unmeasured;

/// The parts of an answer, the open statements first; [`Judged::part`] returns one of them.
pub const PARTS: [&str; 5] =
    ["open", "ungraded", "explained", "reproduced", "calibrated, not counted"];

/// A published statement, all runs about it, and its grade.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Judged {
    /// A description of what was published.
    pub what: String,
    /// The unit of the figures; empty if they have none.
    pub unit: String,
    /// What was published.
    pub statement: Statement,
    /// What each run measured, the void ones too.
    pub runs: Runs,
    /// What runs with a condition of the time measured.
    pub with: Vec<(Condition, Runs)>,
    /// Why the emulation was fitted to this statement, which then does not count; `None` if it was
    /// not.
    pub calibrated: Option<String>,
    /// The grade; `None` if there are fewer repetitions than a grade needs.
    pub grade: Option<Grade>,
}

/// Gathers what all repetitions of an experiment say about each statement, and grades it. Each
/// element of `repetitions` has the same statements. `unmeasured` statements follow, which are
/// open.
pub fn judge(
    repetitions: &[Vec<Claim>],
    unmeasured: &[Unmeasured],
    error: &EmulationError,
) -> Vec<Judged> {
    let is_graded = repetitions.len() >= RUNS;
    let missing = |one: &Unmeasured| Judged {
        what: one.what.clone(),
        unit: one.unit.clone(),
        statement: Statement::Figure(one.figure.clone()),
        runs: Runs::default(),
        with: Vec::new(),
        calibrated: None,
        grade: None,
    };
    let first = repetitions.first().into_iter().flatten();
    let measured = first.map(|claim| gathered(claim, repetitions));
    let all = measured.chain(unmeasured.iter().map(missing));
    all.map(|one| if is_graded { one.graded(error) } else { one }).collect()
}

/// Gathers what all `repetitions` say about the statement of `claim`, ungraded.
fn gathered(claim: &Claim, repetitions: &[Vec<Claim>]) -> Judged {
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
    Judged {
        what: claim.what.clone(),
        unit: claim.unit.to_owned(),
        statement: claim.statement.clone(),
        runs: gather(&|one| Some(one.sample)),
        with: with.collect(),
        calibrated: claim.calibrated.clone(),
        grade: None,
    }
}

impl Judged {
    /// Returns the statement with the grade that its runs give it.
    #[must_use]
    pub fn graded(self, error: &EmulationError) -> Self {
        let grade = Some(self.statement.grade(&self.runs, &self.with, error));
        Self { grade, ..self }
    }

    /// Returns whether the statement is open and counts.
    pub fn is_open(&self) -> bool {
        self.calibrated.is_none() && self.grade.as_ref().is_some_and(Grade::is_open)
    }

    /// Returns the part of an answer that the statement belongs to.
    pub(crate) fn part(&self) -> &'static str {
        let [open, ungraded, explained, reproduced, calibrated] = PARTS;
        match (&self.calibrated, &self.grade) {
            (Some(_), _) => calibrated,
            (None, None) => ungraded,
            (None, Some(Grade::Open(_))) => open,
            (None, Some(Grade::Explained { .. })) => explained,
            (None, Some(Grade::Reproduced)) => reproduced,
        }
    }

    /// Returns what was published, as text.
    pub fn published(&self) -> String {
        match &self.statement {
            Statement::Figure(published) | Statement::Order(published) => published.to_string(),
            Statement::AtLeast(published) => format!("at least {published}"),
            Statement::Below => "below 1".to_owned(),
            Statement::Peak(place) => format!("peak at {place}"),
            Statement::Answer => "yes".to_owned(),
        }
    }

    /// Returns the grade and its reason, as text.
    pub fn verdict(&self) -> String {
        match (&self.calibrated, &self.grade) {
            (Some(reason), _) => format!("calibrated: {reason}"),
            (None, Some(grade)) => grade.to_string(),
            (None, None) => "ungraded".to_owned(),
        }
    }

    /// Returns all measured values, as text: `void` follows those of void runs.
    pub fn measured(&self) -> String {
        let yes_or_no = self.statement == Statement::Answer;
        let one = |sample: &Sample| {
            let value = match sample.value {
                Some(_) if yes_or_no => "yes".to_owned(),
                None if yes_or_no => "no".to_owned(),
                Some(value) => digits(value),
                None => "-".to_owned(),
            };
            if sample.void { format!("{value} (void)") } else { value }
        };
        let list = |runs: &Runs| runs.samples().iter().map(one).collect::<Vec<_>>().join(" ");
        let mut text = list(&self.runs);
        for (condition, runs) in &self.with {
            text.push_str(&format!("; with {}: {}", condition.name(), list(runs)));
        }
        text
    }
}

/// Formats a value with at least four digits.
fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        large if large >= 1000.0 => 0,
        large if large >= 100.0 => 1,
        usual if usual >= 10.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

impl Display for Judged {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let what = &self.what;
        let unit = &self.unit;
        let published = self.published();
        let median = self.runs.median().filter(|_| self.statement != Statement::Answer);
        let median = median.map_or_else(|| "-".to_owned(), digits);
        let verdict = self.verdict();
        write!(f, "{what:<58} {unit:<14} {published:>15} {median:>9}  {verdict}")?;
        match self.measured() {
            none if none.is_empty() => Ok(()),
            measured => write!(f, "  [{measured}]"),
        }
    }
}

/// How many statements have which grade.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Tally {
    /// Statements that the runs have.
    pub reproduced: usize,
    /// Statements that the runs have with a condition of the time.
    pub explained: usize,
    /// Statements that the runs do not have.
    pub open: usize,
    /// Statements to which the emulation was fitted; they have no grade here.
    pub calibrated: usize,
    /// Measured values of void runs.
    pub void: usize,
}

impl Tally {
    /// Counts these statements.
    pub fn count(judged: &[Judged]) -> Self {
        let mut tally = Self::default();
        for one in judged {
            tally.void += one.runs.samples().iter().filter(|sample| sample.void).count();
            match (&one.calibrated, &one.grade) {
                (Some(_), _) => tally.calibrated += 1,
                (None, Some(Grade::Reproduced)) => tally.reproduced += 1,
                (None, Some(Grade::Explained { .. })) => tally.explained += 1,
                (None, Some(Grade::Open(_))) => tally.open += 1,
                (None, None) => {}
            }
        }
        tally
    }
}

impl Display for Tally {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { reproduced, explained, open, calibrated, void } = self;
        write!(f, "{reproduced} reproduced, {explained} explained, {open} open")?;
        if *calibrated > 0 {
            write!(f, "; {calibrated} calibrated, not counted")?;
        }
        if *void > 0 {
            write!(f, "; {void} values of void runs")?;
        }
        Ok(())
    }
}
