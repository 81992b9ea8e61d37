//! Checks that the tests leave no process, network namespace, mount or temporary file behind.
//!
//! A process of the tests is recognised by a variable in its environment, which children and
//! daemons inherit, so processes of other users are never reported. Files are recognised by their
//! directory.

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
/// Time that a process has to end by itself after the last test; long enough for a busy machine.
const GRACE: Duration = Duration::from_secs(15);

/// What existed before the tests, to find what they leave behind.
pub(super) struct Watchman {
    mark: String,
    temporary: PathBuf,
    namespaces: BTreeSet<String>,
    grace: Duration,
}

/// Returns the directory for temporary files of the tests that the process `driver` runs. The path
/// is short, since the path of a socket in it may have at most 107 bytes.
fn temporary_folder(driver: u32) -> PathBuf {
    std::env::temp_dir().join(format!("gt{driver}"))
}

/// Removes the temporary files of tests that the process `driver` ran.
pub(crate) fn remove_temporary(driver: u32) {
    let temporary = temporary_folder(driver);
    // Unmount first: removing files through a mount would remove them from the mounted file system.
    mounts(&temporary).iter().for_each(|place| release(place));
    // The directory is missing after a run that ended normally.
    let _ = fs::remove_dir_all(temporary);
}

fn release(place: &str) {
    let mut umount = Command::new("umount");
    let _ = umount.arg("-l").arg(place).stderr(Stdio::null()).status();
}

impl Watchman {
    /// Records what exists, and creates a directory for temporary files that the tests must leave
    /// empty.
    pub(super) fn new() -> Result<Self> {
        let temporary = temporary_folder(std::process::id());
        fs::create_dir(&temporary)
            .with_context(|| format!("failed to create {}", temporary.display()))?;
        Ok(Self {
            mark: format!("{MARK}={}", std::process::id()),
            temporary,
            namespaces: namespaces(),
            grace: GRACE,
        })
    }

    /// Sets the variables by which `command` and its descendants are recognised.
    pub(super) fn mark(&self, command: &mut Command) {
        let (name, value) = self.mark.split_once('=').expect("the mark has a value");
        command.env(name, value).env("TMPDIR", &self.temporary);
    }

    /// Compares with the state before the tests, and kills processes that are left.
    ///
    /// # Errors
    /// If something was left behind; the error names all of it.
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
            // The process may have ended meanwhile.
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
            .with_context(|| format!("failed to remove {}", self.temporary.display()))?;
        if !left.is_empty() {
            bail!(
                "the tests left these behind; end or remove them in the tests:\n  {}",
                left.join("\n  ")
            );
        }
        Ok(())
    }
}

/// Returns the ids and names of the processes whose environment contains `mark`.
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

/// Returns all mount points below `dir`.
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
        // The environment is visible a moment after `spawn` returns; once cat echoes a line, it is.
        cat.stdin.as_mut().unwrap().write_all(b"!").unwrap();
        cat.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let said = watchman.look().unwrap_err().to_string();
        assert_eq!(cat.wait().unwrap().signal(), Some(Signal::KILL.as_raw()), "it is ended");
        assert!(said.contains(&format!("process {} cat", cat.id())), "{said}");
        assert!(said.contains("forgotten"), "{said}");
    }
}
