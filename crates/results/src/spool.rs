//! What waits in a spool (`garland up --spool`).

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use garland_core::farm::Text;
use garland_terminal::verdicts::folded;
use serde::{Deserialize, Serialize};

/// The schema of the record of a spool, with its version.
const SCHEMA: &str = "garland.spool/1";

/// A spool, and the entries that wait in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SpoolState {
    schema: String,
    directory: Text,
    destination: Text,
    /// The entries that wait, in order, or the first of them.
    pub waiting: Vec<WaitingEntry>,
    /// The number of entries that wait behind these.
    #[serde(default)]
    pub more: usize,
}

/// An entry that not all nodes have.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WaitingEntry {
    /// The entry's name.
    pub name: Text,
    /// The nodes that lack it.
    pub nodes: Vec<LackingNode>,
}

/// A node that lacks an entry.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LackingNode {
    /// The node's name.
    pub name: String,
    /// Why the last copy to it failed; `None` if there was none.
    pub reason: Option<String>,
}

impl SpoolState {
    /// Creates the state of an empty spool.
    #[must_use]
    pub fn new(directory: Text, destination: Text) -> Self {
        Self { schema: SCHEMA.to_owned(), directory, destination, waiting: Vec::new(), more: 0 }
    }

    /// Returns whether the record is of a version that this release reads.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.schema == SCHEMA
    }

    /// Returns the number of entries that wait.
    #[must_use]
    pub fn waits(&self) -> usize {
        self.waiting.len() + self.more
    }

    /// Returns the spool's directory.
    #[must_use]
    pub fn directory(&self) -> PathBuf {
        OsString::from_vec(self.directory.0.clone()).into()
    }
}

impl fmt::Display for SpoolState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let directory = self.directory.escaped();
        let destination = self.destination.escaped();
        let count = self.waits();
        writeln!(f, "spool   {directory} to {destination}: {count} waiting")?;
        self.waiting.iter().try_for_each(|entry| entry.fmt(f))?;
        match self.more {
            0 => Ok(()),
            more => writeln!(f, "waits   {more} more entries"),
        }
    }
}

impl fmt::Display for WaitingEntry {
    /// Writes a line for each reason for which nodes lack the entry.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.escaped();
        let nodes = self.nodes.iter();
        let lines = folded(nodes.map(|node| ("", node.reason.as_deref(), node.name.as_str())));
        lines.lines().try_for_each(|line| writeln!(f, "waits   {name}: {}", line.trim_start()))
    }
}
