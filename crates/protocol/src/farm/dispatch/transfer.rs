//! The transfer of a job's files.

use garland_core::farm::Text;

use crate::farm::jobs::OutputFile;

/// The direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the node.
    There,
    /// From the node.
    Back,
}

/// The transfer of a job's files in one direction: it transfers all of them, or fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The index of the node.
    pub node: usize,
    /// The index of the job.
    pub job: usize,
    /// The number of the job, which is the name of its directory.
    pub number: u32,
    /// The number of the job's try, from 1.
    pub tries: u32,
    /// The direction: inputs go to the node, and outputs come from the node.
    pub way: Direction,
    /// The paths of the files, relative to the stager's directory on this machine.
    pub names: Vec<Text>,
    /// The paths of the state files of a job that moves, relative to the job's directory on the
    /// node; on this machine, the stager stores them until the job goes on.
    pub state: Vec<Text>,
    /// The node's descriptions of the files, in the order of `names` and then of `state`, if they
    /// come from the node; otherwise empty.
    pub outputs: Vec<OutputFile>,
}

/// Why a transfer failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransferFailure {
    /// A reason that another node would not mend, as far as is known: a file cannot be read, or
    /// there is no room for it.
    Files(String),
    /// The node does not answer, or is not reached. Other nodes may.
    Node(String),
}

impl TransferFailure {
    /// Returns the reason.
    #[must_use]
    pub fn into_reason(self) -> String {
        match self {
            Self::Files(why) | Self::Node(why) => why,
        }
    }

    /// Returns the failure of a transfer: the reason follows the names of its files.
    #[must_use]
    pub fn for_transfer(&self, transfer: &Transfer) -> Self {
        match self {
            Self::Files(why) => Self::Files(transfer.failed(why)),
            Self::Node(why) => Self::Node(transfer.failed(why)),
        }
    }
}

impl Transfer {
    /// Returns the number of files.
    pub fn count(&self) -> usize {
        self.names.len() + self.state.len()
    }

    /// Returns the error message for a transfer that failed for the reason `why`.
    pub fn failed(&self, why: &str) -> String {
        let names: Vec<String> =
            self.names.iter().chain(&self.state).map(Text::to_string).collect();
        let all = names.join(", ");
        let end = if names.len() == 1 { "" } else { "s" };
        match self.way {
            Direction::There => format!("cannot copy input{end} {all} to the node: {why}"),
            Direction::Back => format!("cannot copy output{end} {all} back: {why}"),
        }
    }
}
