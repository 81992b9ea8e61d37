//! The description of a copy for one node, and the limits of its values.

use garland_core::plan::{BLOCKS_MAX, LaneBlocks, Layout, NodeId, Stripe};
use garland_core::tree::TopName;
use serde::{Deserialize, Serialize};

use crate::bounds::{ensure, within};
use crate::copy::absence::ABSENCE_MAX;
use crate::copy::copy_id::CopyId;
use crate::copy::digests::DigestKey;
use crate::copy::injection::Injection;
use crate::copy::read_back::ReadBack;
use crate::copy::route::{DOWNSTREAMS_MAX, Route};
use crate::wire::Secret;

/// The destination of the bytes on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Destination {
    /// A file; it appears whole or not at all.
    File {
        /// The path as the user wrote it (raw bytes).
        path: Vec<u8>,
        /// If given, the file goes into the directory of this name in `path`. The directory is
        /// created if missing, and must not be a symbolic link.
        below: Option<Vec<u8>>,
        /// The file's name if `path` is a directory.
        name: Vec<u8>,
        /// The source's permission bits.
        mode: u32,
        /// Whether the file gets the mode exactly; otherwise it has that with which cp(1) would
        /// leave it.
        keeps_mode: bool,
        /// The modification time to set (seconds, nanoseconds).
        times: Option<(i64, u32)>,
        /// Whether the file must be on stable storage before the node reports completion.
        fsync: bool,
        /// The disk space that the file needs in bytes: less than the file's length if it has
        /// holes.
        room: u64,
        /// Whether the file takes this space only as its bytes come: its length is the word of the
        /// node that has it, which may send nothing.
        grows: bool,
        /// Whether to write to a device at `path` even if the device is in use.
        force_device: bool,
    },
    /// A directory: the bytes are a tree's stream (`garland_core::tree`). Its files appear one by
    /// one, each whole or not at all.
    Tree(TreeDestination),
    /// Nowhere: the bytes are checked and dropped, to measure the network alone.
    Null,
    /// The agent's standard output.
    Output,
    /// An unnamed temporary file, which is removed when the copy ends, to measure network and disk.
    Scratch {
        /// The directory of the unnamed file (raw bytes).
        path: Vec<u8>,
        /// Whether the file must be on stable storage before the node reports completion.
        fsync: bool,
    },
    /// The standard input of a shell command (raw bytes). It runs as the agent's user; its exit
    /// code is the node's verdict.
    Command(Vec<u8>),
    /// Several files, which get the bytes one after another. All are complete before the first
    /// one gets its final name.
    Files {
        /// The files, in the order of their bytes.
        files: Vec<FileTarget>,
        /// Whether the files must be on stable storage before the node reports completion.
        fsync: bool,
    },
}

/// One of several destination files of a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileTarget {
    /// The path (raw bytes).
    pub path: Vec<u8>,
    /// The file's length in bytes.
    pub length: u64,
    /// The permission bits of the source; the node's umask applies to them.
    pub mode: u32,
    /// The disk space that the file needs in bytes: less than its length if it has holes.
    pub room: u64,
}

/// The destination directory of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeDestination {
    /// The directory as the user wrote it (raw bytes); it is created if missing.
    pub path: Vec<u8>,
    /// If given, the tree goes into the directory of this name in `path`. The directory is created
    /// if missing, and must not be a symbolic link.
    pub below: Option<Vec<u8>>,
    /// Whether the whole tree must be on stable storage before the node reports completion.
    pub fsync: bool,
    /// Whether every file is read back from the medium and compared with the received bytes.
    pub verify: bool,
    /// What the entries get of the status of their sources.
    pub keeps: KeptStatus,
    /// The changes that the tree's stream may make in the directory.
    pub limits: TreeLimits,
}

