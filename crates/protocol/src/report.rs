//! What an agent says of a copy that is under way.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::read_back::Summed;

/// A lane's progress at one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneReport {
    /// Blocks received whole.
    pub received: u64,
    /// The link that it is passed on by, where it is one.
    pub hop: Option<HopReport>,
}

/// A link downstream, by its sender's kernel's account since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HopReport {
    /// The link's epoch.
    pub epoch: u32,
    /// Bytes that the far end's kernel has.
    pub sent: u64,
    /// Nanoseconds in which something was on its way.
    pub busy_ns: u64,
    /// Nanoseconds of these in which the far end took nothing: its window was full.
    pub blocked_ns: u64,
}

/// What an agent's heartbeat says of a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Progress by lane.
    pub lanes: Vec<LaneReport>,
    /// Whether it can give back what it got.
    pub holder: bool,
    /// Blocks that are here.
    pub held: u64,
    /// Blocks of these that were here before the copy began.
    pub had: u64,
    /// Blocks of these from the first one on, without a gap.
    pub whole: u64,
    /// Nanoseconds that receiving waited for the node's own writer, in all.
    pub stalled_ns: u64,
    /// Nanoseconds that the writer slept in its writes, in all: its disk's doing, not the CPU's.
    pub blocked_ns: u64,
    /// The agent's largest resident memory so far, in bytes.
    pub memory: u64,
    /// CPU nanoseconds that the agent has used since the copy began.
    pub cpu_ns: u64,
    /// CPU nanoseconds of these that opening blocks took.
    pub opening_ns: u64,
    /// How many blocks each stage has had at a time.
    pub depths: Vec<StageDepth>,
    /// Names that were removed, since the source hasn't them.
    pub removed: u64,
    /// The digest of the node's file, once it is known and if it was asked for.
    pub checksum: Option<Summed>,
    /// The call on a disk that has gone on for longest without progress, if that is a second or more.
    pub pending: Option<PendingCall>,
}

/// What a disk is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DiskCall {
    /// Open or create what the bytes go to or come from.
    Open,
    /// Write a block.
    Write,
    /// Read a block.
    Read,
    /// Make all of it stable, and give it its name.
    Finish,
    /// Compare it with what came.
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

/// A call on a disk that is under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingCall {
    /// What is asked for.
    pub operation: DiskCall,
    /// Of what.
    pub path: String,
    /// Nanoseconds without progress.
    pub silent_ns: u64,
    /// Nanoseconds of these that it may take for its bytes, at the pace of a very slow disk.
    pub allowance_ns: u64,
}

impl PendingCall {
    /// Nanoseconds without progress, beyond what its bytes may take.
    #[must_use]
    pub fn overdue_ns(&self) -> u64 {
        self.silent_ns.saturating_sub(self.allowance_ns)
    }

    /// The time in nanoseconds without progress after which a call counts as hanging.
    pub const HANG_NS: u64 = 5_000_000_000;

    /// The rank of a call: of several calls the largest is reported. One that hangs and that others may wait
    /// for comes before one that holds no other node up.
    #[must_use]
    pub fn weight(&self) -> (bool, u64) {
        let overdue = self.overdue_ns();
        (self.holds_up() && overdue >= Self::HANG_NS, overdue)
    }

    /// Whether others may wait for what it does.
    #[must_use]
    pub fn holds_up(&self) -> bool {
        !matches!(self.operation, DiskCall::Finish | DiskCall::Verify)
    }

    /// Whether it opens what the bytes go to or come from.
    #[must_use]
    pub fn opens(&self) -> bool {
        self.operation == DiskCall::Open
    }
}

/// A stage of the pipeline that blocks are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Read and sealed.
    Read,
    /// Ready to be sent.
    Ready,
    /// Received, opened and written.
    Write,
}

/// How many blocks a stage has had at a time, over the time that it had any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageDepth {
    /// The stage.
    pub stage: Stage,
    /// The mean, in thousandths of a block.
    pub mean: u32,
    /// The most.
    pub most: u32,
}
