//! A block that may have been cut off.

/// A block from upstream that may have been cut off on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unsettled {
    pub(super) index: u64,
    pub(super) stored: bool,
    /// The links on which it was forwarded, which must be told if it is void.
    pub(super) forwarded: Vec<u32>,
    /// Whether it arrived changed.
    pub(super) changed: bool,
    /// Whether the block arrived as it was sealed, and waits for its turn with the writer.
    pub(super) opened: bool,
}
