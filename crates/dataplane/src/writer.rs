//! The writers of a node: decrypt, verify and write received blocks, in threads separate from the
//! lanes.

mod arrived;
mod several;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use garland_core::trace::Stage;
use garland_protocol::copy::{Encoding, Frame, Keys, Landing, content_digest};
use garland_sys::channel::Receiver;
use garland_sys::clock;
use garland_sys::sync::Mutex;
use garland_sys::threads::{self, JoinHandle};

pub use self::arrived::Arrived;
use self::arrived::settle;
use self::several::SeveralWrites;
use crate::compress::{Unpacker, Zeros};
use crate::context::{CopyContext, Notice};
use crate::recorder::{At, Recorder};
use crate::write_waits::WriterId;
use crate::writer_count::writer_count;

/// Starts the threads that write the blocks of a copy. They end when all senders are gone, or the
/// store fails.
///
/// # Errors
/// When not even one thread can be started.
pub fn start(
    copy: &Arc<CopyContext>,
    arrivals: Receiver<Arrived>,
) -> io::Result<Vec<JoinHandle<()>>> {
    let ordered = copy.config.store.is_ordered();
    let count = if ordered { 1 } else { writer_count(copy.layout.length) };
    let arrivals = Arc::new(Mutex::new(arrivals));
    let several = SeveralWrites::start(copy);
    let several = Arc::new(several);
    let start = || {
        let copy = Arc::clone(copy);
        let arrivals = Arc::clone(&arrivals);
        let several = Arc::clone(&several);
        let write = move || write_blocks(&copy, &arrivals, several.as_ref().as_ref());
        threads::spawn("writer", write)
    };
    let first = start()?;
    Ok(std::iter::once(first).chain((1..count).map_while(|_| start().ok())).collect())
}

/// Writes blocks until all senders are gone, or the store fails.
fn write_blocks(
    copy: &Arc<CopyContext>,
    arrivals: &Mutex<Receiver<Arrived>>,
    several: Option<&SeveralWrites>,
) {
    let _watch = copy.config.awake.watch();
    let mut keys = Keys::new(&copy.config.secret, copy.config.id);
    let mut order = copy.config.store.is_ordered().then(OrderedWrites::default);
    let mut tools = Tools::new(copy);
    let mut began = tools.recorder.now();
    loop {
        if let Some(order) = &mut order
            && !order.write_ready(copy, &mut tools)
        {
            return;
        }
        began = began.max(tools.recorder.now());
        let arrived = arrivals.lock().recv();
        let Ok(mut arrived) = arrived else { return };
        let now = tools.recorder.now();
        tools.recorder.note(At::HERE.with_block(arrived.frame.index).span(
            Stage::WaitUpstream,
            began,
            now,
        ));
        let sound = verify(copy, &mut keys, &mut tools.unwrapping, &mut arrived);
        began = tools.recorder.took(
            Stage::Open,
            at(&arrived.frame),
            now,
            arrived.frame.length as usize,
        );
        if !sound {
            copy.pool.give(arrived.buffer);
            copy.telemetry.stages.write.leave();
            copy.progress.land(&copy.lanes, &arrived.frame, Landing::Changed);
        } else if let Some(order) = &mut order {
            order.enter(copy, arrived);
        } else if let Some(several) = several.filter(|_| arrived.frame.form == Encoding::Plain) {
            let frame = arrived.frame.clone();
            let length = arrived.frame.length as usize;
            if !copy.telemetry.write_waits.measure(tools.own, || several.enter(arrived)) {
                return;
            }
            began = tools.recorder.took(Stage::Write, at(&frame), began, length);
        } else if !write(copy, &mut tools, arrived, 0) {
            return;
        } else {
            began = tools.recorder.now();
        }
    }
}

/// What a writer needs for itself.
struct Tools {
    own: WriterId,
    unwrapping: Unwrapping,
    recorder: Recorder,
}

