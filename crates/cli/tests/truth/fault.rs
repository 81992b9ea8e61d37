//! Faults that come from outside of the program, and the answers that name them.

use std::fmt;

use crate::answer::Answer;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The node sends at a part of the rate that the copy needs.
    SlowOut,
    /// The node is sent bytes at a part of the rate that the copy needs.
    SlowIn,
    /// So many percent of the full frames to the node are lost.
    Loss(u64),
    /// The node's disk writes at a part of the rate that the copy needs.
    SlowDisk,
    /// The node's processes get a hundredth of a processor.
    Starved,
    /// The node's processes are stopped for so many milliseconds.
    Pause(u64),
    /// The node's processes are stopped for ever.
    Dead,
    /// Another program sends so much to the node that a part of the rate is left.
    CompeteIn,
    /// Another program on the node sends so much that a part of the rate is left.
    CompeteOut,
    /// The trunk between the switches has a part of the rate that the copy needs.
    SlowTrunk,
}

impl Kind {
    /// The name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::SlowOut => "slow wire from",
            Self::SlowIn => "slow wire to",
            Self::Loss(_) => "loss to",
            Self::SlowDisk => "slow disk of",
            Self::Starved => "no processor for",
            Self::Pause(_) => "pause of",
            Self::Dead => "death of",
            Self::CompeteIn => "other traffic to",
            Self::CompeteOut => "other traffic from",
            Self::SlowTrunk => "slow trunk",
        }
    }
}

/// A fault with its place and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub kind: Kind,
    /// The number of the node; 0 for the head.
    pub node: u32,
    /// The percentage of the needed rate that is left.
    pub share: u64,
    /// When it begins if it does not last for the whole copy, in milliseconds from the start of the
    /// command.
    pub at_ms: u64,
}

impl Fault {
    /// Whether an answer names this fault: its cause and its place. `trunk` says of a hop from one
    /// node to another whether it crosses the trunk.
    pub fn is_named(&self, answer: &Answer, trunk: impl Fn(u32, u32) -> bool) -> bool {
        let Answer { cause, node, to } = answer;
        let cause = cause.as_str();
        let at = *node == Some(self.node) && to.is_none();
        let from = *node == Some(self.node) && to.is_some();
        let towards = *to == Some(self.node);
        match self.kind {
            Kind::SlowOut | Kind::CompeteOut => cause == "wire" && from,
            Kind::SlowIn | Kind::CompeteIn => cause == "wire" && towards,
            Kind::Loss(_) => cause == "loss" && towards,
            Kind::SlowDisk => cause == "sink disk" && at,
            Kind::Starved => ["processor", "source CPU"].contains(&cause) && at,
            Kind::Pause(_) => cause == "pause" && at,
            Kind::Dead => cause == "dead node" && at,
            Kind::SlowTrunk => {
                cause == "wire" && node.zip(*to).is_some_and(|(from, to)| trunk(from, to))
            }
        }
    }

    /// Whether the fault lasts for the whole copy.
    pub fn lasts(&self) -> bool {
        !matches!(self.kind, Kind::Pause(_) | Kind::Dead)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, node, share, at_ms } = self;
        write!(f, "{}", kind.name())?;
        match kind {
            Kind::SlowTrunk => write!(f, " ({share} %)"),
            Kind::Loss(percent) => write!(f, " n{node} ({percent} %)"),
            Kind::Starved => write!(f, " n{node}"),
            Kind::Pause(ms) => write!(f, " n{node} ({ms} ms at {at_ms} ms)"),
            Kind::Dead => write!(f, " n{node} (at {at_ms} ms)"),
            _ => write!(f, " n{node} ({share} %)"),
        }
    }
}
