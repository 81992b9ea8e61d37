//! Where the bytes of a copy come from, whatever that is.

use garland_core::plan::Layout;
use garland_protocol::Absence;

use crate::feed::FeedError;

/// Where the bytes of a copy come from.
pub trait Content: Send + Sync {
    /// Reads block `index` of `layout` into `bytes`, which are as long. The same block is read
    /// again when somebody lacks it, and is the same then.
    ///
    /// # Errors
    /// When it can't be read, or isn't what it was.
    fn read(&self, layout: Layout, index: u64, bytes: &mut [u8]) -> Result<(), FeedError>;

    /// Waits until block `index` can be read, or nobody wants it any more, as `stale` says; how many
    /// bytes it has. Only what isn't on this machine waits here.
    ///
    /// # Errors
    /// When it isn't there yet and nobody wants it any more, or the source ends before it.
    fn await_block(
        &self,
        layout: Layout,
        index: u64,
        _stale: &dyn Fn() -> bool,
    ) -> Result<u32, FeedError> {
        Ok(layout.block_length(index))
    }

    /// Whether block `index` is all in a hole of a file: nobody ever wrote it, and it reads as zeros.
    fn is_hole(&self, _layout: Layout, _index: u64) -> bool {
        false
    }

    /// Every node has the blocks before `index`: none of them will be asked for again.
    fn release(&self, _index: u64) {}

    /// Bytes that there are; of a stream, those that have come.
    fn length(&self) -> u64;

    /// What it is, for messages.
    fn name(&self) -> String;

    /// What of it has changed, for messages, where block `index` isn't what it was.
    fn changed(&self, _layout: Layout, _index: u64) -> String {
        self.name()
    }

    /// Whether it is still what it was when it was opened.
    fn is_unchanged(&self) -> bool;

    /// What of it can't be given, where a part can be missing.
    fn absence(&self) -> Option<Absence> {
        None
    }

    /// The number of the device that it is on, if it is on one.
    fn device(&self) -> Option<u64>;
}
