//! The state of a node in a copy, and its verdict.

/// The state of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// The node was told of the copy.
    Joining,
    /// Its destination is open.
    Ready,
    /// It has all blocks.
    Complete,
    /// Its part is complete under temporary names.
    Prepared,
    /// Its file has its final name.
    Committed,
    /// It failed, for this reason.
    Failed(String),
    /// It died; how that was noticed.
    Dead(String),
}

/// The result of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It has the whole file.
    Ok,
    /// It failed, for this reason.
    Failed(String),
    /// It died; how that was noticed.
    Dead(String),
}
