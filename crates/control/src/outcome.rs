//! How a copy ended, and when what happened.

use garland_core::plan::NodeId;
use garland_core::trace::Trace;
use garland_protocol::{
    Absence, BadFrame, CopyId, Fault, FromAgent, Head, HeadEvent, Report, Slow, StageDepth, Summed,
    Verdict,
};
use garland_sys::clock;

/// When what happened, in monotonic nanoseconds. What never happened has the time of the next thing
/// that did.
#[derive(Clone, Copy, Debug)]
pub struct Moments {
    /// The copy had to wait for busy agents: since when and until when.
    pub waited: Option<(u64, u64)>,
    /// Every node's destination is open, or the node is given up.
    pub ready: u64,
    /// The first block has reached every node.
    pub first: u64,
    /// The head has sent the last block.
    pub sent: u64,
    /// Every node holds every block.
    pub held: u64,
    /// Every node's file has its final name.
    pub committed: u64,
    /// Every agent has cleaned up.
    pub closed: u64,
}

/// How one node ended.
#[derive(Clone, Debug)]
pub struct NodeOutcome {
    /// Its name.
    pub name: String,
    /// How it ended.
    pub verdict: Verdict,
    /// What it reported last.
    pub report: Report,
    /// Its disk was too slow for the others, and it was fed afterwards.
    pub detached: bool,
    /// Its link or machine held the others up, and it was fed beside them.
    pub slow: Option<Slow>,
    /// When it held every block, in monotonic nanoseconds.
    pub held_ns: Option<u64>,
    /// It has died or hangs: what it hangs on isn't worth waiting for.
    pub silent: bool,
    /// What it didn't give of its tree.
    pub absence: Absence,
}

/// How a copy ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The receivers, in the plan's order.
    pub nodes: Vec<NodeOutcome>,
    /// When what happened.
    pub moments: Moments,
    /// Changed blocks and the hop where each was found.
    pub faults: Vec<Fault>,
    /// The hops where frames came in changed.
    pub bad_frames: Vec<BadFrame>,
    /// The user gave up.
    pub interrupted: bool,
    /// What was noted of it: by the head, then by every node that handed it over.
    pub traces: Vec<Trace>,
    /// How many blocks each of this machine's stages has had at a time.
    pub depths: Vec<StageDepth>,
    /// The digests of all blocks, if each was read or came in.
    pub digests: Option<Vec<[u8; 32]>>,
    /// Bytes of blocks that this machine has sent, as they were on the wire.
    pub sent_bytes: u64,
    /// The digest of the file that came of it on this machine, if one did and it was asked for.
    pub checksum: Option<Summed>,
}

/// The moments as they come.
#[derive(Default)]
pub struct Times {
    /// Since when busy agents are waited for.
    pub waiting: Option<u64>,
    /// Since when and until when they were.
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
    /// Puts the moments in order: what never happened falls together with the next that did.
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
    /// A node that has failed before the copy began.
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

    /// Tells a new attempt's machine how the node has ended before it.
    pub fn replay(&self, id: NodeId, copy: CopyId, head: &mut Head) {
        let now = clock::now_ns();
        let event = match &self.verdict {
            Verdict::Ok => {
                let committed = FromAgent::Committed(copy, Box::new(self.report.clone()));
                head.handle(now, HeadEvent::From(id, committed));
                // Its file is whole: it takes no further part.
                HeadEvent::Lost(id, String::new())
            }
            Verdict::Failed(reason) => HeadEvent::From(id, FromAgent::Failed(copy, reason.clone())),
            Verdict::Dead(reason) => HeadEvent::Lost(id, reason.clone()),
        };
        head.handle(now, event);
    }
}
