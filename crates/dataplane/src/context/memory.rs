//! The memory that a copy needs on a node.

use garland_core::plan::Layout;
use garland_protocol::TAG_LEN;

use super::CopyContext;
use crate::pool;

impl CopyContext {
    /// Returns the size in bytes of a buffer for received blocks, and the number of such buffers.
    /// The arguments are those of [`Self::buffer_count`].
    pub(super) fn room(layout: Layout, lanes: usize, buffers: Option<u16>) -> (usize, usize) {
        let room = layout.block_size as usize + TAG_LEN;
        let fitting = || pool::count(room, layout.blocks());
        let count = buffers.map_or_else(fitting, |buffers| usize::from(buffers) * lanes);
        (room, count.max(lanes + 2))
    }

    /// Returns the number of buffers for received blocks in a copy of `layout` over `lanes` lanes.
    /// `buffers` is the number per lane; none derives it from the block size. The result exceeds
    /// the number of lanes by at least 2: a lane holds a buffer while it waits for its downstream.
    pub fn buffer_count(layout: Layout, lanes: usize, buffers: Option<u16>) -> usize {
        Self::room(layout, lanes, buffers).1
    }

    /// Returns the memory in bytes that a copy of `layout` over `lanes` lanes may use: the buffers
    /// for received blocks, those of the lanes, the digests of the blocks, and the threads.
    pub fn memory(layout: Layout, lanes: usize, buffers: Option<u16>) -> usize {
        const DIGEST: u64 = 40;
        /// The assumed number of blocks of a stream: 64 GiB in blocks of 1 MiB.
        const STREAM: u64 = 1 << 16;
        const THREADS: usize = 1 << 20;
        const LANE: usize = 512 << 10;
        let (room, count) = Self::room(layout, lanes, buffers);
        let blocks = if layout.open { STREAM } else { layout.blocks() };
        let digests = usize::try_from(blocks.saturating_mul(DIGEST)).unwrap_or(usize::MAX);
        (room * count + (room + LANE) * lanes + THREADS).saturating_add(digests)
    }
}