impl Tools {
    fn new(copy: &CopyContext) -> Self {
        let recorder = Recorder::new(&copy.config.trace, Stage::Write);
        Self {
            own: copy.telemetry.write_waits.begin(),
            unwrapping: Unwrapping::default(),
            recorder,
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
    fn enter(&mut self, copy: &CopyContext, arrived: Arrived) {
        if arrived.frame.index != self.next {
            copy.progress.land(&copy.lanes, &arrived.frame, Landing::Opened);
        }
        self.early.insert(arrived.frame.index, arrived);
    }

    /// Writes the next blocks in order, as far as they have arrived or were present before. Returns
    /// whether the store accepted them.
    fn write_ready(&mut self, copy: &Arc<CopyContext>, tools: &mut Tools) -> bool {
        loop {
            if copy.progress.sink().is_brought(self.next) {
                if copy.is_closing() {
                    return false;
                }
                let Some(done) = bring(copy, &mut self.buffer, self.next, tools) else {
                    return false;
                };
                if done < copy.progress.block_length(self.next) as usize {
                    self.done = done;
                    continue;
                }
            } else if let Some(arrived) = self.early.remove(&self.next) {
                let done = std::mem::take(&mut self.done);
                if !write(copy, tools, arrived, done) {
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

/// Decrypts a block in its buffer, and compares its contents with the digest that the source
/// signed. Returns whether they match. This detects wrong bytes from any node that encrypted the
/// block, and errors between hashing and encryption.
fn verify(
    copy: &CopyContext,
    keys: &mut Keys,
    unwrapping: &mut Unwrapping,
    arrived: &mut Arrived,
) -> bool {
    let before = clock::thread_cpu_ns();
    let Arrived { frame, header, buffer, length } = arrived;
    let opened = keys.open(frame, header, &mut buffer[..*length]).is_ok();
    let content = opened.then(|| unwrapping.digest(&copy.codec.zeros, frame, buffer)).flatten();
    let sound = content.is_some() && content == copy.progress.sink().content(frame.index);
    let spent = clock::thread_cpu_ns().saturating_sub(before);
    copy.telemetry.opening_ns.fetch_add(spent, Ordering::Relaxed);
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
        let length = frame.length as usize;
        let packed = &buffer[..frame.packed as usize];
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

/// Returns whether a block that was verified consists of zeros.
fn is_of_zeros(copy: &CopyContext, frame: &Frame) -> bool {
    let zeros = copy.codec.zeros.digest(frame.length as usize);
    copy.progress.sink().content(frame.index) == Some(zeros)
}

/// Writes a decrypted block, except its first `done` bytes. Returns whether the store accepted it.
fn write(copy: &CopyContext, tools: &mut Tools, arrived: Arrived, done: usize) -> bool {
    let Arrived { frame, buffer, .. } = arrived;
    let length = frame.length as usize;
    let from = copy.layout.offset(frame.index) + done as u64;
    let rest = length - done;
    let Some(bytes) = tools.unwrapping.bytes(&frame, &buffer) else {
        // It was decompressed before, to compare its digest.
        let reason = format!("cannot decompress block {} again after it was verified", frame.index);
        copy.tell(Notice::Failed(reason));
        return false;
    };
    let store = &copy.config.store;
    let is_hole = store.is_sparse() && is_of_zeros(copy, &frame);
    let began = tools.recorder.now();
    let written = copy.telemetry.write_waits.measure(tools.own, || {
        copy.config.faults.before_writing(length);
        match frame.form {
            // Of zeros that came as bytes, a part may have been written.
            _ if is_hole => store.leave_hole(copy.layout.offset(frame.index), length),
            Encoding::Zeros => store.write_zeros(from, rest),
            Encoding::Hole => store.leave_hole(from, rest),
            Encoding::Plain | Encoding::Lz4 | Encoding::Zstd => {
                store.write_at(from, &bytes[done..])
            }
        }
    });
    tools.recorder.took(Stage::Write, at(&frame), began, length);
    settle(copy, &frame, buffer, written)
}
