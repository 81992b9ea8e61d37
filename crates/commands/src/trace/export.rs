//! `garland trace export`: writes a copy's timeline in a format that other programs read.
//!
//! Traces are read twice, one at a time: first for the nodes and their clocks, then to write them.
//! So a run of a thousand nodes needs hardly more memory than its largest trace. If all traces
//! together are small, clocks are also compared by the times of every block, in addition to round
//! trips, and the critical path is written: it comes from the ledger, which needs all traces at
//! once.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use garland_analysis::clock::Evidence;
use garland_core::printable;
use garland_core::trace::{Origin, Record, Role, Trace};
use garland_fleet::context::Context;
use garland_report::{Export, Kind, Step, Totals};
use garland_results::head::{Head, NodeEnd, NodeVerdict, Phases, print_json};
use garland_state::places::Places;
use garland_state::traces::{self, Traced};
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;

use super::clocks::{Clocks, Stay};
use super::path;
use super::result::{ExportResult, NodeResult, sum_stages};
use super::target::{Target, is_closed_pipe};
use crate::args::TraceExport;

/// The most bytes of traces that are read into memory at once.
const SMALL: u64 = 128 << 20;

/// A trace that could be read in the first pass over all traces.
pub(super) struct Known {
    pub(super) path: PathBuf,
    pub(super) origin: Origin,
    stay: Stay,
    records: usize,
    cut: Option<String>,
}

/// The result of the first pass over all traces.
pub(super) struct Survey {
    pub(super) known: Vec<Known>,
    /// Nodes whose traces are missing or cannot be read.
    missing: Vec<NodeResult>,
    names: BTreeMap<u16, String>,
    pub(super) clocks: Clocks,
    pub(super) path: Vec<Step>,
    /// Whether all traces together are at most [`SMALL`].
    pub(super) small: bool,
}

/// Exports the traces of a run.
pub fn run(context: &Context, export: &TraceExport) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let traced = Traced::find(&Places::open()?, &export.run, export.node.as_deref())?;
    let survey = take_survey(&traced)?;
    phases.end("read");
    let mut target = Target::open(export.output.as_deref())?;
    let totals = match write(&survey, export.format, &mut target) {
        Ok(totals) => totals?,
        Err(error) if export.output.is_none() && is_closed_pipe(&error) => return Ok(Exit::Done),
        Err(error) => return Err(target.failure(&error)),
    };
    let bytes = target.finish()?;
    phases.end("write");
    let head = Head::new("garland.trace-export/2", Some(&traced.run), phases);
    let file = export.output.clone().unwrap_or_default();
    let nodes = survey.results();
    let stages = sum_stages(&totals);
    let result = ExportResult { head, file, bytes, nodes, stages, viewer: viewer(export.format) };
    match (&export.output, context.json) {
        (Some(_), true) => print_json(&result)?,
        (Some(_), false) => output::print(&result)?,
        // Standard output has the export itself.
        (None, _) => output::warn(result.doubts()),
    }
    Ok(result.exit())
}

