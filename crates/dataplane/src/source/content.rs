//! The interface of sources.

use garland_core::plan::Layout;
use garland_protocol::Absence;

use crate::feed::FeedError;

/// The bytes of a source.
pub trait Content: Send + Sync {
    /// Reads block `index` of `layout` into `bytes`, whose length is that of the block. A block may
    /// be read several times, and must not change.
    ///
    /// # Errors
    /// When it cannot be read, or has changed.
    fn read(&self, layout: Layout, index: u64, bytes: &mut [u8]) -> Result<(), FeedError>;

    /// Waits until block `index` can be read, or `stale` returns true. Returns its length in bytes.
    /// Only streams and remote sources wait here.
    ///
    /// # Errors
    /// When the block is not available and no longer wanted, or the source ends before it.
    fn await_block(
        &self,
        layout: Layout,
        index: u64,
        _stale: &dyn Fn() -> bool,
    ) -> Result<u32, FeedError> {
        Ok(layout.block_length(index))
    }

    /// Returns whether block `index` lies in a hole of a file and reads as zeros.
    fn is_hole(&self, _layout: Layout, _index: u64) -> bool {
        false
    }

    /// Releases the blocks before `index`: all nodes have them, so they are not read again.
    fn release(&self, _index: u64) {}

    /// Returns the length in bytes; for a stream, the number of bytes so far.
    fn length(&self) -> u64;

    /// Returns the name of the source for messages.
    fn name(&self) -> String;

    /// Returns the name of the changed file or source, for messages, after block `index` was found
    /// to differ from an earlier reading.
    fn changed(&self, _layout: Layout, _index: u64) -> String {
        self.name()
    }

    /// Returns whether the source is unchanged since it was opened.
    fn is_unchanged(&self) -> bool;

    /// Returns the parts that cannot be read; none for a source that is copied whole or not at all.
    fn absence(&self) -> Option<Absence> {
        None
    }

    /// Returns the number of the block device that the source is on, if any.
    fn device(&self) -> Option<u64>;
}
