//! The writer of a node: decrypts, verifies and writes received blocks, in a thread separate from
//! the lanes.

mod arrived;
mod several;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use garland_core::trace::Stage;
use garland_protocol::{Encoding, Frame, Keys, Landing, content_digest};
use garland_sys::channel::Receiver;
use garland_sys::clock;

pub use self::arrived::Arrived;
use self::arrived::settle;
use self::several::SeveralWrites;
use crate::compress::{Unpacker, Zeros};
use crate::context::{CopyContext, Notice};
use crate::recorder::{At, Recorder};

/// Writes blocks until all senders are gone, or the store fails.
pub fn write_blocks(member: &Arc<CopyContext>, arrivals: &Receiver<Arrived>) {
    member.writing.begin();
    let _watch = member.config.awake.watch();
    let mut keys = Keys::new(&member.config.secret, member.config.copy);
    let mut order = member.config.store.is_ordered().then(OrderedWrites::default);
    let several = SeveralWrites::start(member);
    let mut unwrapping = Unwrapping::default();
    let mut recorder = Recorder::new(&member.config.trace, Stage::Write);
    let mut began = recorder.now();
    loop {
        if let Some(order) = &mut order
            && !order.write_ready(member, &mut unwrapping, &mut recorder)
        {
            return;
        }
        began = began.max(recorder.now());
        let Ok(mut arrived) = arrivals.recv() else { return };
        let now = recorder.now();
        recorder.note(At::HERE.of(arrived.frame.index).span(Stage::WaitUpstream, began, now));
        let sound = verify(member, &mut keys, &mut unwrapping, &mut arrived);
        began = recorder.took(Stage::Open, at(&arrived.frame), now, arrived.frame.length as usize);
        if !sound {
            member.pool.give(arrived.buffer);
            member.stages.write.leave();
            member.land(&arrived.frame, Landing::Changed);
        } else if let Some(order) = &mut order {
            order.enter(member, arrived);
        } else if let Some(several) =
            several.as_ref().filter(|_| arrived.frame.form == Encoding::Plain)
        {
            let (frame, length) = (arrived.frame.clone(), arrived.frame.length as usize);
            if !member.writing.measure(|| several.enter(arrived)) {
                return;
            }
            began = recorder.took(Stage::Write, at(&frame), began, length);
        } else if !write(member, &mut unwrapping, &mut recorder, (arrived, 0)) {
            return;
        } else {
            began = recorder.now();
        }
    }
}

fn at(frame: &Frame) -> At {
    At::block(frame.lane, frame.index)
}

/// Writes blocks in order, and keeps those that arrive early. The sink admits no more early blocks
/// than there are buffers.
#[derive(Default)]
struct OrderedWrites {
    next: u64,
    early: BTreeMap<u64, Arrived>,
    /// The number of bytes at the beginning of the next block that need not be written; 0 unless
    /// the block was present before and has changed.
    done: usize,
    /// A buffer for reading blocks that are already present.
    buffer: Vec<u8>,
}

impl OrderedWrites {
    fn enter(&mut self, member: &CopyContext, arrived: Arrived) {
        if arrived.frame.index != self.next {
            member.land(&arrived.frame, Landing::Opened);
        }
        self.early.insert(arrived.frame.index, arrived);
    }

    /// Writes the next blocks in order, as far as they have arrived or were present before. Returns
    /// whether the store accepted them.
    fn write_ready(
        &mut self,
        member: &Arc<CopyContext>,
        unwrapping: &mut Unwrapping,
        recorder: &mut Recorder,
    ) -> bool {
        loop {
            if member.sink().is_brought(self.next) {
                if member.is_closing() {
                    return false;
                }
                let Some(done) = bring(member, &mut self.buffer, self.next, recorder) else {
                    return false;
                };
                if done < member.block_length(self.next) as usize {
                    self.done = done;
                    continue;
                }
            } else if let Some(arrived) = self.early.remove(&self.next) {
                let done = std::mem::take(&mut self.done);
                if !write(member, unwrapping, recorder, (arrived, done)) {
                    return false;
                }
            } else {
                return true;
            }
            self.next += 1;
        }
    }
}

/// Makes the store take block `index` from files that were present before. Bytes that the store
/// leaves to the caller are read into `buffer`, verified and written. Returns the number of bytes
/// at the beginning of the block that need not be written any more. If it is less than the length
/// of the block, the block has changed and must be sent. Returns none if the store failed.
fn bring(
    member: &CopyContext,
    buffer: &mut Vec<u8>,
    index: u64,
    recorder: &mut Recorder,
) -> Option<usize> {
    let length = member.block_length(index) as usize;
    let began = recorder.now();
    let done = member.writing.measure(|| bring_bytes(member, buffer, index, length));
    recorder.took(Stage::Write, At::HERE.of(index), began, length);
    let done = done.inspect_err(|error| member.fail_to_write(error)).ok()?;
    let landing = if done == length { Landing::Written } else { Landing::Changed };
    member.land_own(index, landing);
    Some(done)
}

