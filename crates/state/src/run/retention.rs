//! Removes old runs: for each command, only the last runs are kept, and only for a limited time. A
//! run whose command is still running is never removed.

use std::ffi::OsStr;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use garland_sys::clock;

use super::files::read_file;
use super::names::{LOCK, SECOND, TRACES};
use crate::lock;

/// For each command, the maximum number of runs that are kept.
pub const MAX_KEPT_RUNS: usize = 200;

/// For each command, the default number of runs whose traces are kept. Traces are most of a run's
/// bytes.
pub const TRACED: usize = 50;

/// The age at which a run is removed, unless it is one of the last `FEWEST` runs of its command.
pub const AGE_MAX: Duration = Duration::from_secs(180 * 24 * 3600);

/// For each command, the number of runs that are kept regardless of their age.
const FEWEST: usize = 20;

/// The name of the file that says why a run's traces were removed.
const REMOVED: &str = "trace.removed";

/// The length of the random tag at the end of a run's name: two bytes in hexadecimal.
const TAG: usize = 4;

/// Returns the wall-clock time.
pub fn wall_time() -> SystemTime {
    UNIX_EPOCH + Duration::from_nanos(clock::wall_ns())
}

/// Removes old runs and old traces when a run of the command `kind` begins. `folders` are the
/// directories of all runs, the oldest first. The last `traced` runs of `kind` keep their traces.
pub fn forget_old(folders: &[PathBuf], kind: &str, traced: usize, now: SystemTime) {
    let mut kinds: Vec<(&str, Vec<&PathBuf>)> = Vec::new();
    for folder in folders {
        // Skip directories whose names are not those of runs.
        let Some(of) = folder.file_name().and_then(kind_of) else { continue };
        match kinds.iter_mut().find(|(known, _)| *known == of) {
            Some((_, runs)) => runs.push(folder),
            None => kinds.push((of, vec![folder])),
        }
    }
    for (of, runs) in kinds {
        let last = |count: usize| &runs[..runs.len().saturating_sub(count)];
        if of == kind {
            let hint = if kind == "cp" { "; see --keep-traces" } else { "" };
            let why = format!("only the last {traced} are kept{hint}");
            // Those before one whose traces were removed were looked at then: a short command has
            // no time to look at hundreds again.
            let mut traces = last(traced).iter().rev();
            let _ = traces.try_for_each(|folder| remove_traces(folder, &why));
            last(MAX_KEPT_RUNS).iter().for_each(|folder| remove(folder));
        }
        let old = last(FEWEST).iter().take_while(|folder| is_old(folder, now));
        old.for_each(|folder| remove(folder));
    }
}

/// Returns the command in a run's name: `cp` for `20261122-051040-cp-4fb7`. `None` if `name` is not
/// the name of a run.
pub fn kind_of(name: &OsStr) -> Option<&str> {
    let name = name.to_str()?;
    let (second, rest) = name.split_at_checked(SECOND)?;
    let (kind, tag) = rest.strip_prefix('-')?.rsplit_once('-')?;
    let is_time = second.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let is_tag = tag.len() == TAG && tag.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_time && is_tag && !kind.is_empty()).then_some(kind)
}

/// Returns whether the directory's modification time is more than [`AGE_MAX`] ago.
fn is_old(folder: &Path, now: SystemTime) -> bool {
    let changed = folder.metadata().and_then(|folder| folder.modified());
    changed.is_ok_and(|changed| now.duration_since(changed).is_ok_and(|age| age > AGE_MAX))
}

