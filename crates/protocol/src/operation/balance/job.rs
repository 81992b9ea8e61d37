//! The parameters of a round of copies.

use garland_core::plan::Layout;

/// A copy from the disk of one node to the disk of another node or the same node; nodes by index in
/// the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyPair {
    /// The index of the node that has the source file.
    pub from: usize,
    /// The index of the node that receives the file.
    pub to: usize,
}

impl CopyPair {
    /// Returns whether the copy uses the network.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        self.from != self.to
    }
}

/// Copies that run at the same time.
#[derive(Clone, Debug)]
pub struct RoundJob {
    /// The copies. A node is the source of at most one copy, and the destination of at most one.
    pub errands: Vec<CopyPair>,
    /// The length and block size of each copy.
    pub layout: Layout,
    /// Whether the files are dropped from the page cache before the copies; otherwise the files are
    /// read into the cache.
    pub cold: bool,
    /// The directory of the files on every node (raw bytes).
    pub path: Vec<u8>,
    /// Whether a copy ends with fsync.
    pub fsync: bool,
    /// Whether blocks are encrypted.
    pub sealed: bool,
    /// Congestion controls to use, best first.
    pub congestion: Vec<String>,
    /// Whether links between nodes use MPTCP.
    pub mptcp: bool,
}
