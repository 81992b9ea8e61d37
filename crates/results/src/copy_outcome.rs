//! What a command has learned of its copies, from which its result is made.

use garland_control::Outcome;
use garland_core::plan::Plan;
use garland_protocol::copy::{ReadBack, Verdict};
use garland_protocol::operation::ComparisonWork;
use serde::{Deserialize, Serialize};

use crate::head::Phases;
use crate::limit::Limit;
use crate::names::HolderShare;
use crate::tree::TreeResult;

/// A completed copy: its plan and its outcome.
pub struct Copied {
    /// The plan of the copy.
    pub plan: Plan,
    /// The outcome of the copy, as the head recorded it.
    pub outcome: Outcome,
}

impl Copied {
    /// Returns the length of the file in bytes if a node received all of it, otherwise 0.
    pub fn bytes(&self) -> u64 {
        let arrived = self.outcome.nodes.iter().any(|node| node.verdict == Verdict::Ok);
        if arrived { self.plan.layout.length } else { 0 }
    }
}

/// All that a command has learned of its copies. The result of the command is made of it, once.
pub struct CopyOutcome {
    /// From this machine to nodes, or from them.
    pub direction: Direction,
    /// The copies, which ran at the same time.
    pub copies: Vec<Copied>,
    /// The phases of the command before the copies.
    pub phases: Phases,
    /// The highest rate that wires and processors allow; `None` if it is unknown.
    pub limit: Option<Limit>,
    /// The congestion control of this machine's data links; `None` if unknown.
    pub congestion: Option<String>,
    /// What was left out, since all nodes had it.
    pub unchanged: Unchanged,
    /// The names of nodes whose partial file from an interrupted copy could not be used.
    pub unusable: Vec<String>,
    /// Nodes that should have read a part of the source themselves but did not.
    pub unread: Vec<UnreadPart>,
    /// Who worked when to find out what nodes have already; nodes in the order of the plan.
    pub comparison: Vec<ComparisonWork>,
    /// Whether the command started agents. If not, all nodes had standing ones.
    pub agents_started: bool,
    /// The path on the nodes; empty for a copy from nodes.
    pub path: Vec<u8>,
    /// Whether the source was on no disk of this machine.
    pub is_off_disk: bool,
    /// The names of the nodes that were reached through ssh, since no connection to the port of
    /// their agents came about.
    pub by_ssh: Vec<String>,
    /// The names of the nodes that this machine fed itself, since no other one reaches them.
    pub fed_here: Vec<String>,
    /// What was read back at the end.
    pub read_back: ReadBack,
    /// What of a tree was read; `None` if no tree was copied.
    pub tree: Option<TreeResult>,
    /// What the holders of a name gave, and why others were left alone.
    pub holders: Vec<HolderShare>,
}

/// What was not part of a copy's stream, since all nodes had it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unchanged {
    /// Its length in bytes.
    pub bytes: u64,
    /// Whether it is all of the source.
    pub is_all: bool,
}

/// A node that should have read a part of the source itself, and why it did not.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UnreadPart {
    /// The node's name.
    pub node: String,
    /// Why the node did not read the part.
    pub reason: String,
}

/// The direction of a copy, as seen from this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From this machine to nodes.
    #[default]
    Out,
    /// From nodes to this machine.
    In,
}

impl Direction {
    /// Returns the word before the number of nodes.
    pub fn preposition(self) -> &'static str {
        match self {
            Self::Out => "to",
            Self::In => "from",
        }
    }
}