/// Removes the traces of a run unless its command is running. Breaks if they were removed before.
fn remove_traces(folder: &Path, why: &str) -> ControlFlow<()> {
    let traces = folder.join(TRACES);
    if traces.is_dir() {
        lock::unless_held(&folder.join(LOCK), || {
            // If the reason cannot be written, remove the traces anyway.
            let _ = fs::write(folder.join(REMOVED), why);
            let _ = fs::remove_dir_all(traces);
        });
        return ControlFlow::Continue(());
    }
    // Many runs never had traces.
    if folder.join(REMOVED).exists() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// Removes a run unless its command is running; ignores errors.
fn remove(folder: &Path) {
    lock::unless_held(&folder.join(LOCK), || {
        let _ = fs::remove_dir_all(folder);
    });
}

/// Returns why the run's traces were removed; `None` if they were not.
pub fn why_removed(folder: &Path) -> Option<String> {
    let text = String::from_utf8(read_file(&folder.join(REMOVED)).ok()?).ok()?;
    (!folder.join(TRACES).is_dir()).then(|| text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::LockFile;

    struct Runs(PathBuf);

    impl Runs {
        fn new(name: &str) -> Self {
            let name = format!("garland-retention-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            fs::create_dir_all(&folder).expect("a directory for the test");
            Self(folder)
        }

        /// Creates the `number`th run of a command, with a trace directory.
        fn add(&self, kind: &str, number: usize) -> PathBuf {
            let folder = self.0.join(format!("20261122-000000-{kind}-{number:04x}"));
            fs::create_dir_all(folder.join(TRACES)).expect("a run");
            folder
        }

        fn all(&self) -> Vec<PathBuf> {
            let mut all: Vec<PathBuf> =
                fs::read_dir(&self.0).expect("runs").flatten().map(|one| one.path()).collect();
            all.sort();
            all
        }

        fn forget(&self, kind: &str, now: SystemTime) {
            forget_old(&self.all(), kind, TRACED, now);
        }
    }

    impl Drop for Runs {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn runs_of_one_command_remove_none_of_another() {
        let runs = Runs::new("kinds");
        let farm = runs.add("farm", 0);
        let other = runs.0.join("notes");
        fs::create_dir(&other).unwrap();
        let execs: Vec<PathBuf> =
            (0..MAX_KEPT_RUNS + 3).map(|number| runs.add("exec", number)).collect();
        runs.forget("exec", wall_time());
        runs.forget("cp", wall_time());
        assert!(farm.join(TRACES).is_dir() && other.is_dir());
        assert!(execs[..3].iter().all(|folder| !folder.exists()));
        assert!(execs[3..].iter().all(|folder| folder.exists()));
        let traced = execs.iter().filter(|folder| folder.join(TRACES).is_dir()).count();
        assert_eq!(traced, TRACED);
        let why = "only the last 50 are kept";
        assert_eq!(why_removed(&execs[3]).as_deref(), Some(why));
        assert_eq!(why_removed(&execs[MAX_KEPT_RUNS]), None);
    }

    #[test]
    fn a_run_whose_command_is_running_is_not_touched() {
        let runs = Runs::new("live");
        let live = runs.add("farm", 0);
        let lock = LockFile::hold(&live.join(LOCK)).unwrap();
        (1..MAX_KEPT_RUNS + 2).for_each(|number| drop(runs.add("farm", number)));
        runs.forget("farm", wall_time() + 2 * AGE_MAX);
        assert!(live.join(TRACES).is_dir());
        drop(lock);
        runs.forget("farm", wall_time() + 2 * AGE_MAX);
        assert!(!live.exists());
    }

    #[test]
    fn old_runs_of_any_command_are_removed_except_for_the_last() {
        let runs = Runs::new("old");
        (0..FEWEST + 5).for_each(|number| drop(runs.add("net-verify", number)));
        runs.forget("cp", wall_time());
        assert_eq!(runs.all().len(), FEWEST + 5);
        runs.forget("cp", wall_time() + AGE_MAX + Duration::from_secs(60));
        assert_eq!(runs.all().len(), FEWEST);
    }

    #[test]
    fn commands_are_parsed_from_names() {
        let kind = |name: &str| kind_of(OsStr::new(name)).map(str::to_owned);
        assert_eq!(kind("20261122-051040-cp-4fb7").as_deref(), Some("cp"));
        assert_eq!(kind("20261122-051040-net-verify-00ff").as_deref(), Some("net-verify"));
        for other in ["", "notes", "20261122-051040", "20261122-051040-cp", "20261122-051040--4fb7"]
        {
            assert_eq!(kind(other), None, "{other}");
        }
    }
}
