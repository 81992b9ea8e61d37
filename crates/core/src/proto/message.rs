//! What the head and the agents say to each other over the control channel (postcard, one message a
//! Noise frame). From the first release on, `PROTOCOL` grows whenever a type here changes.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::balance::{BalanceEvent, BalanceOrder};
use super::disk::{DiskEvent, DiskOrder};
use super::frame::Copy;
use super::injection::Injection;
use super::probe::{Finding, Meeting};
use super::seal::Secret;
use super::sight::{Look, Sight};
use super::survey::{SurveyAnswer, SurveyOrder};
use crate::plan::{LaneBlocks, Layout, NodeId, Stripe};

/// Where a node's agent listens, one address a rail.
pub type NodeAddress = Vec<SocketAddr>;

/// Where the bytes go on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Destination {
    /// A file, whole or not at all.
    File {
        /// The path as the user wrote it, in the system's bytes.
        path: Vec<u8>,
        /// The name to use when `path` turns out to be a directory.
        name: Vec<u8>,
        /// The source's permission bits.
        mode: u32,
        /// The modification time to give it (seconds, nanoseconds), and the mode exactly; otherwise
        /// it is new, and the mode is cut by the node's umask.
        times: Option<(i64, u32)>,
        /// Whether it must be on stable storage before the node says that it is done.
        fsync: bool,
    },
    /// A folder: the bytes are a tree's stream (`crate::tree`), whose files appear in it one by one,
    /// each whole or not at all.
    Tree {
        /// The folder as the user wrote it, in the system's bytes; it is made if it isn't there.
        path: Vec<u8>,
        /// Whether all of it must be on stable storage before the node says that it is done.
        fsync: bool,
    },
    /// Nowhere: the bytes are checked and dropped, to measure the network alone.
    Null,
    /// The agent's standard output.
    Output,
    /// A file without a name, gone with the copy, to measure the disk as well.
    Scratch {
        /// The folder, in the system's bytes.
        path: Vec<u8>,
        /// Whether it must be on stable storage before the node says that it is done.
        fsync: bool,
    },
}

/// A file that a node gives, and what it was when it was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The path as the user wrote it, in the system's bytes; a stripe's has its suffix behind it.
    pub path: Vec<u8>,
    /// Its length in bytes.
    pub length: u64,
    /// When it was modified: seconds and nanoseconds.
    pub modified: (i64, u32),
}

/// What a node does with the blocks of a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// Puts them there.
    Sink(Destination),
    /// Gives them from there.
    Source(Origin),
}

/// A hop of a lane as one node sees it. Where a link ends that this node opens, its address is
/// known: the downstream's, but for the head, which nobody can be sure to reach and which therefore
/// opens the link from its upstream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// The lane's number.
    pub lane: u16,
    /// Who feeds this node, the epoch of that link, and where to find it if this node opens it.
    pub upstream: Option<(NodeId, u32, Option<SocketAddr>)>,
    /// Whom this node feeds, the epoch of that link, and where to find it if this node opens it.
    pub downstream: Option<(NodeId, u32, Option<SocketAddr>)>,
}

/// One copy, as one node is told of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Begin {
    /// Its identity.
    pub copy: Copy,
    /// What its keys are derived from, and what its members greet each other with on links.
    pub secret: Secret,
    /// Whether blocks are sealed; otherwise they only have a checksum.
    pub sealed: bool,
    /// How the source is cut.
    pub layout: Layout,
    /// The blocks of each lane.
    pub lanes: Vec<LaneBlocks>,
    /// The node's place in the plan.
    pub me: NodeId,
    /// Where the bytes go or come from.
    pub end: End,
    /// Which of the file's units this node's file has; all of the file where there is none.
    pub stripe: Option<Stripe>,
    /// How many blocks each of the node's lanes may have in memory; by their size where it is 0.
    pub buffers: u16,
    /// Whether the head must hear of every block that is written.
    pub acknowledge: bool,
    /// The node's first hops.
    pub routes: Vec<Route>,
    /// The congestion controls to ask the kernel for on data links, best first.
    pub congestion: Vec<String>,
    /// Whether new data links ask for MPTCP.
    pub mptcp: bool,
    /// How many records the node's trace of the copy may have; 0 keeps none.
    pub trace: u32,
    /// Known faults to show, so that what explains copies can be tested on them.
    pub injections: Vec<Injection>,
}

