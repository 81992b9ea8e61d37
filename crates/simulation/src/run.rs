//! The result of a simulated copy.

use garland_protocol::copy::{Fault, Slow, Verdict};

/// The result of a simulated copy. Times are virtual nanoseconds since its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// When the head had a verdict for every node; `None` if the run is stuck.
    pub finished_ns: Option<u64>,
    /// The receivers, in the order of the plan.
    pub nodes: Vec<NodeRun>,
    /// The faults that the head reported.
    pub faults: Vec<Fault>,
    /// For each flip that took effect, the block, and the node where the block arrived changed.
    pub flipped: Vec<(u64, u32)>,
    /// The number of received blocks that no writer could use: duplicates, blocks without a slot,
    /// and changed blocks.
    pub wasted: u64,
    /// The seals (node, incarnation, block) that covered two plaintexts or headers with one key and
    /// nonce (checked runs only). Empty if the protocol is correct.
    pub reused: Vec<(u32, u64, u64)>,
    /// The number of events of the run.
    pub events: u64,
    /// The CPU time of the head's machine in real nanoseconds: the only figure that differs between
    /// equal runs.
    pub head_ns: u64,
}

/// The result of a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRun {
    /// The verdict of the head; `None` if the head had none when the run ended.
    pub verdict: Option<Verdict>,
    /// When the node's first block had arrived; `None` if none did.
    pub first_ns: Option<u64>,
    /// When the node held every block; `None` if it never did.
    pub complete_ns: Option<u64>,
    /// When the node's file had its final name; `None` if it never got the name.
    pub committed_ns: Option<u64>,
    /// Whether the node was told to drop blocks that its disk could not take.
    pub detached: bool,
    /// Set if the node was fed on the side since its wire or machine slowed the others down: its
    /// rate and the rate of the others.
    pub slow: Option<Slow>,
    /// The number of blocks that the node held at the end.
    pub held: u64,
    /// Whether the node's bytes are those of the source; `None` in runs that are not checked.
    pub identical: Option<bool>,
}

impl NodeRun {
    /// Returns whether the node has the whole file under its final name.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.verdict == Some(Verdict::Ok) && self.committed_ns.is_some()
    }
}
