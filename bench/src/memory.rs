//! Pinned memory, and the count of memory that was returned to a host.
//!
//! With free page reporting, a virtual machine returns memory that was freed some seconds ago to
//! its host. Getting it back costs two CPU seconds per GiB, which made a chain look three times
//! slower.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use super::sandbox;

const REPORTED: &str = "/sys/module/page_reporting/parameters/reported_kib";
/// Number of free 2 MiB blocks that are left unpinned, about 1 GiB, so that pinning evicts nothing.
const SPARE: u64 = 512;

/// Free memory, pinned block by block until this is dropped.
pub(crate) struct Pin(Child);

impl Pin {
    /// Pins all free memory except a reserve of about 1 GiB.
    pub(crate) fn all(root: &Path) -> Result<Self> {
        let program = sandbox::compile(root, "cc", "bench/warm.c", "warm")?;
        let blocks = (free("MemFree")? / (2 << 20)).saturating_sub(SPARE);
        let child = Command::new(program)
            .arg(blocks.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("failed to start warm")?;
        let mut pin = Self(child);
        let mut said = String::new();
        let out = pin.0.stdout.take().context("the standard output of warm is not a pipe")?;
        let read = BufReader::new(out).read_line(&mut said);
        read.context("failed to wait for warm")?;
        if said.trim() != format!("pinned {blocks}") {
            bail!("warm failed to pin {blocks} blocks; its output is `{}`", said.trim());
        }
        Ok(pin)
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // warm ends when its standard input is closed.
        let _ = self.0.wait();
    }
}

/// Returns the KiB of memory that were returned to the host so far; `None` if the kernel does not
/// count them.
pub(crate) fn read_given_back() -> Option<u64> {
    fs::read_to_string(REPORTED).ok()?.trim().parse().ok()
}

/// Checks that the source of `bytes` and its copies on all receivers fit into memory.
pub(crate) fn check_room(bytes: u64, receivers: usize) -> Result<()> {
    let need = bytes * (receivers as u64 + 1) + (1 << 30);
    let there = free("MemAvailable")?;
    if need > there {
        bail!(
            "not enough memory: {receivers} copies need {} MiB, but only {} MiB are available",
            need >> 20,
            there >> 20
        );
    }
    Ok(())
}

fn free(field: &str) -> Result<u64> {
    let text = fs::read_to_string("/proc/meminfo").context("failed to read /proc/meminfo")?;
    let line = text.lines().find(|line| line.starts_with(field));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    let kib: u64 = kib.context("failed to read /proc/meminfo")?.parse()?;
    Ok(kib * 1024)
}
