//! Runs: every command that moves bytes keeps what it did in a directory of its own, named by the
//! output and read by later commands.

mod names;
mod retention;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use garland_core::trace::{Trace, file_stem};
use garland_sys::{clock, random};
use serde::Serialize;

use self::names::{LOCK, SECOND};
pub use self::names::{TOPOLOGY, TRACES};
pub use self::retention::TRACED;
use crate::lock::LockFile;
use crate::places::{Places, write_private};
use garland_terminal::failure::{Failure, OrFailure};

/// The run that is meant where none is named.
pub const LAST: &str = "last";

/// A run's directory.
#[derive(Clone, Debug)]
pub struct Run {
    name: String,
    folder: PathBuf,
    /// Of a run that lives in this process.
    _lock: Option<Arc<LockFile>>,
}

impl Run {
    /// Begins a run of `command`, named by the time, the command and two random bytes. It lives until
    /// this is dropped.
    pub fn begin(places: &Places, command: &str) -> Result<Self, Failure> {
        Self::begin_keeping(places, command, TRACED)
    }

    /// Begins a run of `command`, of whose runs the last `traced` keep their traces.
    pub fn begin_keeping(places: &Places, command: &str, traced: usize) -> Result<Self, Failure> {
        let runs = places.folder("runs")?;
        let now = jiff::Timestamp::from_nanosecond(i128::from(clock::wall_ns()));
        let time =
            now.map_or_else(|_| "unknown".to_owned(), |t| t.strftime("%Y%m%d-%H%M%S").to_string());
        let [one, two] = random::bytes::<2>();
        let name = format!("{time}-{command}-{one:02x}{two:02x}");
        let folder = places.folder(&format!("runs/{name}"))?;
        let run = Self { name, folder, _lock: None }.held()?;
        retention::forget_old(&sorted(&runs), command, traced, retention::wall_time());
        Ok(run)
    }

    /// Marks the run as alive until this value is dropped.
    pub fn held(self) -> Result<Self, Failure> {
        let path = self.folder.join(LOCK);
        let lock = LockFile::hold(&path).or_nothing(format!("locking {}", path.display()))?;
        Ok(Self { _lock: Some(Arc::new(lock)), ..self })
    }

    /// A run that was made: by its name, by its directory, or the last one. It must hold `needed`, which
    /// `what` says in words; the last one is the last that does.
    pub fn find(places: &Places, asked: &str, needed: &str, what: &str) -> Result<Self, Failure> {
        Self::find_with(places, asked, &[needed], what)
    }

    /// Finds a run that holds all of `needed`, which `what` names in errors.
    pub fn find_with(
        places: &Places,
        asked: &str,
        needed: &[&str],
        what: &str,
    ) -> Result<Self, Failure> {
        let lacking =
            |folder: &Path| needed.iter().find(|needed| !folder.join(needed).exists()).copied();
        let runs = places.folder("runs")?;
        let named = |folder: PathBuf| {
            let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
            Self { name: name.unwrap_or_else(|| asked.to_owned()), folder, _lock: None }
        };
        let known = sorted(&runs);
        let mut having = known.into_iter().rev().filter(|folder| lacking(folder).is_none());
        let kept = |failure: Failure| failure.hint(format!("runs are kept in {}", runs.display()));
        if asked == LAST {
            let last = having.next().map(named);
            return last.ok_or_else(|| kept(Failure::usage(format!("no run has {what} yet"))));
        }
        let is_path = asked.contains('/') || asked.starts_with('.');
        let folder = if is_path { PathBuf::from(asked) } else { runs.join(asked) };
        if !folder.is_dir() {
            let kept = |failure: Failure| {
                let (count, days) = (retention::KEPT, retention::AGE.as_secs() / 86400);
                kept(failure).hint(format!(
                    "the last {count} runs of each command are kept, for {days} days"
                ))
            };
            let last: Vec<String> = having.take(3).map(|folder| named(folder).name).collect();
            let failure = kept(Failure::usage(format!("there is no run {asked}")));
            return Err(if last.is_empty() {
                failure
            } else {
                failure.hint(format!("the last that have {what}: {}", last.join(", ")))
            });
        }
        if let Some(needed) = lacking(&folder) {
            if let Some(why) = retention::why_removed(&folder).filter(|_| needed == TRACES) {
                return Err(Failure::usage(format!("run {asked}: its trace was removed ({why})")));
            }
            return Err(kept(Failure::usage(format!("the run {asked} has no {needed}: {what}"))));
        }
        Ok(named(std::path::absolute(&folder).unwrap_or(folder)))
    }

    /// The run's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The run's directory.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Why the run's traces were removed, if they were.
    pub fn why_traces_removed(&self) -> Option<String> {
        retention::why_removed(&self.folder)
    }

    /// Keeps a value as JSON.
    pub fn keep(&self, file: &str, value: &impl Serialize) -> Result<(), Failure> {
        let path = self.folder.join(file);
        let text = serde_json::to_string_pretty(value).or_nothing(format!("writing {file}"))?;
        write_private(&path, text.as_bytes()).or_nothing(format!("writing {}", path.display()))
    }
}

impl Run {
    /// Keeps what was noted of the run, a file a node, or of the copy of `node` where there are several;
    /// says if it cannot: the run is as good without.
    pub fn keep_traces(&self, places: &Places, node: Option<&str>, traces: &[Trace]) {
        if let Err(failure) = self.write_traces(places, node, traces) {
            garland_terminal::errln!("this run has no whole trace: {failure}");
        }
    }

    fn write_traces(
        &self,
        places: &Places,
        node: Option<&str>,
        traces: &[Trace],
    ) -> Result<(), Failure> {
        if traces.is_empty() {
            return Ok(());
        }
        let of_node = node.map_or_else(String::new, |node| format!("/{}", file_stem(node)));
        let folder = places.folder(&format!("runs/{}/{TRACES}{of_node}", self.name))?;
        for trace in traces {
            let path = folder.join(trace.origin.file_name());
            write_private(&path, &trace.encode())
                .or_nothing(format!("writing {}", path.display()))?;
        }
        Ok(())
    }
}

/// The directories of all runs, the oldest first. Names begin with the time, to the second; of runs that
/// began within one, the file system knows more.
fn sorted(runs: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(runs).into_iter().flatten();
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    folders.sort_by_cached_key(|folder| {
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        let second: String = name.unwrap_or_default().chars().take(SECOND).collect();
        let made = folder.metadata().and_then(|folder| folder.created().or(folder.modified()));
        (second, made.ok(), folder.clone())
    });
    folders
}
