//! The traces of a run, one file for each node. A run that gathered files from several nodes
//! consists of one copy for each node, and each copy has a directory of traces.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use garland_core::plan::Plan;
use garland_core::printable;
use garland_core::trace::{Cut, Record, Trace, TraceError, file_stem};
use garland_sys::error::reason;
use garland_sys::regular_file;
use garland_terminal::failure::{Failure, OrFailure};
use thiserror::Error;

use crate::places::Places;
use crate::run::{LAST, Run, TRACES};

/// The maximum size of a trace file that is read, in bytes; a node's trace usually has about 1 MiB.
const LARGEST: u64 = 256 << 20;

/// The name of the file with the plan of the copy, or with the plans of several copies.
const PLAN: &str = "plan.json";

/// The highest rail that is told apart: the NICs of a node are counted up to it, and a run may come
/// from another user.
const HIGHEST_RAIL: u16 = 63;

/// The name of the file with the names of a mount's peers; the mounting machine comes first.
pub const PEERS: &str = "peers.json";

/// A copy or a mount whose run has traces.
pub struct Traced {
    /// The run that the traces belong to.
    pub run: Run,
    /// The names of the nodes in the plan; empty if the plan cannot be read.
    pub planned: Vec<String>,
    /// For each lane, its rail: the index of the address that the lane uses on every node. Empty if
    /// the plan cannot be read.
    pub rails: Vec<u16>,
    /// The names of a mount's peers; empty for a copy. Peers have no traces of their own.
    pub peers: Vec<String>,
    /// If the run has several copies, the node of this copy; otherwise `None`.
    pub of_node: Option<String>,
    folder: PathBuf,
}

impl Traced {
    /// Finds the run named `asked`. If the run has several copies, chooses the copy of `node`, or
    /// without `node` the copy that ended last.
    pub fn find(places: &Places, asked: &str, node: Option<&str>) -> Result<Self, Failure> {
        Self::read(Run::find(places, asked, TRACES, "a trace")?, node)
    }

    /// Finds a copy as [`Traced::find`] does, but [`LAST`] is the last run that stored a plan.
    pub fn find_copy(places: &Places, asked: &str, node: Option<&str>) -> Result<Self, Failure> {
        let needed: &[&str] = if asked == LAST { &[TRACES, PLAN] } else { &[TRACES] };
        Self::read(Run::find_with(places, asked, needed, "a trace of a copy")?, node)
    }

    fn read(run: Run, node: Option<&str>) -> Result<Self, Failure> {
        let folder = run.folder().join(TRACES);
        let text = run.read(PLAN).unwrap_or_default();
        let known = |plan: Plan| {
            let rails: Vec<u16> =
                plan.lanes.iter().map(|lane| lane.rail.min(HIGHEST_RAIL)).collect();
            (plan.nodes.into_iter().map(|node| node.name).collect::<Vec<String>>(), rails)
        };
        let Ok(plans) = serde_json::from_slice::<Vec<Plan>>(&text) else {
            if let Some(node) = node {
                return Err(Failure::usage(format!(
                    "{} is one copy for all nodes; it has no separate copy of {node}",
                    run.name()
                ))
                .hint("--node applies to runs that gathered files from several nodes"));
            }
            let plan = serde_json::from_slice::<Plan>(&text);
            let (planned, rails) = plan.map_or_else(|_| Default::default(), known);
            let peers = run.read(PEERS).unwrap_or_default();
            let peers = serde_json::from_slice(&peers).unwrap_or_default();
            return Ok(Self { run, planned, rails, peers, of_node: None, folder });
        };
        let mut copies = Vec::new();
        for (planned, rails) in plans.into_iter().map(known) {
            let of_copy = planned.get(1).map(|node| folder.join(file_stem(node)));
            copies.extend(of_copy.filter(|folder| folder.is_dir()).map(|at| (planned, rails, at)));
        }
        let chosen = match node {
            Some(node) => copies.into_iter().find(|(planned, ..)| planned[1] == node),
            None => copies.into_iter().max_by_key(|(.., folder)| last_of_head(folder)),
        };
        let Some((planned, rails, folder)) = chosen else {
            let whose = node.map_or_else(String::new, |node| format!(" of {node}"));
            return Err(Failure::usage(format!("{} has no trace{whose}", run.name())));
        };
        let of_node = planned.get(1).cloned();
        let peers = Vec::new();
        Ok(Self { run, of_node, planned, rails, peers, folder })
    }

    /// Returns the paths of the trace files, sorted.
    pub fn files(&self) -> Result<Vec<PathBuf>, Failure> {
        let folder = &self.folder;
        let entries =
            fs::read_dir(folder).or_nothing(format!("cannot read {}", printable::path(folder)))?;
        let mut files = Vec::new();
        for entry in entries {
            let path = entry.or_nothing(format!("cannot read {}", printable::path(folder)))?.path();
            if path.extension().is_some_and(|extension| extension == "trace") {
                files.push(path);
            }
        }
        files.sort();
        if files.is_empty() {
            return Err(Failure::nothing(format!("no trace in {}", printable::path(folder))));
        }
        Ok(files)
    }
}

/// Returns the end of the last span in the head's trace in `folder`, in monotonic nanoseconds; 0 if
/// the trace cannot be read.
fn last_of_head(folder: &Path) -> u64 {
    let Ok((trace, _)) = read(&folder.join("head.trace")) else { return 0 };
    let ends = trace.records.iter().map(|record| match record {
        Record::Span(span) => span.end_ns,
        _ => 0,
    });
    ends.max().unwrap_or(0)
}

/// Why a trace cannot be read.
#[derive(Debug, Error)]
pub enum UnreadTrace {
    /// The file cannot be read.
    #[error("{}", reason(.0))]
    File(#[from] io::Error),
    /// The file is larger than any valid trace.
    #[error("it is not a trace: it has more than {} MiB", LARGEST >> 20)]
    TooLarge,
    /// The content of the file is not a valid trace.
    #[error(transparent)]
    Content(#[from] TraceError),
}

/// Reads a trace file. If the file is truncated, returns the complete part and the place of the
/// cut.
pub fn read(path: &Path) -> Result<(Trace, Option<Cut>), UnreadTrace> {
    let mut bytes = Vec::new();
    if regular_file::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)? as u64 > LARGEST {
        return Err(UnreadTrace::TooLarge);
    }
    Ok(Trace::decode(&bytes)?)
}
