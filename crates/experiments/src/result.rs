//! The result of a scenario: its question, the published and the emulated figures, and the grades.

use std::collections::HashSet;
use std::fmt;

use garland_results::head::Head;
use serde::{Serialize, Serializer};

use super::claim::Measure;
use super::judged::{Judged, Standing, Tally, write_wrapped};
use super::predicted::{Agreement, Prediction};
use super::{Experiment, Scenario, Table};

/// The result object `garland.scenario/4`.
#[derive(Clone, Debug, Serialize)]
pub struct ScenarioResult {
    #[serde(flatten)]
    head: Head,
    scenario: Scenario,
    /// The table of each repetition; none is left out.
    repetitions: Vec<Table>,
    /// The predicted figures of all repetitions, each with the figure measured in the lab.
    predictions: Vec<Prediction>,
    /// What they were predicted from, and where each input came from.
    predicted_from: Vec<String>,
    /// The relative errors of the predictions; `None` if there are none.
    agreement: Option<Agreement>,
    /// A description of the first result that is wrong, whatever was published; `None` if there is
    /// none.
    broken: Option<String>,
    /// The published statements with their runs and grades.
    #[serde(serialize_with = "described")]
    statements: Vec<Judged>,
    /// How many counted facts have which grade; `None` if nothing is graded.
    grades: Option<Tally>,
    /// What was measured of each quantity, from which the statements are graded.
    measures: Vec<Measure>,
}

/// Serializes statements with what was published, what was measured and the verdict as texts, as a
/// report shows them.
fn described<S: Serializer>(statements: &[Judged], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Described<'a> {
        #[serde(flatten)]
        judged: &'a Judged,
        published: String,
        measured: String,
        verdict: String,
    }
    serializer.collect_seq(statements.iter().map(|judged| Described {
        judged,
        published: judged.published(),
        measured: judged.measured(),
        verdict: judged.verdict(),
    }))
}

impl ScenarioResult {
    /// Returns the result of a scenario with the measured `tables`, one for each repetition.
    pub fn new(
        head: Head,
        scenario: &Scenario,
        experiment: &Experiment,
        tables: Vec<Table>,
    ) -> Self {
        let claims: Vec<_> = tables.iter().map(Table::claims).collect();
        let measures = Measure::gather(&claims);
        let account = experiment.account(&scenario.name);
        let statements = account.judge(&measures);
        let is_graded = statements.iter().any(|one| one.grade.is_some());
        let grades = is_graded.then(|| Tally::count(&account, &statements));
        let predictions: Vec<_> = tables.iter().flat_map(Table::predictions).collect();
        let mut predicted_from: Vec<_> = tables.iter().flat_map(Table::predicted_from).collect();
        // Repetitions have the same inputs, but for what each calibrates.
        let mut known = HashSet::new();
        predicted_from.retain(|input| known.insert(input.clone()));
        let agreement = Agreement::from_predictions(&predictions);
        let broken = tables.iter().find_map(Table::broken);
        let scenario = scenario.clone();
        let repetitions = tables;
        Self {
            head,
            scenario,
            repetitions,
            predictions,
            predicted_from,
            agreement,
            broken,
            statements,
            grades,
            measures,
        }
    }

    /// Returns whether nothing is wrong, and every statement that counts came out.
    pub fn is_settled(&self) -> bool {
        self.broken.is_none() && !self.statements.iter().any(Judged::is_unsettled)
    }

    /// Writes the answer: the statements that count, and those beside them.
    fn answer(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_counted = |one: &&Judged| one.standing == Standing::Counted;
        let (counted, beside): (Vec<&Judged>, Vec<&Judged>) =
            self.statements.iter().partition(is_counted);
        for (title, statements) in [("statements", counted), ("beside, not counted", beside)] {
            if !statements.is_empty() {
                writeln!(f, "\n{title}:")?;
            }
            statements.into_iter().try_for_each(|one| write!(f, "{one}"))?;
        }
        Ok(())
    }
}

impl fmt::Display for ScenarioResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Scenario { name, question, source, .. } = &self.scenario;
        writeln!(f, "{name}: {question}")?;
        writeln!(f, "published: {source}")?;
        if let Some(grades) = &self.grades {
            write_wrapped(f, "", &grades.to_string())?;
        }
        for (at, table) in self.repetitions.iter().enumerate() {
            if self.repetitions.len() > 1 {
                writeln!(f, "\nrepetition {} of {}", at + 1, self.repetitions.len())?;
            }
            write!(f, "{table}")?;
        }
        if let Some(Agreement { count, void, median, worst }) = self.agreement {
            let median = median * 100.0;
            let worst = worst * 100.0;
            let void = if void > 0 { format!("; {void} others are void") } else { String::new() };
            writeln!(
                f,
                "\npredictions: {count}, off by {median:.1} % in the median and {worst:.1} % at worst{void}; from"
            )?;
            self.predicted_from.iter().try_for_each(|input| writeln!(f, "- {input}"))?;
        }
        self.answer(f)?;
        if let Some(broken) = &self.broken {
            writeln!(f, "\nWRONG: {broken}")?;
        }
        let run = self.head.run.as_deref().unwrap_or_default();
        match &self.grades {
            Some(_) => writeln!(f, "\nrun {run}"),
            None => writeln!(f, "\nungraded: made once; run {run}"),
        }
    }
}
