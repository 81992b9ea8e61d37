//! What a tool must be able to do to stand in the table.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use super::field::Field;
use xtask::packages::Need;

/// One copy that is to be made: `source` to the file `copy` in the directory of nodes 1 to `receivers`.
pub(crate) struct Job {
    /// The file, seen by the head.
    pub(crate) source: PathBuf,
    /// Its length.
    pub(crate) bytes: u64,
    /// The nodes are numbered 1 to this.
    pub(crate) receivers: usize,
    /// The links' rate in bit/s.
    pub(crate) rate: Option<u64>,
}

impl Job {
    /// The file's name in a node's directory.
    pub(crate) const COPY: &'static str = "copy";
}

/// How long a copy took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// Starting what must run on the nodes, if that is part of every copy.
    pub(crate) start: Duration,
    /// From then until the command has ended and every node is done.
    pub(crate) transfer: Duration,
}

/// More that a tool tells about its last copy.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub(crate) struct Extra {
    /// Largest resident memory of a node's process, in KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resident_kib: Option<u64>,
    /// The tool's own account of the whole command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) elapsed_ns: Option<u64>,
    /// Seconds that each receiver spent on opening sealed blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) opening: Option<Vec<f64>>,
    /// CPU seconds of each receiver, where the tool knows and its control group doesn't.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpu: Option<Vec<f64>>,
    /// The tool's own account: phases and nanoseconds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) phases: Vec<(String, u64)>,
}

/// A tool that copies a file to many nodes.
pub(crate) trait Peer {
    /// One word, as on the command line.
    fn name(&self) -> &'static str;

    /// What it is and how it is used here, for below the table.
    fn about(&self) -> &'static str;

    /// Debian packages it comes in.
    fn needs(&self) -> &'static [Need];

    /// A command that prints its version.
    fn version(&self) -> &'static [&'static str];

    /// Nodes that pass data on, with `receivers` nodes.
    fn repeaters(&self, receivers: usize) -> usize;

    /// Whether this job is worth its time.
    fn takes(&self, _job: &Job) -> bool {
        true
    }

    /// Compiles, writes configuration, starts what stands between copies.
    fn prepare(&mut self, root: &Path, field: &Field, job: &Job) -> Result<()>;

    /// Makes one copy. Files of earlier copies are gone.
    fn copy(&mut self, field: &Field, job: &Job) -> Result<Timing>;

    /// Asked after each copy.
    fn extra(&mut self, _field: &Field, _job: &Job) -> Result<Extra> {
        Ok(Extra::default())
    }

    /// Ends what `prepare` started; nothing may run on the nodes afterwards.
    fn finish(&mut self, _field: &Field) -> Result<()> {
        Ok(())
    }
}
