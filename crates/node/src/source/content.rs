//! Where the bytes of a copy come from, whatever that is.

use garland_core::plan::Layout;

use crate::feed::FeedError;

/// Where the bytes of a copy come from.
pub trait Content: Send + Sync {
    /// Reads block `index` of `layout` into `bytes`, which are as long. The same block is read
    /// again when somebody lacks it, and is the same then.
    ///
    /// # Errors
    /// When it can't be read, or isn't what it was.
    fn read(&self, layout: Layout, index: u64, bytes: &mut [u8]) -> Result<(), FeedError>;

    /// Bytes that there are.
    fn length(&self) -> u64;

    /// What it is, for messages.
    fn name(&self) -> String;

    /// Whether it is still what it was when it was opened.
    fn is_unchanged(&self) -> bool;

    /// The number of the device that it is on, if it is on one.
    fn device(&self) -> Option<u64>;
}
