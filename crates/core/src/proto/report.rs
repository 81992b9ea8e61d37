//! What an agent says of a copy that is under way.

use serde::{Deserialize, Serialize};

/// A lane's progress at one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneReport {
    /// Blocks received whole.
    pub received: u64,
}

/// What an agent's heartbeat says of a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Progress by lane.
    pub lanes: Vec<LaneReport>,
    /// Blocks opened and written.
    pub held: u64,
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
