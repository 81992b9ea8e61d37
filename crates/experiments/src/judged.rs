//! Published statements with their grades.

use std::fmt::{self, Display, Formatter};

use garland_analysis::grade::{Condition, EmulationError, Grade, RUNS, Runs, Sample, Statement};
use garland_terminal::failure::Failure;
use serde::{Deserialize, Serialize};

use super::claim::Measure;
use super::facts::{Dependence, Fact, Facts};
use super::line::{Constant, Law, Line};

/// What the file of a scenario says about published statements and their grades.
#[derive(Clone, Copy, Debug)]
pub struct Account<'a> {
    /// The scenario's name.
    pub scenario: &'a str,
    /// The statements.
    pub lines: &'a [Line],
    /// The constants of the lab.
    pub constants: &'a [Constant],
    /// The laws that compute what the lab has not.
    pub laws: &'a [Law],
    /// By how much the emulation may be wrong.
    pub error: &'a EmulationError,
}

/// Whether a statement counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It does: it is independent of others, and comparable.
    Counted,
    /// It is arithmetic on others, which are counted or shown.
    Derived,
    /// A constant of the lab was fitted on it, or is it.
    Fitted,
    /// It is about other hardware, or its conditions are not known.
    NotCompared,
    /// The documents do not have it.
    Extra,
}

/// A published statement, all runs about it, and its grade.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// The id of the fact; `None` if the documents do not have it.
    pub fact: Option<String>,
    /// A description of what was published.
    pub what: String,
    /// The unit of the figures; empty if they have none.
    pub unit: String,
    /// Whether it counts.
    pub standing: Standing,
    /// What must hold; `None` if the scenario has no test for it.
    pub statement: Option<Statement>,
    /// The values of the test in each run, the void ones too.
    pub runs: Runs,
    /// The values in runs with a condition of the time.
    pub with: Vec<(Condition, Runs)>,
    /// The grade; `None` if there are fewer repetitions than a grade needs.
    pub grade: Option<Grade>,
}

impl Account<'_> {
    /// Checks the statements, the constants and the laws: each names facts of the list, and the
    /// constants are no more than the list allows the scenario.
    pub fn check(&self) -> Result<(), Failure> {
        self.lines.iter().try_for_each(Line::check)?;
        self.laws.iter().try_for_each(Law::check)?;
        let facts = Facts::embedded();
        for (at, line) in self.lines.iter().enumerate() {
            if line.fact.is_some() && self.lines[..at].iter().any(|one| one.fact == line.fact) {
                let fact = line.fact.as_deref().unwrap_or_default();
                return Err(Failure::usage(format!("{fact} has two statements")));
            }
        }
        for id in self.constants.iter().flat_map(|one| &one.on) {
            if facts.find(id).is_none() {
                let problem = format!("`constant` has {id}, which is not in the list of facts");
                return Err(Failure::usage(problem));
            }
        }
        match facts.limits(self.scenario).map(|limits| limits.constants_at_most) {
            Some(most) if self.constants.len() > most => {
                let count = self.constants.len();
                let problem = format!("the list of facts allows {most} constants, not {count}");
                Err(Failure::usage(problem))
            }
            _ => Ok(()),
        }
    }

    /// Grades all statements by what the repetitions measured: those of the file in its order, then
    /// the facts of the scenario that it has no test for, then what the experiment itself expects.
    pub fn judge(&self, measures: &[Measure]) -> Vec<Judged> {
        let mut measures = measures.to_vec();
        self.laws.iter().for_each(|law| law.apply(&mut measures));
        let repetitions = measures.iter().map(|one| one.runs.samples().len()).max().unwrap_or(0);
        let mut judged: Vec<Judged> =
            self.lines.iter().map(|line| self.line(line, &measures)).collect();
        let is_told = |fact: &&Fact| {
            !self.lines.iter().any(|line| line.fact.as_deref() == Some(fact.id.as_str()))
        };
        let facts = Facts::embedded().of_scenario(self.scenario).filter(is_told);
        judged.extend(facts.filter(|fact| fact.counts()).map(|fact| {
            let line = Line { fact: Some(fact.id.clone()), ..Line::default() };
            self.line(&line, &[])
        }));
        judged.extend(measures.iter().filter_map(|measure| self.expected(measure)));
        if repetitions < RUNS {
            judged.iter_mut().for_each(|one| one.grade = None);
        }
        judged
    }

    fn line(&self, line: &Line, measures: &[Measure]) -> Judged {
        let (runs, with) = line.values(measures, self.lines);
        let fact = line.known();
        let unit = line.measures(self.lines).first().and_then(|name| {
            let measure = measures.iter().find(|one| one.what == *name)?;
            Some(measure.unit.clone())
        });
        let is_fitted =
            |id: &str| self.constants.iter().any(|one| one.on.iter().any(|on| on == id));
        let standing = match fact {
            _ if line.fact.as_deref().is_some_and(is_fitted) => Standing::Fitted,
            Some(fact) if fact.counts() => Standing::Counted,
            Some(fact) if !fact.comparable => Standing::NotCompared,
            Some(fact) if fact.dependence == Dependence::Derived => Standing::Derived,
            None if !line.beside => Standing::Counted,
            _ => Standing::Extra,
        };
        let statement = line.statement();
        let grade = match (&statement, standing, fact) {
            (_, Standing::NotCompared, Some(fact)) => {
                Grade::OtherHardware { why: fact.why.clone() }
            }
            (None, ..) => Grade::NotMeasured,
            (Some(statement), ..) => {
                let constants = self.everywhere();
                statement.grade(&runs, &with, constants.as_deref(), self.error)
            }
        };
        let what = fact
            .map_or_else(|| line.what.clone().unwrap_or_default(), |fact| fact.statement.clone());
        let unit = match &statement {
            _ if line.share.is_some() => Some("of what the lab lacks".to_owned()),
            _ if !line.alike.is_empty() => Some("times".to_owned()),
            Some(Statement::Figure(_)) => fact.map(|fact| fact.unit.clone()).or(unit),
            Some(Statement::Below) => Some("times".to_owned()),
            _ => unit,
        };
        let unit = unit.unwrap_or_default();
        let grade = Some(grade);
        Judged { fact: line.fact.clone(), what, unit, standing, statement, runs, with, grade }
    }

    /// Returns a description of the constants that are in all labs; `None` if there are none.
    fn everywhere(&self) -> Option<String> {
        let everywhere = self.constants.iter().filter(|one| one.everywhere);
        let names: Vec<String> =
            everywhere.map(|one| format!("{} ({})", one.name, one.on.join(", "))).collect();
        (!names.is_empty()).then(|| names.join(" and "))
    }

    /// Returns what the experiment expects of a measurement; `None` if it expects nothing.
    fn expected(&self, measure: &Measure) -> Option<Judged> {
        let statement = measure.expected.clone()?;
        let grade = statement.grade(&measure.runs, &measure.with, None, self.error);
        Some(Judged {
            fact: None,
            what: measure.what.clone(),
            unit: measure.unit.clone(),
            standing: Standing::Extra,
            statement: Some(statement),
            runs: measure.runs.clone(),
            with: measure.with.clone(),
            grade: Some(grade),
        })
    }
}