/// From the head to an agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ToAgent {
    /// Nothing to say: the head is there.
    Ping,
    /// Take part in a copy.
    Begin(Box<Begin>),
    /// Keep so many bytes of memory for this copy, as soon as they are free: it begins when it has
    /// them everywhere.
    Queue(Copy, u64),
    /// A lane's hops have changed.
    Route(Copy, Route),
    /// Your disk holds the others up: drop what it can't take, and fetch it afterwards.
    Detach(Copy),
    /// All blocks have been read and this is their digest: put the file under its final name.
    Commit(Copy, [u8; 32]),
    /// The copy is over. Whatever isn't committed is removed.
    Close(Copy),
    /// Connect to the agents that listen at these addresses and keep the connections for the copies
    /// to come; expect the same of a neighbour that holds this secret, made for this order alone.
    /// `Copy` is the order's own identity.
    Stand(Copy, Secret, NodeAddress),
    /// Run a command (program and arguments, in the system's bytes).
    Exec(Vec<Vec<u8>>),
    /// End.
    Shutdown,
    /// Give your own program to whoever presents one of these tickets, each good once, for so many
    /// seconds at most, and no longer than this channel is open.
    ServeBinary(Vec<Secret>, u16),
    /// Look at the network.
    Survey(SurveyOrder),
    /// Meet another agent and measure what lies between.
    Probe(Box<Meeting>),
    /// That meeting is over, whatever became of it.
    EndProbe(Copy),
    /// Test the disk under a path; the test ends with this channel at the latest.
    Disk(DiskOrder),
    /// What time is it? Asked at this time of the head's clock; answered before anything else.
    Clock(u64),
    /// Copy from the node's own disk; what was made for it is gone with this channel.
    Balance(BalanceOrder),
    /// Say what there is to be given.
    Look(Look),
    /// What stands beside the copy's file once it is committed, in a file of its own.
    Attach(Copy, Vec<u8>),
}

/// Which side of a node a link is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkSide {
    /// Towards the head.
    Up,
    /// Away from it.
    Down,
}

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

/// From an agent to the head.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FromAgent {
    /// First, once the channel is open.
    Welcome {
        /// The agent's process.
        pid: u32,
        /// Nanoseconds since the agent started.
        age_ns: u64,
        /// Connections to neighbours that it keeps for copies to come.
        links: u32,
    },
    /// Every so often, from a thread that no disk can block.
    Heartbeat(Option<Report>),
    /// Begin it later: so many other copies have taken the agent's memory. The way is `Queue`.
    Busy(Copy, u32),
    /// The memory that was queued for is there, and the copy's.
    Admitted(Copy),
    /// The destination is open.
    Ready(Copy),
    /// The first block has come in.
    First(Copy),
    /// A link broke or couldn't be opened.
    LinkLost {
        /// The copy.
        copy: Copy,
        /// The lane's number.
        lane: u16,
        /// The link's epoch.
        epoch: u32,
        /// Which of the node's links.
        side: LinkSide,
        /// Why.
        reason: String,
    },
    /// A block came in changed.
    Bad(Copy, u64),
    /// A frame came in changed; its link is given up.
    BadFrame {
        /// The copy.
        copy: Copy,
        /// The lane's number.
        lane: u16,
        /// The link's epoch.
        epoch: u32,
        /// Which of the node's links.
        side: LinkSide,
    },
    /// Every block is held; this is their digest.
    Complete(Copy, [u8; 32], Report),
    /// The file has its final name, on stable storage if that was asked for.
    Committed(Copy, Report),
    /// This node can't go on with the copy.
    Failed(Copy, String),
    /// The copy is over here: nothing of it is left but what was committed.
    Closed(Copy),
    /// The answer to `Stand`: the links that couldn't be opened, and why.
    Stands(Copy, Vec<String>),
    /// Bytes of the command's standard output (false) or error (true).
    Output(bool, Vec<u8>),
    /// The command ended: its exit code, or the signal that killed it, negated.
    Exited(i32),
    /// The command couldn't be started.
    ExecFailed(String),
    /// What came of the survey's order before.
    Surveyed(SurveyAnswer),
    /// A meeting has found something out; there may be more.
    Found(Copy, Box<Finding>),
    /// A meeting is over at this agent: as planned, or why not.
    ProbeEnded(Copy, Option<String>),
    /// How the disk's test goes.
    Disk(DiskEvent),
    /// What time it is: when the head asked, by its clock; when the question came and when it was
    /// answered, by the agent's.
    Clock(u64, u64, u64),
    /// A parcel of what was noted of a copy that has been closed (nothing where nothing was), and
    /// whether more follow.
    Trace(Copy, Vec<u8>, bool),
    /// How the balance test goes.
    Balance(BalanceEvent),
    /// A block is written, where the head must hear of each.
    Written(Copy, u64),
    /// The answer to `Look`, or why there is none.
    Looked(Result<Vec<Sight>, String>),
}

