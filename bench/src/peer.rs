//! The interface of the tools that `bench chain` compares.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use xtask::packages::Need;

use super::field::Field;
use super::processes::Processes;

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

/// What is known of a tool beforehand.
pub(crate) struct Facts {
    /// The tool's name, as `--peers` takes it.
    pub(crate) name: &'static str,
    /// What the tool is and how it is used here, for the text below the table.
    pub(crate) about: &'static str,
    /// The Debian packages of the tool.
    pub(crate) needs: &'static [Need],
    /// A command that prints the tool's version; empty for that of this repository.
    pub(crate) version: &'static [&'static str],
    /// Whether all receivers but the last one forward data.
    pub(crate) forwards: bool,
}

/// A tool that copies a file to many nodes.
pub(crate) trait Peer {
    /// Returns what is known of the tool beforehand.
    fn facts(&self) -> Facts;

    /// Returns whether the tool takes part in this job; slow tools skip large files.
    fn takes(&self, _job: &Job) -> bool {
        true
    }

    /// Compiles programs, writes configuration files, and starts the processes that stay between
    /// copies. The caller kills those that are returned.
    fn prepare(&mut self, _root: &Path, _field: &Field, _job: &Job) -> Result<Processes> {
        Ok(Processes::default())
    }

    /// Makes one copy. The caller has removed the files of earlier copies.
    fn copy(&mut self, field: &Field, job: &Job) -> Result<Timing>;

    /// Returns the seconds in which wires and processors allow the copy, if the tool can tell;
    /// called when it is prepared.
    fn possible(&mut self, _field: &Field, _job: &Job) -> Result<Option<f64>> {
        Ok(None)
    }

    /// Returns the figures that the tool reports about its last copy; called after each copy.
    fn extra(&mut self, _field: &Field, _job: &Job) -> Result<Extra> {
        Ok(Extra::default())
    }

    /// Stops what `prepare` started without returning it.
    fn finish(&mut self, _field: &Field) -> Result<()> {
        Ok(())
    }
}
