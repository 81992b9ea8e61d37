//! The machine of a measurement.

use std::process::{Command, Stdio};
use std::{fmt, fs};

use serde::Serialize;

/// The properties of the machine that affect the figures.
#[derive(Serialize)]
pub(crate) struct Machine {
    /// The processor's name.
    pub(crate) processor: String,
    /// Number of usable processors.
    pub(crate) cores: usize,
    /// Memory in MiB.
    pub(crate) memory_mib: u64,
    /// The kernel's release.
    pub(crate) kernel: String,
    /// The distribution.
    pub(crate) system: String,
    /// Whether freed memory is returned to the host of this virtual machine.
    pub(crate) page_reporting: bool,
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { processor, cores, memory_mib, kernel, system, .. } = self;
        write!(f, "{cores} cores of {processor}, {memory_mib} MiB, {system}, kernel {kernel}")
    }
}

impl Machine {
    /// Returns the properties of this machine.
    pub(crate) fn here() -> Self {
        let memory = field("/proc/meminfo", "MemTotal", ':');
        let kib = memory.split(' ').next().and_then(|kib| kib.parse().ok());
        Self {
            processor: field("/proc/cpuinfo", "model name", ':'),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_mib: kib.unwrap_or(0_u64) / 1024,
            kernel: text("/proc/sys/kernel/osrelease").trim().to_owned(),
            system: field("/etc/os-release", "PRETTY_NAME", '='),
            page_reporting: super::memory::read_given_back().is_some(),
        }
    }
}

/// Runs a command that prints a version, and returns the first line of its output.
pub(crate) fn tell_version(words: &[&str]) -> String {
    let output = Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).output();
    match output {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout);
            let line = said.lines().next().unwrap_or("silent").trim();
            line.replace('\t', " ")
        }
        Err(error) => format!("unknown: {error}"),
    }
}

/// Returns the version of this repository.
pub(crate) fn own_version() -> String {
    tell_version(&["git", "describe", "--always", "--dirty", "--exclude=*"])
}

fn text(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| format!("unknown: {error}"))
}

fn field(path: &str, name: &str, separator: char) -> String {
    let content = text(path);
    let line = content.lines().find(|line| line.starts_with(name));
    let value = line.and_then(|line| line.split_once(separator));
    value.map_or("unknown", |(_, value)| value.trim().trim_matches('"')).to_owned()
}
