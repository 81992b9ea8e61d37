//! Writes the blocks of stores that take them in order: pipes, commands, trees.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use garland_core::trace::Stage;
use garland_protocol::copy::{Landing, content_digest};
use garland_sys::sync::Mutex;

use super::arrived::Arrived;
use super::tools::{Tools, write};
use crate::context::CopyContext;
use crate::recorder::At;

/// The blocks of a copy that are written in order. All writers open blocks and enter them here; one
/// at a time writes. The sink admits no more early blocks than there are buffers.
#[derive(Default)]
pub struct OrderedWrites {
    entered: Mutex<Entered>,
    writing: Mutex<Writing>,
}

/// The blocks that are opened, but not written.
#[derive(Default)]
struct Entered {
    /// The index of the block that is written next.
    next: u64,
    blocks: BTreeMap<u64, Arrived>,
}

/// What the thread that writes has for itself.
#[derive(Default)]
struct Writing {
    /// Whether the store has failed.
    has_failed: bool,
    /// The number of bytes at the beginning of the next block that need not be written; 0 unless
    /// the block was present before and has changed.
    done: usize,
    /// A buffer for reading blocks that are already present.
    buffer: Vec<u8>,
}

impl OrderedWrites {
    /// Adds a block that was opened and verified.
    pub fn enter(&self, copy: &CopyContext, arrived: Arrived) {
        let index = arrived.frame.index;
        // Told before another thread can write it.
        if index != self.entered.lock().next {
            copy.progress.land(&copy.lanes, &arrived.frame, Landing::Opened);
        }
        self.entered.lock().blocks.insert(index, arrived);
    }

    /// Writes the next blocks in order, as far as they have entered or were present before, unless
    /// another thread does. Returns whether the store accepted them.
    pub fn write_ready(&self, copy: &Arc<CopyContext>, tools: &mut Tools) -> bool {
        loop {
            // Who writes looks again after that.
            let Some(mut writing) = self.writing.try_lock() else { return true };
            if writing.has_failed {
                return false;
            }
            if !writing.write_all(&self.entered, copy, tools) {
                writing.has_failed = true;
                return false;
            }
            drop(writing);
            if !self.has_next(copy) {
                return true;
            }
        }
    }

    /// Returns whether the next block can be written.
    fn has_next(&self, copy: &CopyContext) -> bool {
        let entered = self.entered.lock();
        entered.blocks.contains_key(&entered.next) || copy.progress.sink().is_brought(entered.next)
    }
}

impl Writing {
    fn write_all(
        &mut self,
        entered: &Mutex<Entered>,
        copy: &Arc<CopyContext>,
        tools: &mut Tools,
    ) -> bool {
        loop {
            let next = entered.lock().next;
            if copy.progress.sink().is_brought(next) {
                if copy.is_closing() {
                    return false;
                }
                let Some(done) = bring(copy, &mut self.buffer, next, tools) else {
                    return false;
                };
                if done < copy.progress.block_length(next) as usize {
                    self.done = done;
                    continue;
                }
            } else {
                let arrived = entered.lock().blocks.remove(&next);
                let Some(arrived) = arrived else { return true };
                let done = std::mem::take(&mut self.done);
                if !write(copy, tools, arrived, done) {
                    return false;
                }
            }
            entered.lock().next += 1;
        }
    }
}

/// Makes the store take block `index` from files that were present before. Bytes that the store
/// leaves to the caller are read into `buffer`, verified and written. Returns the number of bytes
/// at the beginning of the block that need not be written any more. If it is less than the length
/// of the block, the block has changed and must be sent. Returns none if the store failed.
fn bring(copy: &CopyContext, buffer: &mut Vec<u8>, index: u64, tools: &mut Tools) -> Option<usize> {
    let length = copy.progress.block_length(index) as usize;
    let began = tools.recorder.now();
    let done =
        copy.telemetry.write_waits.measure(tools.own, || bring_bytes(copy, buffer, index, length));
    tools.recorder.took(Stage::Write, At::HERE.with_block(index), began, length);
    let done = done.inspect_err(|error| copy.fail_to_write(error)).ok()?;
    let landing = if done == length { Landing::Written } else { Landing::Changed };
    copy.land_own(index, landing);
    Some(done)
}

/// Does the part of [`bring`] that uses the store. Returns the number of bytes at the beginning of
/// the block that have been written or need not be.
fn bring_bytes(
    copy: &CopyContext,
    buffer: &mut Vec<u8>,
    index: u64,
    length: usize,
) -> io::Result<usize> {
    let offset = copy.layout.offset(index);
    let store = &copy.config.store;
    let done = store.bring(offset, length)?;
    if done == length {
        return Ok(length);
    }
    buffer.resize(copy.layout.block_size as usize, 0);
    let bytes = &mut buffer[..length];
    let read = store.read_at(offset, bytes);
    if read.is_err() || copy.progress.sink().content(index) != Some(content_digest(bytes)) {
        return Ok(done);
    }
    store.write_at(offset + done as u64, &bytes[done..]).map(|()| length)
}
