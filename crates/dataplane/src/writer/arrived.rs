//! Received blocks, and what becomes of them.

use std::io;

use garland_protocol::copy::{FRAME_LEN, Frame, Landing};

use crate::context::CopyContext;
use crate::pool::Buffer;

/// A block that has been received completely.
pub struct Arrived {
    /// The decoded header.
    pub frame: Frame,
    /// The encoded header, which the authentication tag of the block covers.
    pub header: [u8; FRAME_LEN],
    /// A buffer that begins with the received bytes of the block.
    pub buffer: Buffer,
    /// The number of received bytes in the buffer, the authentication tag included.
    pub length: usize,
}

/// Reports how the write of a block ended, and gives its buffer back. Returns whether the store
/// accepted it.
pub fn settle(copy: &CopyContext, frame: &Frame, buffer: Buffer, written: io::Result<()>) -> bool {
    if let Err(error) = written {
        // The end of the copy interrupts writes; that is no failure.
        copy.fail_to_write(&error);
        return false;
    }
    copy.pool.give(buffer);
    copy.telemetry.stages.write.leave();
    copy.progress.land(&copy.lanes, frame, Landing::Written);
    true
}
