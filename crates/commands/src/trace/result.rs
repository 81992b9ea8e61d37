//! The result of `garland trace export`.

use std::fmt;
use std::path::PathBuf;

use garland_core::printable;
use garland_core::units::{Nanos, bytes};
use garland_report::{Total, Totals};
use garland_results::head::{Head, NodeEnd, NodeVerdict};
use garland_terminal::failure::Exit;
use garland_terminal::verdicts::folded;
use serde::Serialize;

/// The result object `garland.trace-export/2`.
#[derive(Serialize)]
pub struct ExportResult {
    /// The fields that all results have.
    #[serde(flatten)]
    pub head: Head,
    /// The path of the output.
    pub file: PathBuf,
    /// The length of the output in bytes.
    pub bytes: u64,
    /// The nodes of the plan, in its order.
    pub nodes: Vec<NodeResult>,
    /// The sums of all nodes' spans, by stage.
    pub stages: Vec<StageResult>,
    /// The program that can open the output.
    #[serde(skip)]
    pub viewer: &'static str,
}

/// What the export contains of a node.
#[derive(Clone, Serialize)]
pub struct NodeResult {
    /// The node's name.
    pub name: String,
    /// Whether the trace is in the export, and otherwise why it is not.
    #[serde(flatten)]
    pub end: NodeEnd,
    /// Where the trace was cut short; `None` if it is complete.
    pub cut: Option<String>,
    /// The number of spans and samples in the trace.
    pub records: usize,
    /// The error of the node's times on the head's clock, in nanoseconds; `None` if unknown.
    pub clock_error_ns: Option<u64>,
}

/// The sums over all spans of a stage.
#[derive(Serialize)]
pub struct StageResult {
    stage: &'static str,
    #[serde(flatten)]
    total: Total,
}

impl NodeResult {
    /// Creates the result for a node whose trace is missing or cannot be read.
    pub fn without(name: String, verdict: NodeVerdict, reason: String) -> Self {
        let end = NodeEnd::new(verdict, Some(reason));
        Self { name, end, cut: None, records: 0, clock_error_ns: None }
    }
}

impl NodeResult {
    /// Returns the verdict for the table: word, reason and name. Without another reason, the reason
    /// is the place where the trace was cut.
    fn verdict(&self) -> (&str, Option<&str>, &str) {
        let (word, reason, name) = self.end.of(&self.name);
        (word, reason.or(self.cut.as_deref()), name)
    }
}

/// Returns the sums of all stages.
pub fn sum_stages(totals: &Totals) -> Vec<StageResult> {
    totals.stages().map(|(stage, total)| StageResult { stage: stage.name(), total }).collect()
}

impl ExportResult {
    /// Returns [`Exit::Done`] if the traces of all nodes are in the export, else
    /// [`Exit::SomeFailed`].
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
        let file = printable::path(&self.file);
        let length = bytes::format(self.bytes);
        writeln!(f, "{file}: {length}, {} spans", sum(|total| total.spans))?;
        writeln!(f, "clocks  {}", self.clocks())?;
        write!(f, "{}", folded(self.nodes.iter().map(NodeResult::verdict)))?;
        writeln!(f, "open    {}", self.viewer)
    }
}
