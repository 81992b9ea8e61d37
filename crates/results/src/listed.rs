//! What a list of runs says of each: read from the files that every command stores.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use garland_core::printable;
use garland_core::units::{Nanos, bytes};
use garland_state::places::Places;
use garland_state::run::{Run, TRACES, folders_in, kind_of, read_file, wall_time};
use garland_terminal::failure::Failure;
use garland_terminal::verdicts;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::head::NodeVerdict;
use crate::left_out::LeftOutResult;
use crate::tree::TreeResult;

/// A stored run, as lists show it.
#[derive(Clone, Debug, Serialize)]
pub struct ListedRun {
    /// The run's name.
    pub run: String,
    /// The kind of command: `cp`, `exec`, ...
    pub kind: String,
    /// The arguments of the command line, the program first; empty if none were stored.
    pub command: Vec<String>,
    /// Seconds since the command began.
    pub age_s: u64,
    /// When the command began, in seconds since 1970; `None` if its file system does not tell.
    #[serde(skip)]
    pub began_s: Option<u64>,
    /// Nanoseconds from the start of the command to its end; `None` without a result.
    pub elapsed_ns: Option<u64>,
    /// Bytes of what was copied; `None` if the command copies nothing.
    pub bytes: Option<u64>,
    /// Whether the command still runs.
    pub is_running: bool,
    /// The nodes with their verdicts, in order; empty without a result.
    pub nodes: Vec<ListedNode>,
    /// The result of the tree, if one was copied.
    #[serde(skip)]
    tree: Option<TreeResult>,
    /// Whether traces are there, for `garland explain` and `garland report`.
    pub has_traces: bool,
    /// The run's directory.
    pub folder: PathBuf,
}

impl ListedRun {
    /// Returns the age in one unit, such as `59 min`.
    #[must_use]
    pub fn age(&self) -> String {
        match self.age_s {
            seconds @ 0..60 => format!("{seconds} s"),
            seconds @ 60..3600 => format!("{} min", seconds / 60),
            seconds @ 3600..86400 => format!("{} h", seconds / 3600),
            seconds => format!("{} d", seconds / 86400),
        }
    }

    /// Returns the time from the start of the command to its end; `-` without a result.
    #[must_use]
    pub fn took(&self) -> String {
        self.elapsed_ns.map_or_else(|| "-".to_owned(), |ns| Nanos(ns).to_string())
    }

    /// Returns the command line without the program, or the kind of command if it was not stored.
    #[must_use]
    pub fn words(&self) -> String {
        let words = self.command.iter().skip(1);
        let line = words.map(|word| printable::line(word)).collect::<Vec<_>>();
        if line.is_empty() { self.kind.clone() } else { line.join(" ") }
    }

    /// Returns how many nodes have which verdict, such as `2 failed, 1 ok`.
    #[must_use]
    pub fn counted(&self) -> String {
        if self.is_running {
            return "running".to_owned();
        }
        let counts = self.counts();
        let counts: Vec<String> =
            counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
        if counts.is_empty() { "-".to_owned() } else { counts.join(", ") }
    }

    /// Returns the number of nodes that have each verdict.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for node in &self.nodes {
            *counts.entry(node.verdict.as_str()).or_default() += 1;
        }
        counts
    }
}

/// Prints all that is known of the run.
impl fmt::Display for ListedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let run = &self.run;
        let words = self.words();
        let age = self.age();
        let took = self.took();
        write!(f, "run     {run}\ncommand {words}\nage     {age}\ntook    {took}\n")?;
        if let Some(size) = self.bytes {
            writeln!(f, "size    {}", bytes::format(size))?;
        }
        let nodes = self.nodes.iter();
        let verdicts =
            nodes.map(|node| (node.verdict.as_str(), node.reason.as_deref(), node.name.as_str()));
        f.write_str(&verdicts::folded(verdicts))?;
        if let Some(tree) = &self.tree {
            f.write_str(&tree.whole_table())?;
        }
        for node in &self.nodes {
            node.write_left_out(f)?;
        }
        writeln!(f, "files   {}", printable::path(&self.folder))?;
        if self.has_traces {
            writeln!(f, "trace   garland explain {run}, garland report {run}")?;
        }
        Ok(())
    }
}

/// A node of a listed run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ListedNode {
    /// The node's name.
    pub name: String,
    /// Its verdict.
    pub verdict: NodeVerdict,
    /// Why it is not `ok`.
    #[serde(default)]
    pub reason: Option<String>,
    /// The number of entries of a tree that could not be put in place.
    #[serde(default, skip_serializing)]
    missed: u64,
    /// These entries, as far as there was room for them.
    #[serde(default, skip_serializing)]
    left_out: Vec<LeftOutResult>,
}

impl ListedNode {
    fn write_left_out(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = printable::line(&self.name);
        for entry in &self.left_out {
            writeln!(f, "missed  {name}: {entry}")?;
        }
        match self.missed.saturating_sub(self.left_out.len() as u64) {
            0 => Ok(()),
            more => writeln!(f, "missed  {name}: and {more} more, which are only counted"),
        }
    }
}

/// The fields of a result object that are read.
#[derive(Default, Deserialize)]
struct Stored {
    #[serde(default)]
    command: Vec<String>,
    elapsed_ns: Option<u64>,
    bytes: Option<u64>,
    #[serde(default)]
    nodes: Vec<Value>,
    #[serde(default)]
    tree: Value,
}

