//! The result of a copy, which is printed as text or JSON and stored in the run's directory: its
//! fields. `making` makes it of what a command has learned, `table` prints it.

mod making;
mod table;

use std::collections::HashSet;

use garland_protocol::copy::{Slow, Stage};
use garland_terminal::failure::Exit;
use serde::{Deserialize, Serialize};

use crate::checksums::ChecksumResult;
use crate::copy_outcome::{Direction, UnreadPart};
use crate::head::{Head, NodeEnd};
use crate::left_out::LeftOutResult;
use crate::names::HolderShare;
use crate::tree::TreeResult;

/// The schema of the result of a copy, with its version.
pub const SCHEMA: &str = "garland.cp/2";

/// The result object `garland.cp/2`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CopyResult {
    /// The fields that all results have.
    #[serde(flatten)]
    pub head: Head,
    #[serde(default)]
    pub(crate) direction: Direction,
    /// The length of the source in bytes; for several gathered files, the sum of their lengths.
    #[serde(default)]
    pub bytes: u64,
    /// Whether the destination is a device, a pipe or a command, which keeps the bytes that it has
    /// received even if the copy fails.
    #[serde(default)]
    in_place: bool,
    /// Whether the source was on no disk of this machine: a pipe, a command, a store of objects, or
    /// nodes that hold a name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) off_disk: bool,
    /// Bytes of blocks that this machine has sent, after compression; `None` for a copy to this
    /// machine.
    sent_bytes: Option<u64>,
    /// The rate of the whole command in bytes per second; `None` if nothing was copied.
    rate: Option<u64>,
    /// The rate from the end of the set-up until the nodes had all bytes, in bytes per second;
    /// `None` if nothing was copied.
    stream_rate: Option<u64>,
    /// The congestion control of this machine's data links; `None` if unknown.
    congestion: Option<String>,
    /// The nodes, in the order of the chain.
    #[serde(default)]
    pub nodes: Vec<NodeResult>,
    /// The sum of the bytes that nodes had before the copy.
    #[serde(default)]
    pub already: u64,
    /// Who worked when to find out what nodes have already: they and this machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) comparison: Vec<ComparisonWorkResult>,
    /// Whether the command started agents; if not, all nodes had standing ones. `None` in results
    /// of releases that did not say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) agents_started: Option<bool>,
    /// The names of nodes whose partial file from an interrupted copy could not be used.
    #[serde(default)]
    unusable: Vec<String>,
    /// Whether nodes read parts of the source from a shared file system (`--shared`).
    #[serde(default)]
    shared: bool,
    /// Nodes that should have read a part of the source themselves but did not.
    #[serde(default)]
    unread: Vec<UnreadPart>,
    #[serde(default)]
    stages: Vec<StageResult>,
    #[serde(default)]
    faults: Vec<FaultResult>,
    /// The nodes that reported more faults than `faults` has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    faults_cut_short: Vec<String>,
    /// The names of the nodes that were reached through ssh, since no connection to the port of
    /// their agents came about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) by_ssh: Vec<String>,
    /// The names of the nodes that this machine fed itself, since no other one reaches them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    fed_here: Vec<String>,
    /// What the holders of a name gave (`garland get`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    holders: Vec<HolderShare>,
    /// The result of the tree, if a tree was copied.
    tree: Option<TreeResult>,
    #[serde(default)]
    interrupted: bool,
}

/// A period in which a node, or this machine, read and digested files to compare them, or looked at
/// their status.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ComparisonWorkResult {
    /// The node; `None` for this machine.
    pub(crate) node: Option<String>,
    /// The start of the period, in nanoseconds since the start of the command.
    pub(crate) begin_ns: u64,
    /// The length of the period in nanoseconds.
    pub(crate) ns: u64,
}

/// The mean and the maximum number of blocks in one stage of the pipeline.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct StageResult {
    /// The node of the stage; `None` for this machine.
    node: Option<String>,
    stage: Stage,
    mean: f64,
    most: u32,
}

/// The result of a copy for one node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NodeResult {
    /// The node's name.
    pub name: String,
    /// The node's verdict, with the reason.
    #[serde(flatten)]
    pub end: NodeEnd,
    /// Bytes of the file that the node had at the end of the copy; for a gather, bytes that it had
    /// delivered.
    #[serde(default)]
    pub bytes: u64,
    /// The part of `bytes` that the node had before the copy.
    #[serde(default)]
    pub(crate) already: u64,
    /// The number of directory entries that the node removed since they are not in the source.
    #[serde(default)]
    removed: u64,
    /// The number of entries of a tree that could not be put in place: on the node, or for a gather
    /// on this machine.
    #[serde(default, skip_serializing_if = "is_zero")]
    missed: u64,
    /// These entries, as far as there was room for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<LeftOutResult>,
    /// The rate until the node had every block, in bytes per second; `None` if unknown.
    pub(crate) rate: Option<u64>,
    #[serde(default)]
    detached: bool,
    /// Set if the node, or its link, slowed down the other nodes: its rate, and the rate that the
    /// others would have without it, in bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    slow: Option<Slow>,
    /// Whether the node was fed on the side for a while, to see whether it slowed the others down.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    tried: bool,
    /// How often the link to the node was opened again after it broke; for a gather, its link to
    /// this machine.
    #[serde(default)]
    reopened: u32,
    /// Whether the node could not be reached, and did not join either.
    #[serde(skip)]
    pub is_absent: bool,
    #[serde(default)]
    memory: u64,
    #[serde(default)]
    cpu_ns: u64,
    #[serde(default)]
    opening_ns: u64,
    /// Whether the file was read back from its medium and found equal to the source.
    #[serde(default)]
    verified: bool,
    /// The digest of the node's file, or for a gather of the file on this machine; `None` if the
    /// node reported none, or does not have the whole file.
    checksum: Option<ChecksumResult>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct FaultResult {
    /// The index of the corrupt block; `None` if the corrupt frame contained no block.
    block: Option<u64>,
    from: String,
    to: String,
}

impl CopyResult {
    /// Returns the digests of the nodes' files in the format of sha256sum; equal lines appear once.
    pub fn sums(&self) -> Vec<u8> {
        let mut seen = HashSet::new();
        let lines = self.nodes.iter().filter_map(|node| Some(node.checksum.as_ref()?.line()));
        lines.filter(|line| seen.insert(line.clone())).flatten().collect()
    }

    /// Returns the exit code of the command. The command succeeds if at least `min_ok` nodes (by
    /// default all) are ok and the copied tree, if any, is complete.
    pub fn exit(&self, min_ok: Option<usize>) -> Exit {
        let ok = self.nodes.iter().filter(|node| node.end.is_ok()).count();
        let all = ok >= min_ok.unwrap_or(self.nodes.len()) && self.is_whole();
        Exit::of_work(all, ok > 0, self.interrupted)
    }

    /// Returns whether all of the source could be read.
    pub fn is_whole(&self) -> bool {
        self.tree.as_ref().is_none_or(TreeResult::is_whole)
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
