//! The traces that a run keeps, one file a node.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use garland_core::plan::Plan;
use garland_core::trace::{Cut, Trace};

use crate::failure::{Failure, OrFailure};
use crate::places::Places;
use crate::run::{Run, TRACES};

/// No trace is larger, by far: a node keeps about a mebibyte.
const LARGEST: u64 = 256 << 20;

/// The run that `asked` names, which has traces.
pub fn run(places: &Places, asked: &str) -> Result<Run, Failure> {
    Run::find(places, asked, TRACES, "a trace, as every garland cp makes one")
}

/// The files of a run's traces, by name.
pub fn files(run: &Run) -> Result<Vec<PathBuf>, Failure> {
    let folder = run.folder().join(TRACES);
    let entries = fs::read_dir(&folder).or_nothing(format!("reading {}", folder.display()))?;
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

/// Reads one; also where it was cut short.
pub fn read(path: &Path) -> Result<(Trace, Option<Cut>), String> {
    let bytes = || -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = bytes().map_err(|error| garland_node::reason(&error))?;
    if bytes.len() as u64 > LARGEST {
        return Err("it is larger than any trace".to_owned());
    }
    Trace::decode(&bytes).map_err(|error| error.to_string())
}

/// The names of the nodes of a run's plan, in their places; none where the plan can't be read.
pub fn planned(run: &Run) -> Vec<String> {
    let text = fs::read(run.folder().join("plan.json")).unwrap_or_default();
    let plan = serde_json::from_slice::<Plan>(&text);
    plan.map_or_else(|_| Vec::new(), |plan| plan.nodes.into_iter().map(|node| node.name).collect())
}
