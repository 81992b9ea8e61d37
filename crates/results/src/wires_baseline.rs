//! Reads the rates that an earlier run of `garland wires` measured between the same nodes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use garland_analysis::pairs::Matrix;
use garland_core::printable;
use garland_sys::clock;
use serde::Deserialize;

/// The schema of the result of `garland wires`.
pub const SCHEMA: &str = "garland.wires/2";
use garland_state::places::Places;
use garland_terminal::failure::{Failure, OrFailure};

/// The rates of an earlier run, with which new rates are compared.
pub struct Baseline {
    /// The name of the earlier run.
    pub run: String,
    /// For each rail, the rate of one stream between each pair of nodes, in bytes per second. The
    /// nodes are in the order of the present run.
    pub rates: Vec<Matrix>,
    /// When the run ended; `None` if the file system does not say.
    ended: Option<SystemTime>,
}

#[derive(Deserialize)]
struct Kept {
    schema: String,
    nodes: Vec<KeptNode>,
    directions: Vec<KeptDirection>,
}

#[derive(Deserialize)]
struct KeptNode {
    name: String,
}

#[derive(Deserialize)]
struct KeptDirection {
    #[serde(default)]
    rail: usize,
    from: String,
    to: String,
    rate: Option<f64>,
}

/// The maximum age of measurements of wires, which are assumed to be the same for so long.
const BASELINE_AGE_MAX: Duration = Duration::from_hours(24);

/// The maximum number of rails that are read.
const RAILS: usize = 64;

impl Baseline {
    /// Returns whether any rate was read.
    fn has_rates(&self) -> bool {
        self.rates.iter().any(|rail| rail.measured().next().is_some())
    }
}

/// Finds the run named `asked`, or else the last run that measured exactly the nodes `names`.
/// Without `asked`, returns `None` if there is no such run.
pub fn find(
    places: &Places,
    asked: Option<&str>,
    names: &[&str],
) -> Result<Option<Baseline>, Failure> {
    let runs = places.folder("runs")?;
    let alike = |kept: &[&str]| kept.len() == names.len();
    if let Some(run) = asked {
        let safe = !run.contains('/') && !run.starts_with('.');
        let baseline = read(&runs.join(run).join("result.json"), run, names, alike);
        return match baseline.filter(|_| safe) {
            Some(baseline) if baseline.has_rates() => Ok(Some(baseline)),
            _ => Err(Failure::usage(format!(
                "{run} is not a run of garland wires with exactly these nodes"
            ))
            .hint(format!("runs are kept in {}", printable::path(&runs)))),
        };
    }
    last(&runs, names, alike)
}

/// Finds the last run that measured at least the nodes `names`; `None` if there is no such run.
pub fn with_others(places: &Places, names: &[&str]) -> Result<Option<Baseline>, Failure> {
    last(&places.folder("runs")?, names, |_| true)
}

/// Finds the same of the last day.
pub fn recent(places: &Places, names: &[&str]) -> Result<Option<Baseline>, Failure> {
    let found = with_others(places, names)?;
    let now = UNIX_EPOCH + Duration::from_nanos(clock::wall_ns());
    Ok(found.filter(|found| found.ended.is_some_and(|ended| now < ended + BASELINE_AGE_MAX)))
}

/// Finds the last run in the directory `runs` that measured at least the nodes `names`. `alike`
/// gets the names of all nodes of a run, and decides whether to accept the run.
fn last(
    runs: &Path,
    names: &[&str],
    alike: impl Fn(&[&str]) -> bool + Copy,
) -> Result<Option<Baseline>, Failure> {
    let entries =
        fs::read_dir(runs).or_nothing(format!("cannot read {}", printable::path(runs)))?;
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    // Names begin with the time.
    folders.sort();
    let of_same_nodes = |folder: &PathBuf| {
        let run = folder.file_name()?.to_string_lossy().into_owned();
        let baseline =
            run.contains("-wires-").then(|| read(&folder.join("result.json"), &run, names, alike));
        baseline.flatten().filter(Baseline::has_rates)
    };
    Ok(folders.iter().rev().find_map(of_same_nodes))
}

/// Reads the result at `path`. Returns `None` if the result lacks one of the nodes `names`, or if
/// `alike` rejects the names of all nodes in the result.
fn read(
    path: &Path,
    run: &str,
    names: &[&str],
    alike: impl Fn(&[&str]) -> bool,
) -> Option<Baseline> {
    let ended = fs::metadata(path).and_then(|file| file.modified()).ok();
    let kept: Kept = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    let place = |name: &str| names.iter().position(|known| *known == name);
    let known: Vec<&str> = kept.nodes.iter().map(|node| node.name.as_str()).collect();
    let has_all = names.iter().all(|name| known.contains(name));
    if kept.schema != SCHEMA || !has_all || !alike(&known) {
        return None;
    }
    // The file may be damaged: limit the number of rails.
    let rails = kept
        .directions
        .iter()
        .map(|pair| pair.rail.saturating_add(1))
        .max()
        .unwrap_or(0)
        .min(RAILS);
    let mut rates = vec![Matrix::new(names.len()); rails];
    for pair in kept.directions {
        if let (Some(from), Some(to), Some(rate)) = (place(&pair.from), place(&pair.to), pair.rate)
            && from != to
            && let Some(rail) = rates.get_mut(pair.rail)
        {
            rail.set(from, to, rate);
        }
    }
    Some(Baseline { run: run.to_owned(), rates, ended })
}
