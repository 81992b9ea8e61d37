//! The mishaps of a run.

/// The mishaps of a run; none by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The seed for what mishaps do not specify: the delays of control messages, and whether bytes
    /// in transit on a broken link are delivered.
    pub seed: u64,
    /// Whether real bytes are sealed, carried, and compared at the end; for small copies only.
    pub checked: bool,
    /// The mishaps, in any order.
    pub mishaps: Vec<Mishap>,
}

/// A mishap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mishap {
    /// The time of the mishap in nanoseconds since the start of the run.
    pub at: u64,
    /// What happens, and to which node.
    pub what: What,
}

/// The kinds of mishaps. Nodes are numbered as in the plan, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The agent of the node is killed; its kernel notifies its peers.
    Crash(u32),
    /// The wire of the node is cut; no peer is notified.
    Cut(u32),
    /// The agent of the node is stopped permanently; its kernel still takes bytes.
    Stop(u32),
    /// The node is suspended for this many nanoseconds.
    Pause(u32, u64),
    /// In this lane, the link to this node breaks; both its ends stay alive.
    Break(u16, u32),
    /// Block `index` arrives changed, once, at node `to`.
    Flip {
        /// The index of the block.
        index: u64,
        /// The node where the block arrives changed.
        to: u32,
    },
    /// The disk of the node no longer answers: no call on it returns.
    Hang(u32),
    /// The agent of the node cannot be reached before this time; then the node joins.
    Late(u32),
    /// From now on every control message of the node reaches the head twice, the second time late
    /// and out of order.
    Repeat(u32),
    /// The user interrupts the copy.
    Interrupt,
}
