//! The transfer of a job's files.

use garland_core::farm::Text;
use garland_protocol::OutputFile;

/// The direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the node.
    There,
    /// From the node.
    Back,
}

/// The transfer of a job's files: all of them, or none.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// The index of the node.
    pub node: usize,
    /// The index of the job.
    pub job: usize,
    /// The number of the job, which is the name of its directory.
    pub number: u32,
    /// The number of the try.
    pub tries: u32,
    /// The direction.
    pub way: Direction,
    /// The names of the files.
    pub names: Vec<Text>,
    /// The descriptions of output files by the node.
    pub outputs: Vec<OutputFile>,
    /// The number of bytes.
    pub bytes: u64,
    /// Why the transfer failed, if it did.
    pub moved: Result<(), String>,
}

impl Transfer {
    /// Returns the error for a transfer that failed, and why.
    pub fn failed(&self, why: &str) -> String {
        let names: Vec<String> = self.names.iter().map(Text::to_string).collect();
        let (all, end) = (names.join(", "), if names.len() == 1 { "" } else { "s" });
        match self.way {
            Direction::There => format!("cannot copy input{end} {all} to the node: {why}"),
            Direction::Back => format!("cannot copy output{end} {all} back: {why}"),
        }
    }
}
