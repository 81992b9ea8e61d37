//! The outcome of a copy, and the times of its phases.

use garland_core::plan::NodeId;
use garland_core::trace::Trace;
use garland_protocol::{
    Absence, BadFrame, CopyId, Fault, FromAgent, Head, HeadEvent, Report, Slow, StageDepth, Summed,
    Verdict,
};
use garland_sys::clock;

/// The times of a copy's phases, in monotonic nanoseconds. A phase that never ended has the time of
/// the next one that did.
#[derive(Clone, Copy, Debug)]
pub struct Moments {
    /// The beginning and end of the wait for agents that were busy with other copies, if there was one.
    pub waited: Option<(u64, u64)>,
    /// The time when every destination was open, or its node had failed.
    pub ready: u64,
    /// The time when the first block had reached every node.
    pub first: u64,
    /// The time when the head had sent the last block.
    pub sent: u64,
    /// The time when every node had every block.
    pub held: u64,
    /// The time when every node's file had its final name.
    pub committed: u64,
    /// The time when every agent had closed the copy.
    pub closed: u64,
}

/// The outcome of a copy on one node.
#[derive(Clone, Debug)]
pub struct NodeOutcome {
    /// The name of the node.
    pub name: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The node's last report.
    pub report: Report,
    /// Whether the node was detached because its disk was too slow for the others.
    pub detached: bool,
    /// Why the node was fed on the side, if its link or machine slowed down the others.
    pub slow: Option<Slow>,
    /// The time at which the node had every block, in monotonic nanoseconds.
    pub held_ns: Option<u64>,
    /// Whether the node is dead or hangs; the end of its agent is then not awaited.
    pub silent: bool,
    /// The files of the tree that the node did not deliver.
    pub absence: Absence,
}

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

/// The times of the phases so far.
#[derive(Default)]
pub struct Times {
    /// The beginning of the present wait for busy agents, if there is one.
    pub waiting: Option<u64>,
    /// The beginning and end of the last wait for busy agents.
    pub waited: Option<(u64, u64)>,
    /// See [`Moments`].
    pub ready: Option<u64>,
    /// See [`Moments`].
    pub first: Option<u64>,
    /// See [`Moments`].
    pub sent: Option<u64>,
    /// See [`Moments`].
    pub held: Option<u64>,
    /// See [`Moments`].
    pub committed: Option<u64>,
}

impl Times {
    /// Returns the times of all phases: one that never ended has the time of the next one that did.
    pub fn settle(&self, closed: u64) -> Moments {
        let committed = self.committed.unwrap_or(closed).min(closed);
        let held = self.held.unwrap_or(committed).min(committed);
        let sent = self.sent.unwrap_or(held).min(held);
        let first = self.first.unwrap_or(sent).min(sent);
        let ready = self.ready.unwrap_or(first).min(first);
        Moments { waited: self.waited, ready, first, sent, held, committed, closed }
    }
}

impl NodeOutcome {
    /// Returns the outcome of a node that failed before the copy began.
    pub fn failed(name: &str, reason: String) -> Self {
        Self {
            name: name.to_owned(),
            verdict: Verdict::Failed(reason),
            report: Report::default(),
            detached: false,
            slow: None,
            held_ns: None,
            silent: false,
            absence: Absence::default(),
        }
    }

    /// Tells the state machine of a new attempt how the node ended in an earlier attempt.
    pub fn replay(&self, id: NodeId, copy: CopyId, head: &mut Head) {
        let now = clock::now_ns();
        let event = match &self.verdict {
            Verdict::Ok => {
                let committed = FromAgent::Committed(copy, Box::new(self.report.clone()));
                head.handle(now, HeadEvent::From(id, committed));
                // Its file is complete: exclude it from the attempt.
                HeadEvent::Lost(id, String::new())
            }
            Verdict::Failed(reason) => HeadEvent::From(id, FromAgent::Failed(copy, reason.clone())),
            Verdict::Dead(reason) => HeadEvent::Lost(id, reason.clone()),
        };
        head.handle(now, event);
    }
}
