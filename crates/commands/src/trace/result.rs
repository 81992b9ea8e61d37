//! The result of `garland trace export`.

use std::fmt;
use std::path::PathBuf;

use garland_core::units::{Nanos, bytes};
use garland_report::{Total, Totals};
use serde::Serialize;

use garland_results::head::{Head, NodeEnd, NodeVerdict};
use garland_terminal::failure::Exit;
use garland_terminal::verdicts::folded;

/// The result object `garland.trace-export/2`.
#[derive(Serialize)]
pub struct ExportResult {
    /// The fields that all results have.
    #[serde(flatten)]
    pub head: Head,
    /// The file.
    pub file: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// The nodes of the plan, in its order.
    pub nodes: Vec<NodeResult>,
    /// The sums of all nodes' spans, by stage.
    pub stages: Vec<StageResult>,
    /// The program to open it with.
    #[serde(skip)]
    pub viewer: &'static str,
}

/// A node's trace.
#[derive(Clone, Serialize)]
pub struct NodeResult {
    /// The node.
    pub name: String,
    /// Whether it is in the export, and why not.
    #[serde(flatten)]
    pub end: NodeEnd,
    /// Where its trace was cut short.
    pub cut: Option<String>,
    /// Its spans and samples.
    pub records: usize,
    /// The error of its times on the head's clock; `None` if unknown.
    pub clock_error_ns: Option<u64>,
}

/// The sums of a stage.
#[derive(Serialize)]
pub struct StageResult {
    stage: &'static str,
    #[serde(flatten)]
    total: Total,
}

impl NodeResult {
    /// A node whose trace is missing or cannot be read.
    pub fn without(name: String, verdict: NodeVerdict, reason: String) -> Self {
        let end = NodeEnd::new(verdict, Some(reason));
        Self { name, end, cut: None, records: 0, clock_error_ns: None }
    }
}

impl NodeResult {
    /// The verdict for the table, with the place of a cut as the reason if there is no other.
    fn verdict(&self) -> (&str, Option<&str>, &str) {
        let (word, reason, name) = self.end.of(&self.name);
        (word, reason.or(self.cut.as_deref()), name)
    }
}

/// Returns the sums of all stages.
pub fn stages(totals: &Totals) -> Vec<StageResult> {
    totals.stages().map(|(stage, total)| StageResult { stage: stage.name(), total }).collect()
}

impl ExportResult {
    /// How the command ends.
    pub fn exit(&self) -> Exit {
        let all = self.nodes.iter().all(|node| node.end.is_ok());
        if all { Exit::Done } else { Exit::SomeFailed }
    }

    /// Returns the lines about nodes whose trace is missing or cut short; empty if there are none.
    pub fn doubts(&self) -> String {
        folded(self.nodes.iter().map(NodeResult::verdict).filter(|(_, reason, _)| reason.is_some()))
    }

    fn clocks(&self) -> String {
        let known = self.nodes.iter().filter(|node| node.end.is_ok());
        let errors: Option<Vec<u64>> = known.map(|node| node.clock_error_ns).collect();
        match errors.map(|errors| errors.into_iter().max().unwrap_or(0)) {
            Some(error_ns) => {
                format!("all times are on the head's clock, within {}", Nanos(error_ns))
            }
            None => {
                let unknown =
                    self.nodes.iter().filter(|n| n.end.is_ok() && n.clock_error_ns.is_none());
                let names: Vec<&str> = unknown.map(|node| node.name.as_str()).collect();
                let names = garland_core::cluster::nodelist::fold(&names);
                format!("unknown offset from the head's clock: {names}")
            }
        }
    }
}

impl fmt::Display for ExportResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum =
            |of: fn(&Total) -> u64| self.stages.iter().map(|stage| of(&stage.total)).sum::<u64>();
        let (file, length) = (self.file.display(), bytes::format(self.bytes));
        writeln!(f, "{file}: {length}, {} spans", sum(|total| total.spans))?;
        writeln!(f, "clocks  {}", self.clocks())?;
        write!(f, "{}", folded(self.nodes.iter().map(NodeResult::verdict)))?;
        writeln!(f, "open    {}", self.viewer)
    }
}
