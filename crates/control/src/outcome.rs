//! The outcome of a copy.

use garland_core::plan::NodeId;
use garland_core::trace::Trace;
use garland_protocol::copy::{Absence, BadFrame, Fault, Moments, NodeOutcome, StageDepth, Summed};

/// The outcome of a copy.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The outcome of each receiver, in the order of the plan.
    pub nodes: Vec<NodeOutcome>,
    /// The times of the copy's phases.
    pub moments: Moments,
    /// The blocks that were corrupted in transit, each with the hop that corrupted it.
    pub faults: Vec<Fault>,
    /// The hops that corrupted frames.
    pub bad_frames: Vec<BadFrame>,
    /// The nodes that reported more corrupt blocks and frames than are kept.
    pub faults_cut_short: Vec<NodeId>,
    /// Whether the user interrupted.
    pub interrupted: bool,
    /// The trace of the head, followed by those of the nodes that sent one.
    pub traces: Vec<Trace>,
    /// For each pipeline stage on this machine, the mean and maximum number of blocks that it held.
    pub depths: Vec<StageDepth>,
    /// The digests of all blocks, if all are known.
    pub digests: Option<Vec<[u8; 32]>>,
    /// The bytes of blocks that this machine has sent, as counted on the wire.
    pub sent_bytes: u64,
    /// The parts of a tree that could not be put in place on this machine.
    pub absence: Absence,
    /// The digest of the file on this machine, if it was requested and computed.
    pub checksum: Option<Summed>,
}
