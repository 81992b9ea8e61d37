//! Runs. Every command that moves bytes stores its result, plan and traces in a directory of its
//! own. The command prints the directory's name, and later commands read it.

mod files;
mod names;
mod retention;

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use garland_core::printable;
use garland_core::trace::{Trace, file_stem};
use garland_sys::threads::{self, JoinHandle};
use garland_sys::{clock, ownership, private_file, random};
use garland_terminal::failure::{Failure, OrFailure};
use serde::Serialize;

pub use self::files::read_file;
use self::names::{LOCK, SECOND};
pub use self::names::{TOPOLOGY, TRACES};
pub use self::retention::{TRACED, kind_of, wall_time};
use crate::lock::{LockFile, is_held};
use crate::places::Places;

/// The name by which users refer to the last run.
pub const LAST: &str = "last";

/// The file with the command line of a run's command. Only this user can read it: an argument may
/// be a password.
const WORDS: &str = "words.json";

/// A run: its name, and the directory in which its results are stored.
#[derive(Clone, Debug)]
pub struct Run {
    name: String,
    folder: PathBuf,
    /// What this process holds of the run; `None` if the run belongs to another process.
    _held: Option<Arc<Held>>,
}

/// What the process that makes a run holds until the run's last clone is dropped.
#[derive(Debug)]
struct Held {
    _lock: LockFile,
    /// The removal of older runs, which goes on beside the run: on disks it takes milliseconds.
    forgetting: Option<JoinHandle<()>>,
}

impl Held {
    fn new(lock: LockFile, forgetting: Option<JoinHandle<()>>) -> Option<Arc<Self>> {
        Some(Arc::new(Self { _lock: lock, forgetting }))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // No result depends on what was removed.
        let _ = self.forgetting.take().map(JoinHandle::join);
    }
}

impl Run {
    /// Begins a run of `command`. The run's name consists of the time, the command and two random
    /// bytes. The run counts as running until the value is dropped.
    pub fn begin(places: &Places, command: &str) -> Result<Self, Failure> {
        Self::begin_keeping(places, command, TRACED)
    }

    /// Begins a run of `command` as [`Run::begin`] does. The traces of this command's older runs
    /// are removed, except those of the last `traced`.
    pub fn begin_keeping(places: &Places, command: &str, traced: usize) -> Result<Self, Failure> {
        let runs = places.folder("runs")?;
        let now = jiff::Timestamp::from_nanosecond(i128::from(clock::wall_ns()));
        let time =
            now.map_or_else(|_| "unknown".to_owned(), |t| t.strftime("%Y%m%d-%H%M%S").to_string());
        let [one, two] = random::bytes::<2>();
        let name = format!("{time}-{command}-{one:02x}{two:02x}");
        let folder = places.folder(&format!("runs/{name}"))?;
        let held = lock(&folder)?;
        let command = command.to_owned();
        let forgetting = threads::spawn("retention", move || {
            retention::forget_old(&folders_in(&runs), &command, traced, wall_time());
        });
        let run = Self { name, folder, _held: Held::new(held, forgetting.ok()) };
        // Lists show a run without it by its kind. On a full disk the command is worth more.
        let _ = run.keep(WORDS, &own_words());
        Ok(run)
    }

    /// Returns the command line of the run's command, the program first; empty if it is not stored.
    pub fn words(&self) -> Vec<String> {
        let stored = read_file(&self.folder.join(WORDS)).unwrap_or_default();
        serde_json::from_slice(&stored).unwrap_or_default()
    }

    /// Takes the run's lock, and holds it until the value is dropped. A run whose lock is held is
    /// not removed.
    pub fn held(self) -> Result<Self, Failure> {
        let held = lock(&self.folder)?;
        Ok(Self { _held: Held::new(held, None), ..self })
    }

    /// Finds the run named `asked`, which may be a name or a path; [`LAST`] is the last run that
    /// contains the file `needed`. Fails if the run lacks this file; `what` describes the file in
    /// the error message.
    pub fn find(places: &Places, asked: &str, needed: &str, what: &str) -> Result<Self, Failure> {
        Self::find_with(places, asked, &[needed], what)
    }

    /// Finds a run as [`Run::find`] does, for a command that does what the run's files say. A run
    /// that was named by a path must be this user's alone, with all that is in its directory.
    ///
    /// # Errors
    /// Those of [`Run::find`], and when another user may have written the run's files.
    pub fn find_own(
        places: &Places,
        asked: &str,
        needed: &str,
        what: &str,
    ) -> Result<Self, Failure> {
        let run = Self::find(places, asked, needed, what)?;
        if !is_path(asked) {
            return Ok(run);
        }
        let shown = printable::path(&run.folder);
        // A link on the way may lead elsewhere when the files are read.
        let looking = || format!("cannot inspect {shown}");
        let folder = run.folder.canonicalize().or_nothing(looking())?;
        // Each file that a command reads, or writes through, may say what is run.
        let fault = match ownership::fault_of_own_folder(&folder).or_nothing(looking())? {
            None => ownership::fault_of_contents(&folder).or_nothing(looking())?,
            fault => fault,
        };
        if let Some(why) = fault {
            return Err(Failure::usage(format!("the run {shown} is not used: {why}")).hint(
                "its files say what is run on this machine: read them first, then start the command anew",
            ));
        }
        Ok(Self { folder, ..run })
    }