impl Judged {
    /// Returns whether the statement counts and did not come out, or was not found out.
    pub fn is_unsettled(&self) -> bool {
        self.standing == Standing::Counted && self.grade.as_ref().is_some_and(|one| !one.holds())
    }

    /// Returns what was published, as text; empty if it is no figure.
    pub fn published(&self) -> String {
        match &self.statement {
            Some(Statement::Figure(figure)) => figure.published.to_string(),
            Some(Statement::AtLeast(least)) => format!("at least {least}"),
            Some(Statement::AtMost(most)) => format!("at most {most}"),
            Some(Statement::Below) => "below 1".to_owned(),
            Some(Statement::Answer) => "yes".to_owned(),
            None => {
                let fact = self.fact.as_deref().and_then(|id| Facts::embedded().find(id));
                fact.map(Fact::published).unwrap_or_default()
            }
        }
    }

    /// Returns what was published and how it is graded, as one text.
    pub fn described(&self) -> String {
        let what = &self.what;
        let id = self.fact.as_ref().map_or_else(String::new, |id| format!("{id}: "));
        let fact = self.fact.as_deref().and_then(|id| Facts::embedded().find(id));
        let published = match self.figures() {
            none if none.is_empty() => none,
            figures => format!("; {figures}"),
        };
        let note = match (self.standing, fact, &self.statement) {
            (Standing::Fitted, ..) => " (put in, or fitted on it)".to_owned(),
            (Standing::NotCompared, Some(fact), _) => format!(" ({})", fact.why),
            (Standing::Derived, Some(fact), _) => format!(" (from {})", fact.from.join(", ")),
            (Standing::Counted, _, None) => " (nothing measures it)".to_owned(),
            _ => String::new(),
        };
        format!("{id}{what}{published}{note}")
    }

    /// Returns the grade and its reason, as text.
    pub fn verdict(&self) -> String {
        let grade = self.grade.as_ref().map_or_else(|| "ungraded".to_owned(), Grade::to_string);
        match self.standing {
            Standing::Fitted => "put in, or fitted on it: not counted".to_owned(),
            _ => grade,
        }
    }

    /// Returns the median of the valid runs, as text; empty if there is none.
    pub fn median(&self) -> String {
        let is_yes = self.statement == Some(Statement::Answer);
        self.runs.median().filter(|_| !is_yes).map_or_else(String::new, digits)
    }