/// Reads all traces once; fails if none can be read.
pub(super) fn take_survey(traced: &Traced) -> Result<Survey, Failure> {
    let Traced { run, planned, peers, .. } = traced;
    let known_names = if planned.is_empty() { peers } else { planned };
    let mut names: BTreeMap<u16, String> = (0..).zip(known_names.iter().cloned()).collect();
    let mut known = Vec::new();
    let mut missing = Vec::new();
    let mut evidence = Evidence::default();
    let files = traced.files()?;
    let length = |path: &PathBuf| fs::metadata(path).map_or(0, |file| file.len());
    let small = files.iter().map(length).sum::<u64>() <= SMALL;
    for path in files {
        match traces::read(&path) {
            Ok((mut trace, cut)) => {
                let records = trace.records.len();
                let stay = Stay::from_trace(&trace);
                if !small {
                    trace.records.retain(|record| matches!(record, Record::Probe(_)));
                }
                let Trace { origin, .. } = &trace;
                evidence.learn(usize::from(origin.index), &trace);
                names.insert(origin.index, origin.node.clone());
                let cut = cut.map(|cut| cut.to_string());
                known.push(Known { path, origin: trace.origin, stay, records, cut });
            }
            Err(error) => {
                let name = stem(&path);
                let reason = error.to_string();
                missing.push(NodeResult::without(name, NodeVerdict::Failed, reason));
            }
        }
    }
    if known.is_empty() {
        let reason = missing.iter().find_map(|node| node.end.reason.clone()).unwrap_or_default();
        return Err(Failure::nothing(format!("cannot read any trace of {}: {reason}", run.name())));
    }
    known.sort_by_key(|known| known.origin.index);
    let is_there = |name: &String| {
        known.iter().any(|known| known.origin.node == *name)
            || missing.iter().any(|node: &NodeResult| node.name == *name)
    };
    let gone: Vec<String> = planned.iter().filter(|name| !is_there(name)).cloned().collect();
    let reason = || "it left no trace".to_owned();
    missing.extend(
        gone.into_iter().map(|name| NodeResult::without(name, NodeVerdict::Skipped, reason())),
    );
    let places = names.keys().next_back().map_or(0, |last| usize::from(*last) + 1);
    let compared = evidence.clocks(places);
    let path = if small { path::of(traced, &compared) } else { Vec::new() };
    let clocks = Clocks::new(compared, known.iter().map(|known| (&known.origin, known.stay)));
    Ok(Survey { known, missing, names, clocks, path, small })
}

/// Writes all traces; the outer error is that of writing, the inner one that of reading.
fn write(
    survey: &Survey,
    format: Kind,
    target: &mut Target,
) -> io::Result<Result<Totals, Failure>> {
    let mut export = Export::begin(format, target, survey.names.clone())?;
    for known in &survey.known {
        let content = traces::read(&known.path)
            .or_nothing(format!("cannot read the trace {}", printable::path(&known.path)));
        let (trace, _) = match content {
            Ok(content) => content,
            Err(failure) => return Ok(Err(failure)),
        };
        let index = trace.origin.index;
        let on_head = |at_ns| survey.clocks.on_head(index, at_ns);
        export.node(&trace, survey.labels(known), &on_head)?;
    }
    if !survey.path.is_empty() {
        export.path(&survey.path)?;
    }
    export.finish().map(Ok)
}

impl Survey {
    /// Returns the start of the first trace, in nanoseconds of the head's clock.
    pub(super) fn begin_ns(&self) -> u64 {
        let begins = self
            .known
            .iter()
            .map(|known| self.clocks.on_head(known.origin.index, known.origin.started_ns).at_ns);
        begins.min().unwrap_or(0)
    }

    /// Returns the labels of a node: its role, processors, clock, and where its trace was cut.
    fn labels(&self, known: &Known) -> Vec<String> {
        let part = match known.origin.role {
            Role::Head => "head",
            Role::Agent => "agent",
        };
        let mut labels = vec![part.to_owned(), format!("{} processors", known.origin.processors)];
        labels.push(self.clocks.label(known.origin.index));
        labels.extend(known.cut.clone());
        labels
    }

    fn results(&self) -> Vec<NodeResult> {
        let known = self.known.iter().map(|known| NodeResult {
            name: known.origin.node.clone(),
            end: NodeEnd::new(NodeVerdict::Ok, None),
            cut: known.cut.clone(),
            records: known.records,
            clock_error_ns: self.clocks.error_ns(known.origin.index),
        });
        known.chain(self.missing.iter().cloned()).collect()
    }
}

/// Returns the name of a trace file without its extension: the node's name, in which characters
/// that a file name cannot have are replaced.
fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn viewer(format: Kind) -> &'static str {
    match format {
        Kind::Chrome => "chrome://tracing or https://ui.perfetto.dev",
        Kind::Csv => "any spreadsheet",
    }
}
