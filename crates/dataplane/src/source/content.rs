//! The interface of sources.

use garland_core::plan::Layout;
use garland_protocol::Absence;

use crate::feed::FeedError;

/// The bytes of a source.
pub trait Content: Send + Sync {
    /// Reads block `index` of `layout` into `bytes`, which has its length. A block may be read
    /// again, and must be the same then.
    ///
    /// # Errors
    /// When it cannot be read, or has changed.
    fn read(&self, layout: Layout, index: u64, bytes: &mut [u8]) -> Result<(), FeedError>;

    /// Waits until block `index` can be read, or `stale` returns true. Returns its length in bytes.
    /// Only remote sources wait here.
    ///
    /// # Errors
    /// When it is not available and no longer wanted, or the source ends before it.
    fn await_block(
        &self,
        layout: Layout,
        index: u64,
        _stale: &dyn Fn() -> bool,
    ) -> Result<u32, FeedError> {
        Ok(layout.block_length(index))
    }

    /// Whether block `index` lies in a hole of a file and reads as zeros.
    fn is_hole(&self, _layout: Layout, _index: u64) -> bool {
        false
    }

    /// All nodes have the blocks before `index`: they are not read again.
    fn release(&self, _index: u64) {}

    /// The length in bytes; of a stream, the bytes so far.
    fn length(&self) -> u64;

    /// The source as messages name it.
    fn name(&self) -> String;

    /// What has changed, for messages, if block `index` differs.
    fn changed(&self, _layout: Layout, _index: u64) -> String {
        self.name()
    }

    /// Whether it is unchanged since it was opened.
    fn is_unchanged(&self) -> bool;

    /// The parts of it that cannot be read, if parts can be missing.
    fn absence(&self) -> Option<Absence> {
        None
    }

    /// The number of the block device which it is on, if any.
    fn device(&self) -> Option<u64>;
}
