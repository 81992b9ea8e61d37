//! The outcome of a copy.

use garland_core::trace::Trace;
use garland_protocol::{BadFrame, Fault, Moments, NodeOutcome, StageDepth, Summed};

/// The outcome of a copy.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The receivers, in the order of the plan.
    pub nodes: Vec<NodeOutcome>,
    /// The times of the phases.
    pub moments: Moments,
    /// The corrupt blocks, each with its hop.
    pub faults: Vec<Fault>,
    /// The hops with corrupt frames.
    pub bad_frames: Vec<BadFrame>,
    /// Whether the user interrupted.
    pub interrupted: bool,
    /// The trace of the head, followed by those of the nodes which sent one.
    pub traces: Vec<Trace>,
    /// The depth of each of this machine's pipeline stages.
    pub depths: Vec<StageDepth>,
    /// The digests of all blocks, if all were read or received.
    pub digests: Option<Vec<[u8; 32]>>,
    /// The bytes of blocks that this machine has sent, as counted on the wire.
    pub sent_bytes: u64,
    /// The digest of the file on this machine, if it was requested.
    pub checksum: Option<Summed>,
}
