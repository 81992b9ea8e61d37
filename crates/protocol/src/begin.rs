//! The description of a copy for one node, and its limits.

use serde::{Deserialize, Serialize};

use super::copy_id::CopyId;
use super::digests::DigestKey;
use super::injection::Injection;
use super::keys::Secret;
use super::read_back::ReadBack;
use super::route::{DOWNSTREAMS_MAX, Route};
use garland_core::plan::{BLOCKS_MAX, LaneBlocks, Layout, NodeId, Stripe};

/// Where the bytes go on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Destination {
    /// A file, whole or not at all.
    File {
        /// The path as the user wrote it, in the system's bytes.
        path: Vec<u8>,
        /// A directory in the directory `path` that the file goes into, by its name; it is created if
        /// missing, and never reached through a symbolic link.
        below: Option<Vec<u8>>,
        /// The name to use when `path` turns out to be a directory.
        name: Vec<u8>,
        /// The source's permission bits.
        mode: u32,
        /// The modification time to give it (seconds, nanoseconds), and the mode exactly; otherwise
        /// it is new, and the mode is cut by the node's umask.
        times: Option<(i64, u32)>,
        /// Whether it must be on stable storage before the node says that it is done.
        fsync: bool,
        /// Bytes that it takes on a disk: fewer than its length where it has holes.
        room: u64,
        /// Whether a device at `path` is written to though it is in use.
        force_device: bool,
    },
    /// A directory: the bytes are a tree's stream (`garland_core::tree`), whose files appear in it one by one,
    /// each whole or not at all.
    Tree(TreeDestination),
    /// Nowhere: the bytes are checked and dropped, to measure the network alone.
    Null,
    /// The agent's standard output.
    Output,
    /// A file without a name, gone with the copy, to measure the disk as well.
    Scratch {
        /// The directory, in the system's bytes.
        path: Vec<u8>,
        /// Whether it must be on stable storage before the node says that it is done.
        fsync: bool,
    },
    /// The standard input of a command, which a shell is told in the system's bytes: it runs as the
    /// agent's user, and its exit code is the node's verdict.
    Command(Vec<u8>),
}

/// The directory that a tree goes into.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeDestination {
    /// The directory as the user wrote it, in the system's bytes; it is created if missing.
    pub path: Vec<u8>,
    /// A directory in it that the tree goes into instead, by its name; it is created if missing, and
    /// never reached through a symbolic link.
    pub below: Option<Vec<u8>>,
    /// Whether all of it must be on stable storage before the node says that it is done.
    pub fsync: bool,
    /// Whether every file is read back from its medium, and compared with what came.
    pub verify: bool,
    /// What the stream may do there.
    pub limits: TreeLimits,
}

/// What a tree's stream may do where it goes (`garland_core::tree::LimitCheck`). The default allows any name and
/// nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeLimits {
    /// Names may be removed.
    pub removes: bool,
    /// Extended attributes may be set.
    pub attributes: bool,
    /// The only name that may appear in the destination directory; any name if there is none.
    pub top: Option<Vec<u8>>,
    /// Patterns of names that must not appear.
    pub excludes: Vec<Vec<u8>>,
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
    /// It is the stream of a tree that the node has looked at, of this number.
    pub tree: Option<u32>,
}

/// What a node does with the blocks of a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// Puts them there.
    Sink(Destination),
    /// Gives them from there.
    Source(Origin),
}

/// The description of a copy for one node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Begin {
    /// Its identity.
    pub copy: CopyId,
    /// What its keys are derived from, and what its members greet each other with on links.
    pub secret: Secret,
    /// The key by which the source signs what its blocks contain, or by which that is checked.
    pub digest_key: DigestKey,
    /// Whether blocks are sealed; otherwise they are readable on the network.
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
    /// The source's digest, where it is known before anything is sent: what the node was told of it
    /// and has of it counts then.
    pub known: Option<[u8; 32]>,
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
    /// Bytes a second that the node may send on each link; as many as it can where it is 0.
    pub pace: u64,
    /// What the node finds out about its file before that gets its name.
    pub read_back: ReadBack,
    /// How many records the node's trace of the copy may have; 0 keeps none.
    pub trace: u32,
    /// Known faults to show, so that what explains copies can be tested on them.
    pub injections: Vec<Injection>,
}

/// The most lanes a copy may have.
const LANES_MAX: usize = 64;

/// The most buffers a lane may be given.
pub const BUFFERS_MAX: usize = 256;

/// The most records that a head may ask an agent to keep of a copy: some 450 KiB of its memory.
pub const TRACE_MAX: u32 = 8192;

impl Begin {
    /// Whether an agent can take part without harm: every number from the wire is bounded before
    /// it is used.
    ///
    /// # Errors
    /// What is out of bounds, in words.
    pub fn check(&self) -> Result<(), String> {
        let Layout { length, block_size, open } = self.layout;
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
        if self.routes.iter().any(|route| route.downstreams.len() > DOWNSTREAMS_MAX) {
            return Err(format!("more than {DOWNSTREAMS_MAX} nodes to feed in a lane"));
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
        if open && self.part().is_some() {
            return Err("a part of a stream whose end nobody knows".to_owned());
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