impl Stored {
    /// Reads the result of the run in `folder`. Without one, or with one of another release, all
    /// fields are empty: the run is listed with what is known.
    fn read(folder: &Path) -> Self {
        let text = read_file(&folder.join("result.json")).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }
}

/// Returns the last `count` stored runs, the oldest of them first. No other run's files are read.
///
/// # Errors
/// When the state directory cannot be opened.
pub fn last(places: &Places, count: usize) -> Result<Vec<ListedRun>, Failure> {
    let now = wall_time();
    let folders = folders_in(&places.folder("runs")?);
    let latest = folders.iter().rev().filter_map(|folder| listed(folder, now)).take(count);
    let mut runs: Vec<ListedRun> = latest.collect();
    runs.reverse();
    Ok(runs)
}

/// Returns the last run of a kind of command, such as `cp`, that is over; `None` if there is none.
///
/// # Errors
/// When the state directory cannot be read.
pub fn last_of_kind(places: &Places, kind: &str) -> Result<Option<ListedRun>, Failure> {
    let now = wall_time();
    let folders = folders_in(&places.folder("runs")?);
    let is_alike =
        |folder: &&PathBuf| folder.file_name().is_some_and(|name| kind_of(name) == Some(kind));
    let mut alike = folders.iter().rev().filter(is_alike).filter_map(|folder| listed(folder, now));
    Ok(alike.find(|run| !run.is_running))
}

/// Returns what is known of a run.
pub fn of(run: &Run) -> Option<ListedRun> {
    listed(run.folder(), wall_time())
}

/// Reads a run's directory; `None` if its name is not that of a run.
fn listed(folder: &Path, now: SystemTime) -> Option<ListedRun> {
    let run = Run::from_folder(folder)?;
    let kind = kind_of(folder.file_name()?)?.to_owned();
    let Stored { command, elapsed_ns, bytes, nodes, tree } = Stored::read(folder);
    let began = began_at(folder);
    let seconds_since = |earlier: SystemTime, later: SystemTime| {
        later.duration_since(earlier).ok().map(|time| time.as_secs())
    };
    let node = |node: Value| serde_json::from_value(node).ok();
    Some(ListedRun {
        run: run.name().to_owned(),
        kind,
        command: if command.is_empty() { run.words() } else { command },
        age_s: began.and_then(|began| seconds_since(began, now)).unwrap_or(0),
        began_s: began.and_then(|began| seconds_since(SystemTime::UNIX_EPOCH, began)),
        elapsed_ns,
        bytes,
        is_running: run.is_running(),
        nodes: nodes.into_iter().filter_map(node).collect(),
        tree: serde_json::from_value(tree).ok(),
        has_traces: folder.join(TRACES).is_dir(),
        folder: folder.to_owned(),
    })
}

/// Returns when the command of the run in `folder` began; `None` if its file system does not tell.
fn began_at(folder: &Path) -> Option<SystemTime> {
    let status = folder.metadata().ok()?;
    status.created().or_else(|_| status.modified()).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_run_without_a_result_is_listed_with_what_is_known() {
        let top = std::env::temp_dir().join(format!("garland-listed-{}", std::process::id()));
        let folder = top.join("20261122-051040-cp-4fb7");
        fs::create_dir_all(&folder).unwrap();
        let killed = listed(&folder, wall_time()).unwrap();
        assert_eq!((killed.kind.as_str(), killed.elapsed_ns), ("cp", None));
        assert!(!killed.is_running && !killed.has_traces && killed.nodes.is_empty());
        assert_eq!(killed.words(), "cp");
        fs::write(folder.join("words.json"), r#"["garland", "cp", "x", "n1:"]"#).unwrap();
        assert_eq!(listed(&folder, wall_time()).unwrap().words(), "cp x n1:");
        let result = r#"{"command": ["garland", "cp"], "elapsed_ns": 5, "bytes": 7,
            "nodes": [{"name": "n1", "verdict": "ok", "reason": null, "rate": 1}, {"odd": 1}]}"#;
        fs::write(folder.join("result.json"), result).unwrap();
        let done = listed(&folder, wall_time()).unwrap();
        assert_eq!((done.bytes, done.elapsed_ns, done.nodes.len()), (Some(7), Some(5), 1));
        assert!(listed(&top, wall_time()).is_none(), "no run's name");
        let result = r#"{"tree": {"files": 1, "directories": 0, "links": 0, "missed": 7, "skipped": 0,
            "left_out": [{"path": "a\nb", "reason": "gone", "missed": true}],
            "deletion_skipped": 0, "deletion_skipped_in": []},
            "nodes": [{"name": "n1", "verdict": "failed", "reason": "why", "missed": 2,
            "left_out": [{"path": "\\xff", "path_bytes": "ff", "reason": "full", "missed": true}]}]}"#;
        fs::write(folder.join("result.json"), result).unwrap();
        let shown = listed(&folder, wall_time()).unwrap().to_string();
        let wanted = "failed  n1: why\n\
                      tree    1 file, 0 directories, 0 links\n\
                      missed  a\\nb: gone\n\
                      missed  and 6 more\n\
                      missed  n1: \\xff: full\n\
                      missed  n1: and 1 more, which are only counted\n";
        assert!(shown.contains(wanted), "{shown}");
        let age = |age_s| ListedRun { age_s, ..done.clone() }.age();
        let all = [0, 59, 60, 3599, 3600, 86399, 86400].map(age);
        assert_eq!(all, ["0 s", "59 s", "1 min", "59 min", "1 h", "23 h", "1 d"]);
        fs::remove_dir_all(top).unwrap();
    }
}
