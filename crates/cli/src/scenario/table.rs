//! What a scenario gives: published and emulated side by side.

use std::fmt;

use garland_core::cluster::topology::Topology;
use serde::Serialize;

use super::{Experiment, Scenario, Tool};
use crate::result::Head;

/// The result object `garland.scenario/1`.
#[derive(Clone, Debug, Serialize)]
pub struct ScenarioResult {
    #[serde(flatten)]
    head: Head,
    scenario: Scenario,
    #[serde(skip)]
    experiment: Experiment,
    /// The file's length as a share of the scenario's.
    scale: f64,
    bytes: u64,
    /// Seconds that the wire alone takes.
    limit_s: f64,
    rows: Vec<Row>,
    /// Whether every row is within the scenario's tolerance.
    reproduced: bool,
}

/// One tool to so many nodes.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What copied.
    pub tool: Tool,
    /// To how many nodes.
    pub receivers: u32,
    /// Seconds of the whole command.
    pub whole_s: f64,
    /// Seconds from the first byte to the last node's last.
    pub stream_s: f64,
    /// Whether every node's file was compared equal.
    pub equal: bool,
}

impl ScenarioResult {
    /// The result of `rows`, over wires that give `goodput` bytes per second.
    pub fn new(
        head: Head,
        scenario: &Scenario,
        experiment: &Experiment,
        scale: f64,
        bytes: u64,
        goodput: f64,
        rows: Vec<Row>,
    ) -> Self {
        let limit_s = bytes as f64 / goodput;
        let (scenario, experiment) = (scenario.clone(), experiment.clone());
        let reproduced = false;
        let mut result =
            Self { head, scenario, experiment, scale, bytes, limit_s, rows, reproduced };
        result.reproduced = result.miss().is_none();
        result
    }

    /// The first row that isn't as it should be, and why.
    fn miss(&self) -> Option<String> {
        let most = self.experiment.tolerance.up_over_limit;
        self.rows.iter().find_map(|row| {
            let (tool, receivers) = (row.tool.name(), row.receivers);
            let share = row.whole_s / self.limit_s;
            if !row.equal {
                return Some(format!("{tool} to {receivers}: a file differs from its source"));
            }
            (row.tool == Tool::Up && share > most).then(|| {
                format!("{tool} to {receivers} takes {share:.2} times what the wire alone takes, above {most}")
            })
        })
    }

    /// Whether every row is within the scenario's tolerance.
    pub fn reproduced(&self) -> bool {
        self.reproduced
    }

    fn rate(&self, seconds: f64) -> f64 {
        self.bytes as f64 / 1e6 / seconds
    }
}

/// What joins the nodes, in words: `switch at 12.5 MB/s (0.100 Gbit/s)`, `8 media`.
fn media(topology: &Topology) -> String {
    match &topology.media[..] {
        [one] => {
            one.rate.map_or_else(|| one.name.clone(), |rate| format!("{} at {rate}", one.name))
        }
        all => format!("{} media", all.len()),
    }
}

impl fmt::Display for ScenarioResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Scenario { name, question, source, answer, topology, .. } = &self.scenario;
        writeln!(f, "{name}: {question}")?;
        writeln!(f, "published: {source}")?;
        writeln!(
            f,
            "emulated: {:.1} MB ({:.0} % of the published file), {}; the wire alone takes {:.2} s",
            self.bytes as f64 / 1e6,
            self.scale * 100.0,
            media(topology),
            self.limit_s
        )?;
        writeln!(f)?;
        writeln!(
            f,
            "{:<15}{:>10}{:>10} |{:>9}{:>8} |{:>9}{:>8}{:>9}{:>8}",
            "", "", "", "published", "", "emulated", "", "stream", ""
        )?;
        writeln!(
            f,
            "{:<15}{:>10}{:>10} |{:>9}{:>8} |{:>9}{:>8}{:>9}{:>8}",
            "tool", "receivers", "repeaters", "s", "MB/s", "s", "MB/s", "s", "MB/s"
        )?;
        for row in &self.rows {
            self.write_row(f, row)?;
        }
        writeln!(f, "\n{}", answer.trim())?;
        let verdict = match self.miss() {
            None => "reproduced".to_owned(),
            Some(miss) => format!("NOT reproduced: {miss}"),
        };
        writeln!(f, "\n{verdict}; run {}", self.head.run.as_deref().unwrap_or_default())
    }
}

impl ScenarioResult {
    fn write_row(&self, f: &mut fmt::Formatter<'_>, row: &Row) -> fmt::Result {
        let then = (row.tool == Tool::Pipes).then(|| self.experiment.published(row.receivers));
        let (seconds, rate) = match then.flatten() {
            Some(then) => {
                let [least, most] = then.seconds;
                let seconds =
                    if least == most { format!("{least}") } else { format!("{least}-{most}") };
                (seconds, format!("{}", then.rate))
            }
            None => ("-".to_owned(), "-".to_owned()),
        };
        writeln!(
            f,
            "{:<15}{:>10}{:>10} |{seconds:>9}{rate:>8} |{:>9.2}{:>8.1}{:>9.2}{:>8.1}{}",
            row.tool.name(),
            row.receivers,
            row.receivers - 1,
            row.whole_s,
            self.rate(row.whole_s),
            row.stream_s,
            self.rate(row.stream_s),
            if row.equal { "" } else { "  DIFFERS" }
        )
    }
}
