//! A block that may have been cut off.

/// A block that came from upstream, and may have been cut off on the way there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unsettled {
    pub(super) index: u64,
    pub(super) stored: bool,
    /// It was passed on to these, which have to hear if it is void.
    pub(super) forwarded: Vec<u32>,
    /// It came in changed.
    pub(super) changed: bool,
    /// It came in as it was sealed, and waits for its turn with the writer.
    pub(super) opened: bool,
}
