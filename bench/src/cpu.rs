//! CPU time of nodes, counted by one control group per node, in which its processes and their
//! children stay.
//!
//! The kernel may charge the work of soft interrupts (bridge, shaping) to the interrupted process
//! or to none. That work belongs to the emulated network, not to the tool.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

/// Prefix of group names; the id of the benchmark's outer process follows.
const PREFIX: &str = "garland-bench-";

/// The control group of one node.
pub(crate) struct Group {
    dir: PathBuf,
}

impl Group {
    /// Creates the group of `node` for the benchmark `run`; benchmarks that run at the same time
    /// have different groups.
    pub(crate) fn new(run: u32, node: &str) -> Result<Self> {
        let dir = base().join(format!("{PREFIX}{run}")).join(node);
        fs::create_dir_all(&dir).with_context(|| format!("failed to create {}", dir.display()))?;
        Ok(Self { dir })
    }

    /// Returns the path of `cgroup.procs`; a process that writes 0 to this file joins the group.
    pub(crate) fn entry(&self) -> PathBuf {
        self.dir.join("cgroup.procs")
    }

    /// Moves a process with all its threads into the group; it is no error if the process has
    /// ended.
    pub(crate) fn take(&self, pid: &str) -> Result<()> {
        match fs::write(self.entry(), pid) {
            Err(error) if error.raw_os_error() != Some(rustix::io::Errno::SRCH.raw_os_error()) => {
                Err(error)
                    .with_context(|| format!("failed to move {pid} to {}", self.dir.display()))
            }
            _ => Ok(()),
        }
    }

    /// Returns the CPU time of all processes so far, including those that have ended.
    pub(crate) fn used(&self) -> Result<Duration> {
        let old = self.dir.join("cpuacct.usage");
        if let Ok(nanoseconds) = fs::read_to_string(&old) {
            let nanoseconds =
                nanoseconds.trim().parse().context("failed to parse cpuacct.usage")?;
            return Ok(Duration::from_nanos(nanoseconds));
        }
        let path = self.dir.join("cpu.stat");
        let text = fs::read_to_string(&path)
            .with_context(|| format!("failed to read {}", path.display()))?;
        let line = text.lines().find_map(|line| line.strip_prefix("usage_usec "));
        let microseconds = line.context("cpu.stat has no line usage_usec")?;
        Ok(Duration::from_micros(microseconds.trim().parse()?))
    }

    /// Returns the ids of the processes in the group.
    pub(crate) fn processes(&self) -> Vec<i32> {
        let text = fs::read_to_string(self.entry()).unwrap_or_default();
        // The kernel shows 0 for a process that is outside of this process namespace.
        let pids = text.lines().filter_map(|line| line.parse().ok());
        pids.filter(|&pid| pid > 0).collect()
    }

    /// Kills every process of the group; gives up after about a second.
    pub(crate) fn kill(&self) {
        for _ in 0..100 {
            let processes = self.processes();
            if processes.is_empty() {
                return;
            }
            for pid in processes.into_iter().filter_map(rustix::process::Pid::from_raw) {
                // It may have ended already.
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Removes the groups of `run`, and those that killed benchmarks left behind.
pub(crate) fn remove(run: u32) {
    for entry in fs::read_dir(base()).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(owner) = name.strip_prefix(PREFIX) else { continue };
        let alive = Path::new("/proc").join(owner).exists();
        if !alive || owner == run.to_string() {
            let nodes = fs::read_dir(entry.path()).into_iter().flatten().flatten();
            for node in nodes.filter(|node| node.path().is_dir()) {
                // A group with a process cannot be removed; the next benchmark tries again.
                let _ = fs::remove_dir(node.path());
            }
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Returns the root of the control group hierarchy that counts CPU time (cgroup v1 or v2).
fn base() -> PathBuf {
    let old = Path::new("/sys/fs/cgroup/cpuacct");
    if old.is_dir() { old.to_owned() } else { PathBuf::from("/sys/fs/cgroup") }
}