    /// Finds a run as [`Run::find`] does, but requires all files of `needed`.
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
            Self { name: name.unwrap_or_else(|| asked.to_owned()), folder, _held: None }
        };
        let known = folders_in(&runs);
        let mut having = known.into_iter().rev().filter(|folder| lacking(folder).is_none());
        let kept = |failure: Failure| {
            failure.hint(format!("runs are stored in {}", printable::path(&runs)))
        };
        if asked == LAST {
            let last = having.next().map(named);
            return last.ok_or_else(|| kept(Failure::usage(format!("no run has {what}"))));
        }
        let folder = match is_path(asked) {
            true => PathBuf::from(asked),
            false => ending_in(&runs, asked).unwrap_or_else(|| runs.join(asked)),
        };
        if !folder.is_dir() {
            let with_retention = |failure: Failure| {
                let count = retention::MAX_KEPT_RUNS;
                let days = retention::AGE_MAX.as_secs() / 86400;
                kept(failure).hint(format!(
                    "only the last {count} runs of each command are kept, for {days} days"
                ))
            };
            let last: Vec<String> = having.take(3).map(|folder| named(folder).name).collect();
            let failure = with_retention(Failure::usage(format!("run {asked} does not exist")));
            return Err(if last.is_empty() {
                failure
            } else {
                failure.hint(format!("the last runs that have {what}: {}", last.join(", ")))
            });
        }
        if let Some(needed) = lacking(&folder) {
            if let Some(why) = retention::why_removed(&folder).filter(|_| needed == TRACES) {
                return Err(Failure::usage(format!("run {asked}: its trace was removed ({why})")));
            }
            return Err(kept(Failure::usage(format!(
                "run {asked} has no {needed}: specify a run that has {what}"
            ))));
        }
        Ok(named(std::path::absolute(&folder).unwrap_or(folder)))
    }

    /// Returns the run's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the run's directory.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Reads a file in the run's directory, which may be another user's.
    ///
    /// # Errors
    /// As for [`read_file`].
    pub fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        read_file(&self.folder.join(name))
    }

    /// Returns the run whose directory is `folder`; `None` if the name is not that of a run.
    pub fn from_folder(folder: &Path) -> Option<Self> {
        let name = folder.file_name()?;
        kind_of(name)?;
        let name = name.to_string_lossy().into_owned();
        Some(Self { name, folder: folder.to_owned(), _held: None })
    }

    /// Returns whether the command of the run still runs.
    pub fn is_running(&self) -> bool {
        is_held(&self.folder.join(LOCK))
    }

    /// Removes the run's directory.
    ///
    /// # Errors
    /// If the run's command still runs, or the directory cannot be removed.
    pub fn remove(self) -> Result<(), Failure> {
        if self.is_running() {
            let failure = Failure::usage(format!("run {} is still running", self.name));
            return Err(failure.hint("wait for its end, or interrupt its command"));
        }
        let what = format!("cannot remove {}", printable::path(&self.folder));
        std::fs::remove_dir_all(&self.folder).or_nothing(what)
    }

    /// Returns why the run's traces were removed; `None` if they were not.
    pub fn why_traces_removed(&self) -> Option<String> {
        retention::why_removed(&self.folder)
    }

    /// Writes `value` as JSON to the file named `file` in the run's directory.
    pub fn keep(&self, file: &str, value: &impl Serialize) -> Result<(), Failure> {
        let path = self.folder.join(file);
        let text =
            serde_json::to_string_pretty(value).or_nothing(format!("cannot encode {file}"))?;
        private_file::replace_unsynced(&path, text.as_bytes())
            .or_nothing(format!("cannot write {}", printable::path(&path)))
    }

    /// Writes the traces of the run, one file for each node of the copy. If the run has several
    /// copies, `node` is the node of the copy that `traces` belong to. Errors are printed but not
    /// returned, since the result does not depend on traces.
    pub fn keep_traces(&self, places: &Places, node: Option<&str>, traces: &[Trace]) {
        if let Err(failure) = self.write_traces(places, node, traces) {
            garland_terminal::errln!("cannot write all traces of this run: {}", failure.message());
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
            private_file::replace_unsynced(&path, &trace.encode())
                .or_nothing(format!("cannot write {}", printable::path(&path)))?;
        }
        Ok(())
    }
}

/// Returns the command line of this process, the program first. In words that are no text, bytes
/// that are none are `\xHH`.
pub fn own_words() -> Vec<String> {
    std::env::args_os().map(|word| printable::json_name(word.as_encoded_bytes())).collect()
}

/// Returns the directory of the only run in `runs` whose name ends with a dash and `asked`.
fn ending_in(runs: &Path, asked: &str) -> Option<PathBuf> {
    let end = format!("-{asked}");
    let ends = |name: &OsStr| name.as_encoded_bytes().ends_with(end.as_bytes());
    let known = folders_in(runs).into_iter();
    let mut found = known.filter(|folder| folder.file_name().is_some_and(ends));
    let only = found.next()?;
    found.next().is_none().then_some(only)
}

/// Returns whether a run is named by the path of its directory.
fn is_path(asked: &str) -> bool {
    asked.contains('/') || asked.starts_with('.')
}

/// Takes the lock of the run whose directory is `folder`.
fn lock(folder: &Path) -> Result<LockFile, Failure> {
    let path = folder.join(LOCK);
    LockFile::hold(&path).or_nothing(format!("cannot lock {}", printable::path(&path)))
}

/// Returns the directories in `runs`, which are those of all runs, the oldest first. Names begin
/// with the time in seconds; runs of the same second are ordered by the creation times of their
/// directories.
pub fn folders_in(runs: &Path) -> Vec<PathBuf> {
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
