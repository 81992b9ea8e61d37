//! What goes wrong in a run, and when.

/// What happens to a run: nothing by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Decides what a mishap leaves open: delays of control messages, whether bytes that were on
    /// their way when a link broke are still delivered.
    pub seed: u64,
    /// Carry and seal real bytes, and compare them at the end. For small copies.
    pub checked: bool,
    /// What goes wrong.
    pub mishaps: Vec<Mishap>,
}

/// Something that goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mishap {
    /// When, in nanoseconds of the run.
    pub at: u64,
    /// What.
    pub what: What,
}

/// What can go wrong. Nodes are numbered as in the plan, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The node's agent is killed; its kernel says so to its peers.
    Crash(u32),
    /// The node's wire is cut: nobody is told anything.
    Cut(u32),
    /// The node's agent is stopped for good; its kernel still takes bytes.
    Stop(u32),
    /// The node does nothing for so many nanoseconds.
    Pause(u32, u64),
    /// In this lane, the link to this node breaks; both its ends live on.
    Break(u16, u32),
    /// Block `index` arrives changed, once, at node `to`.
    Flip {
        /// The block.
        index: u64,
        /// The node where it arrives.
        to: u32,
    },
    /// The node's disk doesn't answer any more: no call on it returns.
    Hang(u32),
    /// The user gives up.
    Interrupt,
}

impl What {
    /// The node that this kills, as the head sees it.
    #[must_use]
    pub fn kills(&self) -> Option<u32> {
        match self {
            Self::Crash(node) | Self::Cut(node) | Self::Stop(node) => Some(*node),
            Self::Pause(..)
            | Self::Break(..)
            | Self::Flip { .. }
            | Self::Hang(_)
            | Self::Interrupt => None,
        }
    }
}
