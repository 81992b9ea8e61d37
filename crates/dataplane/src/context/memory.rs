//! The memory that a copy needs on a node.

use garland_core::plan::Layout;
use garland_protocol::copy::TAG_LEN;

use crate::pool;

/// The memory in bytes that the digest of a block takes.
const DIGEST_BYTES: u64 = 40;

/// The assumed number of blocks of a stream: 64 GiB in blocks of 1 MiB.
const STREAM_BLOCKS: u64 = 1 << 16;

/// The memory in bytes that the threads of a copy take which belong to no lane.
const THREADS_BYTES: usize = 1 << 20;

/// The memory in bytes that a lane takes beside its buffers.
const LANE_BYTES: usize = 512 << 10;

/// Returns the size in bytes of a buffer for received blocks of `layout`.
pub(super) fn buffer_size(layout: Layout) -> usize {
    layout.block_size as usize + TAG_LEN
}

/// Returns the number of buffers for received blocks in a copy of `layout` over `lanes` lanes.
/// `buffers` is the number per lane; none derives it from the block size. The result exceeds
/// the number of lanes by at least 2: a lane holds a buffer while it waits for its downstream.
pub fn buffer_count(layout: Layout, lanes: usize, buffers: Option<u16>) -> usize {
    let fitting = || pool::count(buffer_size(layout), layout.blocks());
    let count = buffers.map_or_else(fitting, |buffers| usize::from(buffers) * lanes);
    count.max(lanes + 2)
}

/// Returns the memory in bytes that a copy of `layout` over `lanes` lanes may use: the buffers
/// for received blocks, those of the lanes, the digests of the blocks, and the threads.
pub fn needed_memory(layout: Layout, lanes: usize, buffers: Option<u16>) -> usize {
    let buffer = buffer_size(layout);
    let count = buffer_count(layout, lanes, buffers);
    let blocks = if layout.open { STREAM_BLOCKS } else { layout.blocks() };
    let digests = usize::try_from(blocks.saturating_mul(DIGEST_BYTES)).unwrap_or(usize::MAX);
    (buffer * count + (buffer + LANE_BYTES) * lanes + THREADS_BYTES).saturating_add(digests)
}