/// What copied entries keep of the status of their sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptStatus {
    /// Whether they have the same mode; otherwise that with which cp(1) would leave them.
    pub modes: bool,
    /// Whether they have the same modification time.
    pub times: bool,
    /// Whether they have the same owner, as far as the agent may set it. Otherwise files belong to
    /// the agent's user, and have no set-user-ID and set-group-ID bits.
    pub owners: bool,
}

impl Default for KeptStatus {
    fn default() -> Self {
        Self { modes: true, times: true, owners: true }
    }
}

/// From which of the directories that are copied something is removed, if something is mounted on
/// some of them on the node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SweptMounts {
    /// From all.
    #[default]
    All,
    /// From those on which the same is mounted as on the destination directory.
    OfDestination,
    /// From those on which the same is mounted as on the copied one in the destination directory,
    /// below which the others are.
    OfCopied,
}

/// Limits of a tree's stream at its destination (`garland_core::tree::LimitCheck`). The default
/// allows all names, but neither removals nor extended attributes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeLimits {
    /// The maximum number of files and directories that are removed; `None` if the stream must not
    /// order any removal.
    pub removes: Option<u64>,
    /// From which directories something may be removed.
    pub swept: SweptMounts,
    /// Whether extended attributes may be set.
    pub attributes: bool,
    /// The only names that may appear in the destination directory; `None` allows any name.
    pub tops: Option<Vec<TopName>>,
    /// Whether the stream may have files only, and neither directories nor links.
    pub files_only: bool,
    /// Patterns of names that must not appear.
    pub excludes: Vec<Vec<u8>>,
    /// Whether files take disk space only as their bytes come, as those of a node do whose word
    /// their lengths are.
    pub grows: bool,
}

/// A file or tree that a node sends, with its length and modification time when it was examined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The path as the user wrote it (raw bytes); a stripe's path includes its suffix.
    pub path: Vec<u8>,
    /// The file's length in bytes.
    pub length: u64,
    /// The modification time: seconds and nanoseconds.
    pub modified: (i64, u32),
    /// The number under which the node keeps the examined tree, if the bytes are that tree's
    /// stream; `None` for a file.
    pub tree: Option<u32>,
}

/// The role of a node in a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// The node receives the blocks and writes them to this destination.
    Sink(Destination),
    /// The node sends the bytes of these files, one after another. A stripe or a tree is the only
    /// element.
    Source(Vec<Origin>),
}

/// The description of a copy for one node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Begin {
    /// The identity of the copy.
    pub copy: CopyId,
    /// The secret from which keys are derived, and with which nodes authenticate each other on
    /// links.
    pub secret: Secret,
    /// The key with which the source signs the digests of blocks, or the public key to check them.
    pub digest_key: DigestKey,
    /// Whether blocks are encrypted; otherwise they are readable on the network.
    pub sealed: bool,
    /// The block layout of the source.
    pub layout: Layout,
    /// The blocks of each lane, by the lane's number.
    pub lanes: Vec<LaneBlocks>,
    /// The node's index in the plan.
    pub me: NodeId,
    /// The node's role, with the destination or the origin of the bytes.
    pub end: End,
    /// The stripe of the file that this node has; `None` for the whole file.
    pub stripe: Option<Stripe>,
    /// The root digest of the source, if known before anything is sent. If the digests from the
    /// comparison match this digest, the node reuses them and the blocks that it already has.
    /// `None`: the node receives every block.
    pub known: Option<[u8; 32]>,
    /// The number of blocks that each lane of the node may keep in memory; 0 derives it from the
    /// block size.
    pub buffers: u16,
    /// Whether the node reports every written block to the head.
    pub acknowledge: bool,
    /// The node's hops at the beginning of the copy, one route for each lane that the node is on.
    pub routes: Vec<Route>,
    /// The congestion controls to ask the kernel for on data links, best first.
    pub congestion: Vec<String>,
    /// Whether new data links use MPTCP if the kernel supports it.
    pub mptcp: bool,
    /// The maximum rate of each link in bytes per second; 0 if unlimited.
    pub pace: u64,
    /// What the node checks in its file before the file gets its final name.
    pub read_back: ReadBack,
    /// The maximum number of records in the node's trace of the copy; 0 disables tracing.
    pub trace: u32,
    /// The maximum memory at the head of the node's reports of absent parts of a tree, in bytes;
    /// the others are counted.
    pub absence_max: u32,
    /// Faults to inject, for tests of `garland explain`.
    pub injections: Vec<Injection>,
}

