//! What came of a simulated copy.

use garland_protocol::{Fault, Slow, Verdict};

/// A finished run. Times are virtual nanoseconds since its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// When the head had a verdict for every node; `None` when the run got stuck.
    pub finished_ns: Option<u64>,
    /// The receivers, in the plan's order.
    pub nodes: Vec<NodeRun>,
    /// The faults that the head named.
    pub faults: Vec<Fault>,
    /// Flips that took effect: the block and the node where it arrived changed.
    pub flipped: Vec<(u64, u32)>,
    /// Blocks received that no writer could use: had already, no room for them, or changed.
    pub wasted: u64,
    /// Blocks that were sealed twice under one key and number for two plaintexts or headers
    /// (checked runs only): always empty, or the protocol is broken.
    pub reused: Vec<(u32, u64, u64)>,
    /// How many events the run took.
    pub events: u64,
}

/// How one receiver fared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRun {
    /// How it ended, as the head says.
    pub verdict: Option<Verdict>,
    /// When its first block had come in.
    pub first_ns: Option<u64>,
    /// When it held every block.
    pub complete_ns: Option<u64>,
    /// When its file had its final name.
    pub committed_ns: Option<u64>,
    /// Whether it was told to drop what its disk couldn't take.
    pub detached: bool,
    /// Its wire or machine held the others up, and it was fed beside them.
    pub slow: Option<Slow>,
    /// Blocks that it held at the end.
    pub held: u64,
    /// Whether its bytes are the source's (checked runs only).
    pub identical: Option<bool>,
}

impl NodeRun {
    /// Whether the node has the whole file under its final name.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.verdict == Some(Verdict::Ok) && self.committed_ns.is_some()
    }
}
