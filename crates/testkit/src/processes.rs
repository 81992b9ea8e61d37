//! Finds the processes of a test in /proc, and signals them.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

/// A process that was running when it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// The process ID.
    pub pid: u32,
    /// The program and its arguments, joined by spaces.
    pub command: String,
}

/// Returns the processes whose environment or arguments contain the path `mark`, without this
/// process and without zombies.
#[must_use]
pub fn processes_with(mark: &Path) -> Vec<Process> {
    let mark = mark.as_os_str().as_bytes();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(pid) = pid.filter(|&pid| pid != std::process::id()) else { continue };
        let arguments = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let has_mark = |bytes: &[u8]| bytes.windows(mark.len().max(1)).any(|window| window == mark);
        // A zombie has no arguments.
        if !arguments.is_empty() && (has_mark(&arguments) || has_mark(&environment)) {
            let command = String::from_utf8_lossy(&arguments).trim_end_matches('\0').to_owned();
            found.push(Process { pid, command: command.replace('\0', " ") });
        }
    }
    found
}

impl Process {
    /// Returns whether the process is the agent of a node and, if `root` is given, confined to that
    /// directory.
    #[must_use]
    pub fn is_agent(&self, root: Option<&Path>) -> bool {
        let mut words = self.command.split(' ').skip(1);
        let is_agent = words.next() == Some("agent");
        let has = |root: &Path| {
            let option = format!("--root {} ", root.display());
            format!("{} ", self.command).contains(&option)
        };
        is_agent && root.is_none_or(has)
    }

    /// Kills the process; does nothing if it has ended.
    pub fn kill(&self) {
        self.send(Signal::KILL);
    }

    /// Stops the process (SIGSTOP), as if its machine hung.
    pub fn stop(&self) {
        self.send(Signal::STOP);
    }

    /// Continues the process after [`stop`](Self::stop).
    pub fn go_on(&self) {
        self.send(Signal::CONT);
    }

    /// Sends the signal of Ctrl-C (SIGINT) to the process.
    pub fn interrupt(&self) {
        self.send(Signal::INT);
    }

    /// Returns the resident memory of the process in bytes; 0 if it has ended.
    #[must_use]
    pub fn memory(&self) -> u64 {
        self.resident("VmRSS:")
    }

    /// Returns the largest resident memory that the process has had, in bytes; 0 if it has ended.
    #[must_use]
    pub fn peak_memory(&self) -> u64 {
        self.resident("VmHWM:")
    }

    /// Returns the resident file-backed memory of the process in bytes, mainly of its program; 0 if
    /// it has ended.
    #[must_use]
    pub fn memory_of_files(&self) -> u64 {
        self.resident("RssFile:")
    }

    fn resident(&self, field: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
        kib.unwrap_or(0) * 1024
    }

    fn send(&self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) {
            // The process may have ended meanwhile.
            let _ = kill_process(pid, signal);
        }
    }
}
