//! A block that may have been cut off.

/// A block from upstream that may have been cut off before it got there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unsettled {
    pub(super) index: u64,
    pub(super) stored: bool,
    /// The links that it was forwarded on, which must hear if it is void.
    pub(super) forwarded: Vec<u32>,
    /// Whether it arrived changed.
    pub(super) changed: bool,
    /// Whether it arrived as it was sealed, and waits for its turn with the writer.
    pub(super) opened: bool,
}
