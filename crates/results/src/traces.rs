//! The traces that a run keeps: one file a node, and where it gathered files from several nodes, which
//! is a copy for each, a directory a copy.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use garland_core::plan::Plan;
use garland_core::trace::{Cut, Record, Trace, file_stem};

use crate::places::Places;
use crate::run::{LAST, Run, TRACES};
use garland_terminal::failure::{Failure, OrFailure};

/// No trace is larger, by far: a node keeps about a mebibyte.
const LARGEST: u64 = 256 << 20;

/// The file of a copy's plan, or of the plans of several.
const PLAN: &str = "plan.json";

/// The file of those that a mount's trace is about, the mount's own machine first.
pub const PEERS: &str = "peers.json";

/// One copy of a run, or a mount, which has traces.
pub struct Traced {
    /// The run.
    pub run: Run,
    /// The names of the plan's nodes, in their places; none where the plan cannot be read.
    pub planned: Vec<String>,
    /// Which of its nodes' addresses each lane uses; none where the plan cannot be read.
    pub rails: Vec<u16>,
    /// The names of those that a mount's trace is about, in their places; they have none themselves.
    pub peers: Vec<String>,
    /// The node whose copy of several this is.
    pub of_node: Option<String>,
    folder: PathBuf,
}

impl Traced {
    /// Finds the run that `asked` names, and of several copies that of `node`; the one that ended last
    /// where none is named.
    pub fn find(places: &Places, asked: &str, node: Option<&str>) -> Result<Self, Failure> {
        let what = "a trace, as every garland cp and garland mount make one";
        Self::of(Run::find(places, asked, TRACES, what)?, node)
    }

    /// Finds the run of a copy that `asked` names, and in it the copy of `node` if there are several.
    pub fn find_copy(places: &Places, asked: &str, node: Option<&str>) -> Result<Self, Failure> {
        let what = "a trace of a copy, as every garland cp makes one";
        let needed: &[&str] = if asked == LAST { &[TRACES, PLAN] } else { &[TRACES] };
        Self::of(Run::find_with(places, asked, needed, what)?, node)
    }

    fn of(run: Run, node: Option<&str>) -> Result<Self, Failure> {
        let folder = run.folder().join(TRACES);
        let text = fs::read(run.folder().join(PLAN)).unwrap_or_default();
        let known = |plan: Plan| {
            let rails: Vec<u16> = plan.lanes.iter().map(|lane| lane.rail).collect();
            (plan.nodes.into_iter().map(|node| node.name).collect::<Vec<String>>(), rails)
        };
        let Ok(plans) = serde_json::from_slice::<Vec<Plan>>(&text) else {
            if let Some(node) = node {
                return Err(Failure::usage(format!(
                    "{} is one copy to or from all of its nodes, not one for {node}",
                    run.name()
                ))
                .hint("--node is for runs that gathered files of several nodes"));
            }
            let plan = serde_json::from_slice::<Plan>(&text);
            let (planned, rails) = plan.map_or_else(|_| Default::default(), known);
            let peers = fs::read(run.folder().join(PEERS)).unwrap_or_default();
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
        let (of_node, peers) = (planned.get(1).cloned(), Vec::new());
        Ok(Self { run, of_node, planned, rails, peers, folder })
    }

    /// The files of the traces, by name.
    pub fn files(&self) -> Result<Vec<PathBuf>, Failure> {
        let folder = &self.folder;
        let entries = fs::read_dir(folder).or_nothing(format!("reading {}", folder.display()))?;
        let mut files = Vec::new();
        for entry in entries {
            let path = entry.or_nothing(format!("reading {}", folder.display()))?.path();
            if path.extension().is_some_and(|extension| extension == "trace") {
                files.push(path);
            }
        }
        files.sort();
        if files.is_empty() {
            return Err(Failure::nothing(format!("{} holds no trace", folder.display())));
        }
        Ok(files)
    }
}

/// When the head noted the last of a copy, in nanoseconds of its clock; 0 where nobody knows.
fn last_of_head(folder: &Path) -> u64 {
    let Ok((trace, _)) = read(&folder.join("head.trace")) else { return 0 };
    let ends = trace.records.iter().map(|record| match record {
        Record::Span(span) => span.end_ns,
        _ => 0,
    });
    ends.max().unwrap_or(0)
}

/// Reads one; also where it was cut short.
pub fn read(path: &Path) -> Result<(Trace, Option<Cut>), String> {
    let bytes = || -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = bytes().map_err(|error| garland_sys::error::reason(&error))?;
    if bytes.len() as u64 > LARGEST {
        return Err("it is larger than any trace".to_owned());
    }
    Trace::decode(&bytes).map_err(|error| error.to_string())
}
