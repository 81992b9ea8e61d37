//! A job: one command, what it reads, what it makes, and what it needs.

use serde::{Deserialize, Serialize};

use super::Text;
use crate::units::Nanos;

/// What a job runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Command {
    /// A program and its arguments, as they are.
    Words(Vec<Text>),
    /// A line for the node's `sh -c`.
    Line(Text),
}

/// One job of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Its place in the list, from 1.
    pub number: u32,
    /// What it is called in tables: its first input, or its command.
    pub name: Text,
    /// What it runs.
    pub command: Command,
    /// Files that it reads, on the machine that holds the list's files.
    pub inputs: Vec<Text>,
    /// Files that it makes, on the same machine.
    pub outputs: Vec<Text>,
    /// Processors that it keeps busy; 1 unless it says otherwise.
    pub cores: u32,
    /// Memory that it needs, in bytes; a node with less isn't given it.
    pub memory: Option<u64>,
    /// How long it may run; its processes are killed then.
    pub timeout: Option<Nanos>,
}

impl Job {
    /// A job of a command alone, that needs one core.
    pub fn new(number: u32, name: Text, command: Command) -> Self {
        let (inputs, outputs) = (Vec::new(), Vec::new());
        Self { number, name, command, inputs, outputs, cores: 1, memory: None, timeout: None }
    }
}
