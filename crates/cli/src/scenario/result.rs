//! What a scenario gives: its question, published and emulated side by side, and a verdict.

use std::fmt;

use serde::Serialize;

use super::{Scenario, Table};
use crate::result::Head;

/// The result object `garland.scenario/1`.
#[derive(Clone, Debug, Serialize)]
pub struct ScenarioResult {
    #[serde(flatten)]
    head: Head,
    scenario: Scenario,
    #[serde(flatten)]
    table: Table,
    /// The first row outside of the scenario's tolerance, in words.
    miss: Option<String>,
    /// Whether every row is within the scenario's tolerance.
    reproduced: bool,
}

impl ScenarioResult {
    /// The result of a scenario that gave `table`.
    pub fn new(head: Head, scenario: &Scenario, table: Table) -> Self {
        let miss = table.miss();
        let reproduced = miss.is_none();
        Self { head, scenario: scenario.clone(), table, miss, reproduced }
    }

    /// Whether every row is within the scenario's tolerance.
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
        writeln!(f, "\n{}", answer.trim())?;
        let verdict = match &self.miss {
            None => "reproduced".to_owned(),
            Some(miss) => format!("NOT reproduced: {miss}"),
        };
        writeln!(f, "\n{verdict}; run {}", self.head.run.as_deref().unwrap_or_default())
    }
}
