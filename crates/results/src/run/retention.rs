//! Which runs are kept: of each kind the last ones, for some time. A run that lives is never touched.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use garland_sys::clock;

use super::names::{LOCK, SECOND, TRACES};
use crate::lock;

/// How many runs of a kind are kept.
pub const KEPT: usize = 200;

/// Of how many runs of a kind the traces are kept, unless the user says otherwise: traces are most of a
/// run's bytes.
pub const TRACED: usize = 50;

/// How long a run is kept.
pub const AGE: Duration = Duration::from_secs(180 * 24 * 3600);

/// So many runs of a kind are kept however old they are.
const FEWEST: usize = 20;

/// The file that says why a run's traces were removed.
const REMOVED: &str = "trace.removed";

/// Characters of what tells a run from others of its kind and second: two bytes in hexadecimal.
const TAG: usize = 4;

/// The time of day.
pub fn wall_time() -> SystemTime {
    UNIX_EPOCH + Duration::from_nanos(clock::wall_ns())
}

/// Removes what is kept no longer when a run of `kind` begins, of whose kind `traced` traces are kept.
/// `folders` are those of all runs, the oldest first.
pub fn forget_old(folders: &[PathBuf], kind: &str, traced: usize, now: SystemTime) {
    let mut kinds: Vec<(&str, Vec<&PathBuf>)> = Vec::new();
    for folder in folders {
        // What is not named like a run was not put here by Garland.
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
            last(traced).iter().for_each(|folder| remove_traces(folder, &why));
            last(KEPT).iter().for_each(|folder| remove(folder));
        }
        let old = last(FEWEST).iter().filter(|folder| is_old(folder, now));
        old.for_each(|folder| remove(folder));
    }
}

/// The kind of a run with this name: `cp` of `20261122-051040-cp-4fb7`.
fn kind_of(name: &OsStr) -> Option<&str> {
    let name = name.to_str()?;
    let (second, rest) = name.split_at_checked(SECOND)?;
    let (kind, tag) = rest.strip_prefix('-')?.rsplit_once('-')?;
    let is_time = second.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let is_tag = tag.len() == TAG && tag.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_time && is_tag && !kind.is_empty()).then_some(kind)
}

/// Whether nothing was put into the directory for so long.
fn is_old(folder: &Path, now: SystemTime) -> bool {
    let changed = folder.metadata().and_then(|folder| folder.modified());
    changed.is_ok_and(|changed| now.duration_since(changed).is_ok_and(|age| age > AGE))
}

fn remove_traces(folder: &Path, why: &str) {
    let traces = folder.join(TRACES);
    // Most have none any more.
    if !traces.is_dir() {
        return;
    }
    lock::unless_held(&folder.join(LOCK), || {
        // Without room for this they are only removed without a word.
        let _ = fs::write(folder.join(REMOVED), why);
        let _ = fs::remove_dir_all(traces);
    });
}

/// A run that cannot be removed is only untidy.
fn remove(folder: &Path) {
    lock::unless_held(&folder.join(LOCK), || {
        let _ = fs::remove_dir_all(folder);
    });
}

/// Why the run's traces were removed, if they were.
pub fn why_removed(folder: &Path) -> Option<String> {
    let text = fs::read_to_string(folder.join(REMOVED)).ok()?;
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

        /// The `number`th run of a kind, with a trace.
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
    fn runs_of_one_kind_remove_none_of_another() {
        let runs = Runs::new("kinds");
        let farm = runs.add("farm", 0);
        let other = runs.0.join("notes");
        fs::create_dir(&other).unwrap();
        let execs: Vec<PathBuf> = (0..KEPT + 3).map(|number| runs.add("exec", number)).collect();
        runs.forget("exec", wall_time());
        runs.forget("cp", wall_time());
        assert!(farm.join(TRACES).is_dir() && other.is_dir());
        assert!(execs[..3].iter().all(|folder| !folder.exists()));
        assert!(execs[3..].iter().all(|folder| folder.exists()));
        let traced = execs.iter().filter(|folder| folder.join(TRACES).is_dir()).count();
        assert_eq!(traced, TRACED);
        let why = "only the last 50 are kept";
        assert_eq!(why_removed(&execs[3]).as_deref(), Some(why));
        assert_eq!(why_removed(&execs[KEPT]), None);
    }

    #[test]
    fn a_run_that_lives_is_not_touched() {
        let runs = Runs::new("live");
        let live = runs.add("farm", 0);
        let lock = LockFile::hold(&live.join(LOCK)).unwrap();
        (1..KEPT + 2).for_each(|number| drop(runs.add("farm", number)));
        runs.forget("farm", wall_time() + 2 * AGE);
        assert!(live.join(TRACES).is_dir());
        drop(lock);
        runs.forget("farm", wall_time() + 2 * AGE);
        assert!(!live.exists());
    }

    #[test]
    fn old_runs_of_any_kind_go_but_for_the_last() {
        let runs = Runs::new("old");
        (0..FEWEST + 5).for_each(|number| drop(runs.add("net-verify", number)));
        runs.forget("cp", wall_time());
        assert_eq!(runs.all().len(), FEWEST + 5);
        runs.forget("cp", wall_time() + AGE + Duration::from_secs(60));
        assert_eq!(runs.all().len(), FEWEST);
    }

    #[test]
    fn kinds_are_read_off_names() {
        let kind = |name: &str| kind_of(OsStr::new(name)).map(str::to_owned);
        assert_eq!(kind("20261122-051040-cp-4fb7").as_deref(), Some("cp"));
        assert_eq!(kind("20261122-051040-net-verify-00ff").as_deref(), Some("net-verify"));
        for other in ["", "notes", "20261122-051040", "20261122-051040-cp", "20261122-051040--4fb7"]
        {
            assert_eq!(kind(other), None, "{other}");
        }
    }
}
