//! The result of a scenario: its question, the published and the emulated figures, and a verdict.

use std::fmt;

use serde::Serialize;

use super::predicted::{Agreement, Prediction};
use super::{Scenario, Table};
use garland_results::head::Head;

/// The result object `garland.scenario/2`.
#[derive(Clone, Debug, Serialize)]
pub struct ScenarioResult {
    #[serde(flatten)]
    head: Head,
    scenario: Scenario,
    #[serde(flatten)]
    table: Table,
    /// The predicted figures, each with the figure measured in the lab.
    predictions: Vec<Prediction>,
    /// The relative errors of the predictions; `None` if there are none.
    agreement: Option<Agreement>,
    /// A description of the first result that is out of tolerance; `None` if there is none.
    miss: Option<String>,
    /// Whether every result is within the tolerance.
    reproduced: bool,
}

impl ScenarioResult {
    /// Returns the result of a scenario with the measured `table`.
    pub fn new(head: Head, scenario: &Scenario, table: Table) -> Self {
        let miss = table.miss();
        let (predictions, reproduced) = (table.predictions(), miss.is_none());
        let (scenario, agreement) = (scenario.clone(), Agreement::of(&predictions));
        Self { head, scenario, table, predictions, agreement, miss, reproduced }
    }

    /// Returns whether every result is within the tolerance.
    pub fn reproduced(&self) -> bool {
        self.reproduced
    }
}

impl fmt::Display for ScenarioResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Scenario { name, question, source, answer, .. } = &self.scenario;
        writeln!(f, "{name}: {question}")?;
        writeln!(f, "published: {source}")?;
        write!(f, "{}", self.table)?;
        if let Some(Agreement { count, median, worst }) = self.agreement {
            let (median, worst) = (median * 100.0, worst * 100.0);
            writeln!(
                f,
                "\npredictions: {count}, off by {median:.1} % in the median and {worst:.1} % at worst"
            )?;
        }
        writeln!(f, "\n{}", answer.trim())?;
        let verdict = match &self.miss {
            None => "reproduced".to_owned(),
            Some(miss) => format!("NOT reproduced: {miss}"),
        };
        writeln!(f, "\n{verdict}; run {}", self.head.run.as_deref().unwrap_or_default())
    }
}
