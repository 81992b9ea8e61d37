//! After the tests there is no process, network namespace, mount or temporary file of theirs.
//!
//! Processes are known by a mark in their environment, which children inherit, daemons too; so other
//! people's processes on the same machine are never blamed. Files are known by their place.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

const MARK: &str = "GARLAND_TEST_RUN";
const NAMESPACES: &str = "/run/netns";
/// How long a process may take to end by itself after the last test, on a machine that is busy with
/// other things.
const GRACE: Duration = Duration::from_secs(15);

/// Knows what was there before the tests.
pub(super) struct Watchman {
    mark: String,
    temporary: PathBuf,
    namespaces: BTreeSet<String>,
    grace: Duration,
}

/// Where the tests that the process `driver` runs have their temporary files. Short, since sockets in it
/// have a path of at most 107 bytes.
fn temporary(driver: u32) -> PathBuf {
    std::env::temp_dir().join(format!("gt{driver}"))
}

/// Removes the temporary files of tests that the process `driver` ran.
pub(crate) fn remove_temporary(driver: u32) {
    let temporary = temporary(driver);
    // Removing files through it would remove those of whatever is mounted.
    mounts(&temporary).iter().for_each(|place| release(place));
    // There are none after a run that has ended by itself.
    let _ = fs::remove_dir_all(temporary);
}

fn release(place: &str) {
    let mut umount = Command::new("umount");
    let _ = umount.arg("-l").arg(place).stderr(Stdio::null()).status();
}

impl Watchman {
    /// Looks around, and makes a directory for temporary files that the tests must leave empty.
    pub(super) fn new() -> Result<Self> {
        let temporary = temporary(std::process::id());
        fs::create_dir(&temporary).with_context(|| format!("make {}", temporary.display()))?;
        Ok(Self {
            mark: format!("{MARK}={}", std::process::id()),
            temporary,
            namespaces: namespaces(),
            grace: GRACE,
        })
    }

    /// Makes `command` and its descendants recognisable.
    pub(super) fn mark(&self, command: &mut Command) {
        let (name, value) = self.mark.split_once('=').expect("the mark has a value");
        command.env(name, value).env("TMPDIR", &self.temporary);
    }

    /// Looks again, and ends what is left.
    ///
    /// # Errors
    /// When something is there that wasn't: everything found is named.
    pub(super) fn look(self) -> Result<()> {
        let mut left = Vec::new();
        let mut waited = Duration::ZERO;
        let mut alive = processes(&self.mark);
        while !alive.is_empty() && waited < self.grace {
            thread::sleep(Duration::from_millis(50));
            waited += Duration::from_millis(50);
            alive = processes(&self.mark);
        }
        left.extend(alive.iter().map(|(pid, name)| format!("process {pid} {name}")));
        for pid in alive.into_iter().filter_map(|(pid, _)| Pid::from_raw(pid)) {
            // It may have ended meanwhile.
            let _ = kill_process(pid, Signal::KILL);
        }
        for name in namespaces().difference(&self.namespaces) {
            if name.contains("garland") {
                left.push(format!("network namespace {name}"));
            }
        }
        for place in mounts(&self.temporary) {
            release(&place);
            left.push(format!("mount {place}"));
        }
        for entry in entries(&self.temporary) {
            left.push(format!("temporary file {}", entry.display()));
        }
        fs::remove_dir_all(&self.temporary)
            .with_context(|| format!("remove {}", self.temporary.display()))?;
        if !left.is_empty() {
            bail!("the tests left behind:\n  {}", left.join("\n  "));
        }
        Ok(())
    }
}

/// Processes whose environment holds `mark`: their numbers and names.
fn processes(mark: &str) -> Vec<(i32, String)> {
    let mut found = Vec::new();
    for dir in entries(Path::new("/proc")) {
        let environment = fs::read(dir.join("environ")).unwrap_or_default();
        let mut variables = environment.split(|&byte| byte == 0);
        if variables.any(|variable| variable == mark.as_bytes()) {
            let name = fs::read_to_string(dir.join("comm")).unwrap_or_default();
            let pid = dir.file_name().and_then(|pid| pid.to_str()?.parse().ok());
            found.extend(pid.map(|pid| (pid, name.trim().to_owned())));
        }
    }
    found
}

/// Where something is mounted below `dir`.
fn mounts(dir: &Path) -> Vec<String> {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let places = table.lines().filter_map(|line| line.split(' ').nth(4));
    places.filter(|place| Path::new(place).starts_with(dir)).map(str::to_owned).collect()
}

fn namespaces() -> BTreeSet<String> {
    let names = entries(Path::new(NAMESPACES)).into_iter();
    names.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect()
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn processes_and_files_left_behind_are_named() {
        let watchman = Watchman {
            mark: format!("{MARK}=self-test-{}", std::process::id()),
            temporary: std::env::temp_dir().join(format!("gt-self-{}", std::process::id())),
            namespaces: namespaces(),
            grace: Duration::from_millis(100),
        };
        fs::create_dir(&watchman.temporary).unwrap();
        fs::write(watchman.temporary.join("forgotten"), "").unwrap();
        let mut cat = Command::new("cat");
        watchman.mark(&mut cat);
        let mut cat = cat.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // The kernel shows the environment a moment after `spawn` returns; an echo is late enough.
        cat.stdin.as_mut().unwrap().write_all(b"!").unwrap();
        cat.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let said = watchman.look().unwrap_err().to_string();
        assert_eq!(cat.wait().unwrap().signal(), Some(Signal::KILL.as_raw()), "it is ended");
        assert!(said.contains(&format!("process {} cat", cat.id())), "{said}");
        assert!(said.contains("forgotten"), "{said}");
    }
}