    /// Returns what was published and the median, with their units, as text; empty if there is
    /// neither.
    pub fn figures(&self) -> String {
        let published = self.published();
        let median = self.median();
        // A number has a unit, and 7m18s has its own.
        let with_unit = |text: &str| match text.ends_with(|c: char| c.is_ascii_digit()) {
            true => format!("{text} {}", self.unit).trim_end().to_owned(),
            false => text.to_owned(),
        };
        let is_figure = matches!(self.statement, Some(Statement::Figure(_)) | None);
        let then = if is_figure { "published" } else { "must be" };
        let parts = [(then, published), ("median", median)];
        let parts = parts.iter().filter(|(_, text)| !text.is_empty());
        parts
            .map(|(name, text)| format!("{name} {}", with_unit(text)))
            .collect::<Vec<_>>()
            .join("; ")
    }

    /// Returns all measured values, as text: `void` follows those of void runs.
    pub fn measured(&self) -> String {
        let yes_or_no = self.statement == Some(Statement::Answer);
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

/// Width of a printed statement, in columns.
const WIDTH: usize = 100;

impl Display for Judged {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let name = self.fact.as_ref().map_or_else(String::new, |id| format!("{id}: "));
        let figures = match self.figures() {
            none if none.is_empty() => none,
            figures => format!("{figures}: "),
        };
        let measured = match self.measured() {
            none if none.is_empty() => none,
            measured => format!(" [{measured}]"),
        };
        write_wrapped(f, "  ", &format!("{name}{}", self.what))?;
        write_wrapped(f, "      ", &format!("{figures}{}{measured}", self.verdict()))
    }
}

/// Writes a text in lines of at most [`WIDTH`] columns, each of which begins with `indent`; those
/// after the first have as much again.
pub(crate) fn write_wrapped(f: &mut Formatter<'_>, indent: &str, text: &str) -> fmt::Result {
    wrapped(indent, text).iter().try_for_each(|line| writeln!(f, "{line}"))
}

/// Returns the lines of [`write_wrapped`].
pub fn wrapped(indent: &str, text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = indent.to_owned();
    let mut is_begun = false;
    for word in text.split_whitespace() {
        if is_begun && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(std::mem::replace(&mut line, format!("{indent}{indent}")));
            is_begun = false;
        }
        if is_begun {
            line.push(' ');
        }
        line.push_str(word);
        is_begun = true;
    }
    lines.push(line);
    lines
}

/// How many counted facts have which grade.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Tally {
    /// The statements that are independent and comparable.
    pub counted: usize,
    /// Those that the runs have.
    pub reproduced: usize,
    /// Those that the runs have with a condition of the time.
    pub explained: usize,
    /// Those that follow from constants.
    pub follow: usize,
    /// The constants of the scenarios.
    pub constants: usize,
    /// Those that the runs show to be otherwise.
    pub differ: usize,
    /// Those that the runs show too little of.
    pub noisy: usize,
    /// Those that nothing measures.
    pub not_measured: usize,
    /// Facts of other hardware, which are not counted.
    pub other_hardware: usize,
    /// Measured values of void runs.
    pub void: usize,
}

impl Tally {
    /// Counts the statements of an account.
    pub fn count(account: &Account<'_>, judged: &[Judged]) -> Self {
        let hardware = Facts::embedded().of_scenario(account.scenario);
        let mut tally = Self {
            constants: account.constants.len(),
            other_hardware: hardware.filter(|fact| fact.is_of_other_hardware()).count(),
            ..Self::default()
        };
        for one in judged {
            tally.void += one.runs.samples().iter().filter(|sample| sample.void).count();
            if one.standing == Standing::Counted {
                tally.add(one.grade.as_ref());
            }
        }
        tally
    }

    /// Adds a fact that counts, with its grade; `None` if nothing graded it.
    pub fn add(&mut self, grade: Option<&Grade>) {
        self.counted += 1;
        let count = match grade {
            Some(Grade::Reproduced) => &mut self.reproduced,
            Some(Grade::Explained { .. }) => &mut self.explained,
            Some(Grade::Follows { .. }) => &mut self.follow,
            Some(Grade::Differs { .. }) => &mut self.differ,
            Some(Grade::TooNoisy(_)) => &mut self.noisy,
            Some(Grade::NotMeasured | Grade::OtherHardware { .. }) | None => &mut self.not_measured,
        };
        *count += 1;
    }

    /// Returns the sum of two tallies.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            counted: self.counted + other.counted,
            reproduced: self.reproduced + other.reproduced,
            explained: self.explained + other.explained,
            follow: self.follow + other.follow,
            constants: self.constants + other.constants,
            differ: self.differ + other.differ,
            noisy: self.noisy + other.noisy,
            not_measured: self.not_measured + other.not_measured,
            other_hardware: self.other_hardware + other.other_hardware,
            void: self.void + other.void,
        }
    }
}

impl Display for Tally {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { counted, reproduced, explained, follow, constants, differ, .. } = self;
        let Self { noisy, not_measured, other_hardware, void, .. } = self;
        write!(
            f,
            "{counted} independent comparable facts: {reproduced} reproduced, {explained} explained, \
             {follow} follow from {constants} constants, {differ} differ, {noisy} too noisy, \
             {not_measured} not measured; {other_hardware} of other hardware"
        )?;
        if *void > 0 {
            write!(f, "; {void} values of void runs")?;
        }
        Ok(())
    }
}
