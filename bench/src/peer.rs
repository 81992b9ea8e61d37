//! The interface of the tools that `bench chain` compares.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use super::field::Field;
use xtask::packages::Need;

/// One copy: from `source` to the file `copy` in the directories of nodes 1 to `receivers`.
pub(crate) struct Job {
    /// The path of the file on the head.
    pub(crate) source: PathBuf,
    /// The file's length in bytes.
    pub(crate) bytes: u64,
    /// Number of receiving nodes, which are numbered from 1.
    pub(crate) receivers: usize,
    /// The links' rate in bit/s; `None` if unshaped.
    pub(crate) rate: Option<u64>,
}

impl Job {
    /// The name of the copy in a node's directory.
    pub(crate) const COPY: &'static str = "copy";
}

/// The time of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// Time of starting the tool's processes on the nodes, if every copy starts them.
    pub(crate) start: Duration,
    /// Time from then until the command has ended and every node has finished.
    pub(crate) transfer: Duration,
}

/// The figures that a tool itself reports about its last copy.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub(crate) struct Extra {
    /// Largest resident memory of a node's process, in KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resident_kib: Option<u64>,
    /// The time of the whole command as the tool reports it, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) elapsed_ns: Option<u64>,
    /// Seconds that each receiver spent on decrypting blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) opening: Option<Vec<f64>>,
    /// CPU seconds of each receiver, if the receiver's control group does not count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpu: Option<Vec<f64>>,
    /// The phases that the tool reports, with their nanoseconds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) phases: Vec<(String, u64)>,
}

/// A tool that copies a file to many nodes.
pub(crate) trait Peer {
    /// Returns the tool's name, as `--peers` takes it.
    fn name(&self) -> &'static str;

    /// Returns what the tool is and how it is used here, for the text below the table.
    fn about(&self) -> &'static str;

    /// Returns the Debian packages of the tool.
    fn needs(&self) -> &'static [Need];

    /// Returns a command that prints the tool's version.
    fn version(&self) -> &'static [&'static str];

    /// Returns how many of `receivers` nodes forward data.
    fn repeaters(&self, receivers: usize) -> usize;

    /// Returns whether the tool takes part in this job; slow tools skip large files.
    fn takes(&self, _job: &Job) -> bool {
        true
    }

    /// Compiles programs, writes configuration files, and starts the processes that stay between copies.
    fn prepare(&mut self, root: &Path, field: &Field, job: &Job) -> Result<()>;

    /// Makes one copy. The caller has removed the files of earlier copies.
    fn copy(&mut self, field: &Field, job: &Job) -> Result<Timing>;

    /// Returns the figures that the tool reports about its last copy; called after each copy.
    fn extra(&mut self, _field: &Field, _job: &Job) -> Result<Extra> {
        Ok(Extra::default())
    }

    /// Stops what `prepare` started; no process may run on the nodes afterwards.
    fn finish(&mut self, _field: &Field) -> Result<()> {
        Ok(())
    }
}