/// Does the part of [`bring`] that uses the store. Returns the number of bytes at the beginning of
/// the block that have been written or need not be.
fn bring_bytes(
    member: &CopyContext,
    buffer: &mut Vec<u8>,
    index: u64,
    length: usize,
) -> io::Result<usize> {
    let (offset, store) = (member.layout.offset(index), &member.config.store);
    let done = store.bring(offset, length)?;
    if done == length {
        return Ok(length);
    }
    buffer.resize(member.layout.block_size as usize, 0);
    let bytes = &mut buffer[..length];
    let read = store.read_at(offset, bytes);
    if read.is_err() || member.sink().content(index) != Some(content_digest(bytes)) {
        return Ok(done);
    }
    store.write_at(offset + done as u64, &bytes[done..]).map(|()| length)
}

/// Decrypts a block in its buffer, and compares its contents with the digest that the source
/// signed. Returns whether they match. This detects wrong bytes from any node that encrypted the
/// block, and errors between hashing and encryption.
fn verify(
    member: &CopyContext,
    keys: &mut Keys,
    unwrapping: &mut Unwrapping,
    arrived: &mut Arrived,
) -> bool {
    let before = clock::thread_cpu_ns();
    let Arrived { frame, header, buffer, length } = arrived;
    let opened = keys.open(frame, header, &mut buffer[..*length]).is_ok();
    let content = opened.then(|| unwrapping.digest(&member.zeros, frame, buffer)).flatten();
    let sound = content.is_some() && content == member.sink().content(frame.index);
    let spent = clock::thread_cpu_ns().saturating_sub(before);
    member.opening_ns.fetch_add(spent, Ordering::Relaxed);
    sound
}

/// Decompresses blocks. Keeps the last result, which is needed twice: to verify the block and to
/// write it.
#[derive(Default)]
struct Unwrapping {
    unpacker: Unpacker,
    room: Vec<u8>,
    /// The index of the block whose decompressed bytes are in `room`, if any.
    holds: Option<u64>,
}

impl Unwrapping {
    /// Returns the digest of a decrypted block's contents; none if they cannot be decompressed to
    /// the length in the header.
    fn digest(&mut self, zeros: &Zeros, frame: &Frame, buffer: &[u8]) -> Option<[u8; 32]> {
        // A block that is sent again may have another encoding.
        self.holds = None;
        match frame.form {
            Encoding::Zeros | Encoding::Hole => Some(zeros.digest(frame.length as usize)),
            Encoding::Plain | Encoding::Lz4 | Encoding::Zstd => {
                self.bytes(frame, buffer).map(content_digest)
            }
        }
    }

    /// Returns the contents of a decrypted block; no bytes for zeros and holes. Returns none if
    /// they cannot be decompressed to the length in the header.
    fn bytes<'a>(&'a mut self, frame: &Frame, buffer: &'a [u8]) -> Option<&'a [u8]> {
        let (length, packed) = (frame.length as usize, &buffer[..frame.packed as usize]);
        match frame.form {
            Encoding::Plain => Some(packed),
            Encoding::Lz4 | Encoding::Zstd if self.holds == Some(frame.index) => Some(&self.room),
            Encoding::Lz4 | Encoding::Zstd => {
                self.room.resize(length, 0);
                let whole = self.unpacker.unpack(frame.form, packed, &mut self.room);
                self.holds = whole.then_some(frame.index);
                whole.then_some(&self.room[..])
            }
            // The store needs no bytes for these.
            Encoding::Zeros | Encoding::Hole => Some(&[]),
        }
    }
}

/// Writes a decrypted block, except its first `done` bytes. Returns whether the store accepted it.
fn write(
    member: &CopyContext,
    unwrapping: &mut Unwrapping,
    recorder: &mut Recorder,
    (arrived, done): (Arrived, usize),
) -> bool {
    let Arrived { frame, buffer, .. } = arrived;
    let length = frame.length as usize;
    let (from, rest) = (member.layout.offset(frame.index) + done as u64, length - done);
    let Some(bytes) = unwrapping.bytes(&frame, &buffer) else {
        // It was decompressed before, to compare its digest.
        let reason = format!("cannot decompress block {} again after it was verified", frame.index);
        member.tell(Notice::Failed(reason));
        return false;
    };
    let began = recorder.now();
    let written = member.writing.measure(|| {
        member.config.faults.before_writing(length);
        match frame.form {
            Encoding::Zeros => member.config.store.write_zeros(from, rest),
            Encoding::Hole => member.config.store.leave_hole(from, rest),
            Encoding::Plain | Encoding::Lz4 | Encoding::Zstd => {
                member.config.store.write_at(from, &bytes[done..])
            }
        }
    });
    recorder.took(Stage::Write, at(&frame), began, length);
    settle(member, &frame, buffer, written)
}
