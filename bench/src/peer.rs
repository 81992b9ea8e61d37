//! The interface of tools in the table of copies.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use super::field::Field;
use xtask::packages::Need;

/// A copy: `source` to the file `copy` in the directories of nodes 1 to `receivers`.
pub(crate) struct Job {
    /// The file's path at the head.
    pub(crate) source: PathBuf,
    /// Its length.
    pub(crate) bytes: u64,
    /// Number of receiving nodes, which are numbered from 1.
    pub(crate) receivers: usize,
    /// The links' rate in bit/s.
    pub(crate) rate: Option<u64>,
}

impl Job {
    /// The file's name in a node's directory.
    pub(crate) const COPY: &'static str = "copy";
}

/// The time of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// Time of starting what must run on the nodes, if that is part of every copy.
    pub(crate) start: Duration,
    /// Time from then until the command has ended and every node is done.
    pub(crate) transfer: Duration,
}

/// A tool's own figures of its last copy.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub(crate) struct Extra {
    /// Largest resident memory of a node's process, in KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resident_kib: Option<u64>,
    /// The tool's own account of the whole command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) elapsed_ns: Option<u64>,
    /// Seconds that each receiver spent on decrypting blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) opening: Option<Vec<f64>>,
    /// CPU seconds of each receiver, if they aren't counted by its control group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpu: Option<Vec<f64>>,
    /// The tool's own account: phases and nanoseconds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) phases: Vec<(String, u64)>,
}

/// A tool that copies a file to many nodes.
pub(crate) trait Peer {
    /// The tool's name, as on the command line.
    fn name(&self) -> &'static str;

    /// What the tool is and how it is used here, for the text below the table.
    fn about(&self) -> &'static str;

    /// The Debian packages of the tool.
    fn needs(&self) -> &'static [Need];

    /// A command that prints the tool's version.
    fn version(&self) -> &'static [&'static str];

    /// Number of nodes that forward data, of `receivers` nodes.
    fn repeaters(&self, receivers: usize) -> usize;

    /// Whether the tool takes part in this job; tools may refuse long ones.
    fn takes(&self, _job: &Job) -> bool {
        true
    }

    /// Compiles, writes configuration, and starts what runs between copies.
    fn prepare(&mut self, root: &Path, field: &Field, job: &Job) -> Result<()>;

    /// Makes one copy. Files of earlier copies have been removed.
    fn copy(&mut self, field: &Field, job: &Job) -> Result<Timing>;

    /// The tool's own figures; called after each copy.
    fn extra(&mut self, _field: &Field, _job: &Job) -> Result<Extra> {
        Ok(Extra::default())
    }

    /// Ends what `prepare` started; nothing may run on the nodes afterwards.
    fn finish(&mut self, _field: &Field) -> Result<()> {
        Ok(())
    }
}