/// The most lanes a copy may have.
const LANES_MAX: usize = 64;

/// The most buffers a lane may be given.
pub const BUFFERS_MAX: usize = 256;

/// The most blocks a copy may have: their digests take 32 bytes each on every node.
const BLOCKS_MAX: u64 = 1 << 24;

/// The most records that a head may ask an agent to keep of a copy: some 450 KiB of its memory.
pub const TRACE_MAX: u32 = 8192;

impl Begin {
    /// Whether an agent can take part without harm: every number from the wire is bounded before
    /// it is used.
    ///
    /// # Errors
    /// What is out of bounds, in words.
    pub fn check(&self) -> Result<(), String> {
        let Layout { length, block_size } = self.layout;
        Layout::new(length, block_size).map_err(|error| error.to_string())?;
        let blocks = self.layout.blocks();
        if blocks > BLOCKS_MAX {
            return Err(format!("{blocks} blocks: allowed are {BLOCKS_MAX}; take larger blocks"));
        }
        if !(1..=LANES_MAX).contains(&self.lanes.len()) {
            return Err(format!("{} lanes: allowed are 1 to {LANES_MAX}", self.lanes.len()));
        }
        if !self.lanes.iter().all(|lane| lane.is_sound(blocks)) {
            return Err("a lane has blocks that the source hasn't".to_owned());
        }
        if self.routes.iter().any(|route| usize::from(route.lane) >= self.lanes.len()) {
            return Err("a route is for a lane that isn't there".to_owned());
        }
        if self.trace > TRACE_MAX {
            return Err(format!("{} records of trace: allowed are {TRACE_MAX}", self.trace));
        }
        if usize::from(self.buffers) > BUFFERS_MAX {
            return Err(format!("{} buffers: allowed are {BUFFERS_MAX}", self.buffers));
        }
        let fits = |stripe: &Stripe| {
            let whole = stripe.unit.is_multiple_of(u64::from(block_size));
            stripe.is_sound() && whole && self.part().is_some()
        };
        if self.stripe.as_ref().is_some_and(|stripe| !fits(stripe)) {
            return Err("a stripe that can't be".to_owned());
        }
        Ok(())
    }

    /// The lanes that this node is on.
    pub fn own_lanes(&self) -> impl Iterator<Item = u16> {
        self.routes.iter().map(|route| route.lane)
    }

    /// The blocks that this node has a part in, if those aren't all.
    #[must_use]
    pub fn part(&self) -> Option<LaneBlocks> {
        let mut own = self.own_lanes();
        let one = own.next().filter(|_| own.next().is_none())?;
        let alone = self.lanes.len() == 1 && self.stripe.is_none();
        self.lanes.get(usize::from(one)).copied().filter(|_| !alone)
    }
}

impl FromAgent {
    /// The message's bytes.
    ///
    /// # Panics
    /// Never: these types always have bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("the type has no unserialisable part")
    }

    /// Reads a message; `None` when the bytes are none.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }
}

impl ToAgent {
    /// The message's bytes.
    ///
    /// # Panics
    /// Never: these types always have bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("the type has no unserialisable part")
    }

    /// Reads a message; `None` when the bytes are none.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_length_that_is_not_there_costs_nothing() {
        // `Exec` with 2^62 words, of which none follows.
        let bytes = [8, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40];
        assert!(ToAgent::parse(&bytes).is_none());
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..200), kind in 0..26_u8) {
            for bytes in [bytes.clone(), [&[kind], &bytes[..]].concat()] {
                if let Some(message) = ToAgent::parse(&bytes) {
                    let again = message.to_bytes();
                    prop_assert_eq!(ToAgent::parse(&again).map(|m| m.to_bytes()), Some(again));
                }
                if let Some(message) = FromAgent::parse(&bytes) {
                    // By their bytes: a rate that is no number isn't equal to itself.
                    let again = message.to_bytes();
                    prop_assert_eq!(FromAgent::parse(&again).map(|m| m.to_bytes()), Some(again));
                }
            }
        }
    }
}
