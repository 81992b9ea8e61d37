//! Reports of an agent about a copy in progress.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::copy::read_back::Summed;

/// The progress of a lane at one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneReport {
    /// The number of blocks received completely.
    pub received: u64,
    /// The link on which blocks are forwarded, if there is exactly one.
    pub hop: Option<HopReport>,
    /// The epoch of a link downstream over which nothing is taken
    /// ([`Taking`](crate::copy::Taking)), if there is one.
    pub untaken: Option<u32>,
}

/// The state of a downstream link, from the statistics of its sender's kernel since the link was
/// opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HopReport {
    /// The epoch of the link.
    pub epoch: u32,
    /// The number of bytes that the receiver's kernel has acknowledged.
    pub sent: u64,
    /// Nanoseconds in which data was in flight.
    pub busy_ns: u64,
    /// The part of `busy_ns` in which the receiver took nothing because its window was full.
    pub blocked_ns: u64,
}

/// The part of an agent's heartbeat that describes a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The progress of each lane, by the lane's number.
    pub lanes: Vec<LaneReport>,
    /// Whether the node can read back what it received.
    pub holder: bool,
    /// The number of blocks that the node has.
    pub held: u64,
    /// The number of held blocks that the node had before the copy began.
    pub had: u64,
    /// The number of leading blocks that the node has: the index of the first block that it lacks.
    pub whole: u64,
    /// The total time in nanoseconds for which receiving waited for the node's own writer.
    pub stalled_ns: u64,
    /// The total time in nanoseconds for which the agent's threads were ready to run and waited for
    /// a processor.
    pub starved_ns: u64,
    /// The total time in nanoseconds for which the writer slept in writes: it waited for the disk,
    /// not for a CPU.
    pub blocked_ns: u64,
    /// The agent's peak resident memory in bytes.
    pub memory: u64,
    /// The CPU time of the agent since the copy began, in nanoseconds.
    pub cpu_ns: u64,
    /// The part of `cpu_ns` that decrypting and checking blocks took, in nanoseconds.
    pub opening_ns: u64,
    /// The mean and maximum number of blocks in each stage that had any.
    pub depths: Vec<StageDepth>,
    /// The number of files and directories that were removed because the source does not have them.
    pub removed: u64,
    /// The digest of the node's file; `None` if it was not requested, or is not known yet.
    pub checksum: Option<Summed>,
    /// The call on a disk that has made no progress for longest, if that is a second or more.
    pub pending: Option<PendingCall>,
}

/// The kind of a call on a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DiskCall {
    /// Opens or creates the destination or the origin of the bytes.
    Open,
    /// Writes a block.
    Write,
    /// Reads a block.
    Read,
    /// Flushes the destination to stable storage, and gives it its final name.
    Finish,
    /// Compares the file with the received bytes.
    Verify,
}

impl fmt::Display for DiskCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "opening",
            Self::Write => "writing",
            Self::Read => "reading",
            Self::Finish => "finishing",
            Self::Verify => "verifying",
        })
    }
}

/// A call on a disk that is in progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingCall {
    /// The kind of the call.
    pub operation: DiskCall,
    /// The path of the file.
    pub path: String,
    /// The nanoseconds since the call last made progress.
    pub silent_ns: u64,
    /// The part of `silent_ns` that a very slow disk may take for the call's data.
    pub allowance_ns: u64,
}

impl PendingCall {
    /// Returns the nanoseconds without progress, minus the allowance.
    #[must_use]
    pub fn overdue_ns(&self) -> u64 {
        self.silent_ns.saturating_sub(self.allowance_ns)
    }

    /// The time in nanoseconds without progress after which a call counts as hanging.
    pub const HANG_NS: u64 = 5_000_000_000;

    /// Returns the rank of a call: of several calls, the one with the highest rank is reported. A
    /// hanging call that may delay other nodes ranks above all other calls.
    #[must_use]
    pub fn weight(&self) -> (bool, u64) {
        let overdue = self.overdue_ns();
        (self.holds_up() && overdue >= Self::HANG_NS, overdue)
    }

    /// Whether the call may delay other nodes.
    #[must_use]
    pub fn holds_up(&self) -> bool {
        !matches!(self.operation, DiskCall::Finish | DiskCall::Verify)
    }

    /// Whether the call opens the destination or the origin of the bytes.
    #[must_use]
    pub fn opens(&self) -> bool {
        self.operation == DiskCall::Open
    }
}

/// A stage of the pipeline of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Blocks that are being read and sealed.
    Read,
    /// Blocks that are ready to be sent.
    Ready,
    /// Received blocks that are being decrypted and written.
    Write,
}

/// The mean and maximum number of blocks in a stage, over the time in which the stage had any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageDepth {
    /// The stage that held the blocks.
    pub stage: Stage,
    /// The mean, in thousandths of a block.
    pub mean: u32,
    /// The maximum number of blocks.
    pub most: u32,
}