/// The maximum number of files of a copy of several files: each needs two file descriptors.
pub const FILES_MAX: usize = 256;

/// The maximum number of lanes of a copy.
const LANES_MAX: usize = 64;

/// The maximum number of buffers of a lane.
pub const BUFFERS_MAX: usize = 256;

/// The maximum number of trace records that a head may request of an agent for a copy: about 450
/// KiB of its memory.
pub const TRACE_MAX: u32 = 8192;

impl Begin {
    /// Checks that every number from the wire is within bounds, before any is used.
    ///
    /// # Errors
    /// Names the value that is out of bounds.
    pub fn check(&self) -> Result<(), String> {
        let Layout { length, block_size, open } = self.layout;
        Layout::new(length, block_size).map_err(|error| error.to_string())?;
        let blocks = self.layout.blocks();
        let lanes = self.lanes.len();
        within("blocks", blocks, 0..=BLOCKS_MAX)?;
        within("lanes", lanes, 1..=LANES_MAX)?;
        within("trace records", self.trace, 0..=TRACE_MAX)?;
        within("bytes of reports", self.absence_max as usize, 0..=ABSENCE_MAX)?;
        within("buffers", self.buffers.into(), 0..=BUFFERS_MAX)?;
        let beyond = || "a lane contains blocks beyond the end of the source";
        ensure(self.lanes.iter().all(|lane| lane.is_sound(blocks)), beyond)?;
        for route in &self.routes {
            let no_lane = || "a route names a lane that does not exist";
            ensure(usize::from(route.lane) < lanes, no_lane)?;
            within("downstreams of a route", route.downstreams.len(), 0..=DOWNSTREAMS_MAX)?;
        }
        let is_divided = self.part().is_some();
        let fits = self.stripe.as_ref().is_none_or(|stripe| {
            stripe.is_sound() && stripe.unit.is_multiple_of(block_size.into()) && is_divided
        });
        ensure(fits, || "the stripe does not fit the block size or the node's lanes")?;
        if let Some(lengths) = self.lengths() {
            within("files", lengths.len(), 1..=FILES_MAX)?;
            let sum = lengths.iter().try_fold(0_u64, |sum, next| sum.checked_add(*next));
            let differs = || "the lengths of the files do not add up to the length of the copy";
            ensure(sum == Some(length) && !open && !is_divided, differs)?;
        }
        let undivided = || "a stream of unknown length cannot be divided among nodes";
        ensure(!open || !is_divided, undivided)
    }

    /// Returns the lengths of the files in a copy of several files; `None` for any other copy.
    fn lengths(&self) -> Option<Vec<u64>> {
        match &self.end {
            End::Sink(Destination::Files { files, .. }) => {
                Some(files.iter().map(|file| file.length).collect())
            }
            End::Source(origins) if origins.len() != 1 => {
                Some(origins.iter().map(|origin| origin.length).collect())
            }
            End::Sink(_) | End::Source(_) => None,
        }
    }

    /// Returns the numbers of the lanes that this node is on.
    pub fn own_lanes(&self) -> impl Iterator<Item = u16> {
        self.routes.iter().map(|route| route.lane)
    }

    /// Returns the blocks that belong to this node; `None` if all blocks do.
    #[must_use]
    pub fn part(&self) -> Option<LaneBlocks> {
        let mut own = self.own_lanes();
        let one = own.next().filter(|_| own.next().is_none())?;
        let alone = self.lanes.len() == 1 && self.stripe.is_none();
        self.lanes.get(usize::from(one)).copied().filter(|_| !alone)
    }
}
