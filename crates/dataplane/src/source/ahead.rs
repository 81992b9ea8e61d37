//! Reads a source ahead of a lane: separate threads read, hash and encrypt blocks, so that sending
//! does not wait for them. While the sender has to wait, more blocks are prepared ahead, and
//! threads are added.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use garland_core::plan::{LaneBlocks, Layout};
use garland_core::trace::Stage;
use garland_protocol::copy::{DiskCall, Encoding, LinkSide, TAG_LEN, content_digest};
use garland_sys::sync::{Condvar, Mutex};
use garland_sys::tcp_info::TcpInfo;
use garland_sys::{clock, threads};

use super::{Content, FeedError};
use crate::compress::{self, Packer, are_zeros};
use crate::context::{CopyConfig, CopyContext};
use crate::feed::{Encoded, Feeder, Prepared, Wrapper};
use crate::recorder::{At, Recorder};
use crate::thread_count;

/// The maximum number of bytes that are prepared ahead of the sender of one lane: what a
/// processor's cache still has when it is sent. With 8 MiB, 1 GiB in memory took a fifth longer to
/// read and to send. Disks have their own read-ahead (`page_cache`).
pub const AHEAD: u64 = 4 << 20;

/// The maximum number of bytes that are prepared ahead for all lanes together.
const AHEAD_OF_ALL: u64 = 64 << 20;

/// The initial number of blocks that are prepared ahead.
const AHEAD_FIRST: u64 = 4;

/// A socket with this many unsent bytes keeps a wire busy while a block is prepared.
const SUPPLY: u32 = 1 << 20;

/// The time between two looks at a wire that is not known yet.
const WIRE_CHECK_INTERVAL: Duration = Duration::from_millis(1);

/// The least number of threads that compress blocks, of all lanes together.
const COMPRESSORS: usize = 2;

/// The maximum number of threads of a lane. The number grows if the disk is slow: each thread has
/// one read in progress.
const WORKERS_MAX: usize = 4;

/// How long a lane waits for the next block of a stream before it does other work.
const NEXT_BLOCK_TIMEOUT: Duration = Duration::from_millis(50);

/// The interval at which a lane that waits for a block checks whether the copy is over.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// Prepares the blocks of one lane by reading the source.
pub struct SourceFeeder {
    shared: Arc<Shared>,
    /// Prepares blocks that are sent again, outside of the read-ahead.
    repairs: BlockMaker,
}

/// The buffers and ciphers with which one thread prepares blocks.
struct BlockMaker {
    wrapper: Wrapper,
    packer: Packer,
    room: Vec<u8>,
}

impl BlockMaker {
    fn new(config: &CopyConfig, lane: u16) -> Self {
        let wrapper = Wrapper::new(config, lane);
        Self { wrapper, packer: Packer::default(), room: Vec::new() }
    }
}

struct Shared {
    copy: Arc<CopyContext>,
    source: Arc<dyn Content>,
    /// The name of the source, for messages.
    name: Arc<str>,
    lane: u16,
    blocks: LaneBlocks,
    state: Mutex<Ahead>,
    /// Wakes workers: a block may be prepared. One block wakes one worker.
    claimable: Condvar,
    /// Wakes the sender: a block is ready.
    filled: Condvar,
}

/// The blocks that are being prepared: those of the lane from place `wanted` on, encrypted under
/// one incarnation.
#[derive(Default)]
struct Ahead {
    incarnation: u64,
    /// The place in the lane of the block that the sender needs next.
    wanted: u64,
    /// The place in the lane of the block that a worker prepares next.
    unclaimed: u64,
    ready: BTreeMap<u64, Result<Prepared, FeedError>>,
    spare: Vec<Vec<u8>>,
    over: bool,
    /// The number of blocks that may currently be prepared ahead; it grows up to `ahead_most`.
    ahead: u64,
    ahead_most: u64,
    /// Whether the sender had to wait since the last thread was added.
    starved: bool,
    workers: Vec<threads::JoinHandle<()>>,
}

impl SourceFeeder {
    /// Starts threads that prepare `blocks`, the blocks of `lane`, by reading `source`.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(
        copy: Arc<CopyContext>,
        source: Arc<dyn Content>,
        lane: u16,
        blocks: LaneBlocks,
    ) -> io::Result<Self> {
        let lanes = copy.config.lane_count.max(1);
        let room = AHEAD.min(AHEAD_OF_ALL / lanes as u64);
        let fitting = (room / u64::from(copy.layout.block_size)).max(3);
        let ahead_most = copy.config.buffers.map_or(fitting, u64::from);
        // A block is compressed or not when it is prepared: as few as possible before the wire is
        // known.
        let first = if copy.codec.packing.measures() { 1 } else { AHEAD_FIRST };
        let ahead = ahead_most.min(first);
        let state = Ahead { incarnation: 1, ahead, ahead_most, ..Ahead::default() };
        let state = Mutex::new(state);
        let claimable = Condvar::new();
        let filled = Condvar::new();
        copy.telemetry.calls.go_to(source.device());
        let name = source.name().into();
        let shared =
            Arc::new(Shared { copy, source, name, lane, blocks, state, claimable, filled });
        let workers = thread_count::readers_of_lane(lanes);
        let repairs = BlockMaker::new(&shared.copy.config, lane);
        let feeder = Self { shared, repairs };
        (0..workers).try_for_each(|_| feeder.shared.add_worker(&mut feeder.shared.state.lock()))?;
        Ok(feeder)
    }
}

impl Feeder for SourceFeeder {
    fn prepare(
        &mut self,
        index: u64,
        incarnation: u64,
        again: bool,
        recorder: &mut Recorder,
    ) -> Result<Prepared, FeedError> {
        if again {
            return self.repair(index, incarnation, recorder);
        }
        if index >= self.shared.copy.layout.blocks() {
            return Err(self.look_for_end(index));
        }
        let at = At::block(self.shared.lane, index);
        let began = recorder.now();
        let prepared = self.take(index, incarnation);
        recorder.took(Stage::WaitUpstream, at, began, 0);
        prepared
    }

    fn recycle(&mut self, buffer: Vec<u8>) {
        self.shared.state.lock().spare.push(buffer);
    }
}

impl SourceFeeder {
    /// Prepares block `index` on the sender's own thread, outside of the read-ahead.
    fn repair(
        &mut self,
        index: u64,
        incarnation: u64,
        recorder: &mut Recorder,
    ) -> Result<Prepared, FeedError> {
        let Self { shared, repairs } = self;
        let buffer = shared.state.lock().spare.pop();
        let buffer = buffer.unwrap_or_else(|| shared.new_buffer());
        let is_over = || shared.copy.is_closing();
        shared.make(repairs, recorder, index, incarnation, buffer, &is_over)
    }

    /// Looks whether a stream ends before block `index`, the first one that it cannot have.
    fn look_for_end(&self, index: u64) -> FeedError {
        let Shared { copy, source, name, .. } = &*self.shared;
        let late_ns = clock::after(NEXT_BLOCK_TIMEOUT);
        let is_late = || copy.is_closing() || clock::now_ns() >= late_ns;
        let Layout { length, block_size, .. } = copy.layout;
        match source.await_block(copy.layout, index, &is_late) {
            Ok(_) => FeedError::Broken(format!(
                "cannot copy more than {length} bytes of {name} in blocks of {block_size} bytes: \
                 use a greater --block-size"
            )),
            Err(error) => error,
        }
    }

    /// Takes block `index`; waits until a worker has prepared it. If the block is not the next one,
    /// or `incarnation` has changed, the read-ahead restarts there.
    ///
    /// # Errors
    /// [`FeedError::NotYet`] if the copy ends meanwhile, or if a stream has not delivered the block
    /// in time; otherwise the error that occurred when the block was prepared.
    fn take(&self, index: u64, incarnation: u64) -> Result<Prepared, FeedError> {
        let shared = &self.shared;
        let place = shared.blocks.ordinal(index).unwrap_or(0);
        let mut state = shared.state.lock();
        if !state.ready.contains_key(&place) {
            // The block may have been withheld until now: make the workers check again.
            shared.claimable.notify_all();
        }
        if (state.wanted, state.incarnation) != (place, incarnation) {
            let old = std::mem::take(&mut state.ready);
            let buffers = old.into_values().flatten().map(|prepared| prepared.buffer);
            state.spare.extend(buffers);
            shared.copy.telemetry.stages.ready.clear();
            (state.wanted, state.unclaimed, state.incarnation) = (place, place, incarnation);
            shared.claimable.notify_all();
        }
        loop {
            if let Some(prepared) = state.ready.remove(&place) {
                state.wanted = place + 1;
                shared.copy.telemetry.stages.ready.leave();
                shared.claimable.notify_one();
                return prepared;
            }
            state.starved = true;
            // Every sender waits for its first block.
            let is_early = place == 0 && shared.copy.codec.packing.measures();
            if state.ahead < state.ahead_most && !is_early {
                state.ahead = (2 * state.ahead).min(state.ahead_most);
                shared.claimable.notify_all();
            }
            if !shared.copy.layout.open {
                // A remote source may never answer: the wait ends when the copy is over.
                let _ = shared.filled.wait_for(&mut state, STOP_CHECK_INTERVAL);
                if shared.copy.is_closing() {
                    return Err(FeedError::NotYet);
                }
                continue;
            }
            // A stream may be idle for long, and the lane has other work.
            let is_late = shared.filled.wait_for(&mut state, NEXT_BLOCK_TIMEOUT);
            if is_late && !state.ready.contains_key(&place) {
                return Err(FeedError::NotYet);
            }
        }
    }
}

impl Drop for SourceFeeder {
    fn drop(&mut self) {
        self.shared.state.lock().over = true;
        self.shared.claimable.notify_all();
        loop {
            // A worker may have added another one just before it ended.
            let Some(worker) = self.shared.state.lock().workers.pop() else { return };
            // A panic has been printed already.
            let _ = worker.join();
        }
    }
}

impl Shared {
    fn add_worker(self: &Arc<Self>, state: &mut Ahead) -> io::Result<()> {
        let shared = Arc::clone(self);
        state.workers.push(threads::spawn("read", move || shared.work())?);
        Ok(())
    }

    fn work(self: &Arc<Self>) {
        let _watch = self.copy.config.awake.watch();
        let mut maker = BlockMaker::new(&self.copy.config, self.lane);
        let mut recorder = Recorder::new(&self.copy.config.trace, Stage::Read);
        let mut idle = recorder.now();
        let stages = &self.copy.telemetry.stages;
        while let Some((place, incarnation, buffer)) = self.claim() {
            let index = self.blocks.index(place);
            recorder.took(Stage::WaitBuffer, At::block(self.lane, index), idle, 0);
            stages.read.enter();
            let began = clock::now_ns();
            let worked = clock::thread_cpu_ns();
            let stale = || self.is_stale(index, incarnation);
            let prepared = self.make(&mut maker, &mut recorder, index, incarnation, buffer, &stale);
            let took = clock::now_ns().saturating_sub(began);
            let worked = clock::thread_cpu_ns().saturating_sub(worked);
            stages.read.leave();
            idle = recorder.now();
            let mut state = self.state.lock();
            // On a slow disk one more concurrent read may help.
            let disk = !self.copy.layout.open;
            let waits = disk && worked < took / 2 && state.starved && !state.over;
            if waits && state.workers.len() < WORKERS_MAX {
                state.starved = false;
                // If no further threads can be started, the existing ones do the work.
                let _ = self.add_worker(&mut state);
            }
            let given_up = matches!(prepared, Err(FeedError::NotYet));
            if state.incarnation == incarnation && place >= state.wanted && !given_up {
                stages.ready.enter();
                state.ready.insert(place, prepared);
                if place == state.wanted {
                    self.filled.notify_one();
                }
            } else if let Ok(prepared) = prepared {
                state.spare.push(prepared.buffer);
            }
        }
    }

    fn claim(&self) -> Option<(u64, u64, Vec<u8>)> {
        let mut state = self.state.lock();
        loop {
            if state.over {
                return None;
            }
            let end = self.blocks.len().min(state.wanted + state.ahead);
            // Blocks that are withheld are not read yet; the sender requests them later.
            let serves = |place| self.copy.progress.sink().serves(self.blocks.index(place));
            let is_early = self.is_early();
            if state.unclaimed < end && serves(state.unclaimed) && !is_early {
                let place = state.unclaimed;
                state.unclaimed += 1;
                let buffer = state.spare.pop().unwrap_or_else(|| self.new_buffer());
                return Some((place, state.incarnation, buffer));
            }
            if is_early {
                let _ = self.claimable.wait_for(&mut state, WIRE_CHECK_INTERVAL);
            } else {
                self.claimable.wait(&mut state);
            }
        }
    }

    /// Measures the wires, if the encoding depends on them. Returns whether to wait for that with
    /// the next block: nothing is known yet, and a socket still has enough to send.
    fn is_early(&self) -> bool {
        let pace = &self.copy.codec.packing;
        if !pace.measures() {
            return false;
        }
        let links = self.links();
        let is_supplied = links.iter().any(|(.., info)| info.unsent >= SUPPLY);
        !pace.observe(links) && is_supplied
    }

    fn new_buffer(&self) -> Vec<u8> {
        vec![0; self.copy.layout.block_size as usize + TAG_LEN]
    }

    /// Reads block `index` into `buffer`, records its digest, and encrypts it under `incarnation`.
    /// Gives up when `stale` returns true.
    fn make(
        &self,
        maker: &mut BlockMaker,
        recorder: &mut Recorder,
        index: u64,
        incarnation: u64,
        mut buffer: Vec<u8>,
        stale: &dyn Fn() -> bool,
    ) -> Result<Prepared, FeedError> {
        let layout = self.copy.layout;
        let at = At::block(self.lane, index);
        let began = recorder.now();
        let length = self.source.await_block(layout, index, stale)? as usize;
        self.copy.config.faults.before_reading(length);
        let holes =
            self.copy.telemetry.calls.during(DiskCall::Read, &self.name, length as u64, || {
                match self.source.holes(layout, index) {
                    0 => self.source.read(layout, index, &mut buffer[..length]).map(|()| 0),
                    holes => Ok(holes),
                }
            })?;
        let began = recorder.took(Stage::Read, at, began, length);
        let hole = holes > 0;
        let zeros = hole || are_zeros(&buffer[..length]);
        let content = if zeros {
            self.copy.codec.zeros.digest(length)
        } else {
            let known = self.source.verified(layout, index);
            known.unwrap_or_else(|| content_digest(&buffer[..length]))
        };
        self.copy
            .progress
            .sink()
            .learn(index, content)
            .map_err(|_| self.other_than_before(index))?;
        if hole {
            self.learn_holes(index, holes, content);
        }
        let flipped = self.flip(layout.offset(index), hole, &mut buffer[..length]);
        let (form, packed) = match (hole, zeros) {
            _ if flipped => self.compress(maker, &mut buffer, length),
            (true, _) => (Encoding::Hole, 0),
            (false, true) => (Encoding::Zeros, 0),
            (false, false) => self.compress(maker, &mut buffer, length),
        };
        let keys = &self.copy.codec.keys;
        let written = Encoded { form, length, packed };
        let prepared = maker.wrapper.wrap(keys, index, incarnation, buffer, written);
        recorder.took(Stage::Seal, at, began, length);
        Ok(prepared)
    }

    /// Flips the byte that is to change in memory, if it is among these, which were not read if
    /// they are a `hole`. Returns whether it was: then they are no zeros any more.
    fn flip(&self, offset: u64, hole: bool, bytes: &mut [u8]) -> bool {
        let faults = &self.copy.config.faults;
        if hole && faults.is_to_flip(offset, bytes.len()) {
            bytes.fill(0);
        }
        faults.flip(offset, bytes)
    }

    /// Returns the error for block `index`, which differs from an earlier reading. Whoever has the
    /// block needs no other one: if it was sent, only those fail that need it again. But a source
    /// that counts as changed as a whole is of use to nobody.
    fn other_than_before(&self, index: u64) -> FeedError {
        let name = self.source.changed(self.copy.layout, index);
        match self.copy.progress.was_sent(index) && self.source.is_unchanged() {
            true => FeedError::Outdated(name),
            false => FeedError::Changed(name),
        }
    }

    /// Records the digests of the lane's blocks after block `index` that lie in the same hole,
    /// which has `holes` blocks from there on. So one signature covers all of them: a node checks
    /// and keeps one for each hole, and not one for each few blocks of it. `content` is the digest
    /// of block `index`.
    fn learn_holes(&self, index: u64, holes: u64, content: [u8; 32]) {
        let layout = self.copy.layout;
        let place = self.blocks.ordinal(index).unwrap_or(0);
        let after = (place + 1..self.blocks.len()).map(|place| self.blocks.index(place));
        let whole = |&other: &u64| layout.block_length(other) == layout.block_length(index);
        let near = after.take_while(|&other| other - index < holes).filter(whole);
        let mut sink = self.copy.progress.sink();
        if near.clone().next().is_some_and(|next| sink.content(next).is_some()) {
            return;
        }
        for other in near {
            // A block that was read before, and is another now, is found when it is read again.
            let _ = sink.learn(other, content);
        }
    }

    /// Compresses the first `length` bytes of `buffer` in place, if that is useful. Returns the
    /// encoding and the length in bytes of the result.
    fn compress(
        &self,
        maker: &mut BlockMaker,
        buffer: &mut [u8],
        length: usize,
    ) -> (Encoding, usize) {
        let pace = &self.copy.codec.packing;
        if !pace.is_on() {
            return (Encoding::Plain, length);
        }
        let threads = COMPRESSORS.max(self.copy.config.lane_count);
        maker.room.resize(compress::room(self.copy.layout.block_size as usize), 0);
        let BlockMaker { packer, room, .. } = maker;
        pace.sample(packer, &buffer[..length], room, threads, clock::thread_cpu_ns);
        let form = pace.choose();
        if form == Encoding::Plain {
            return (Encoding::Plain, length);
        }
        let began = clock::thread_cpu_ns();
        let packed = packer.pack(form, &buffer[..length], room);
        let took = clock::thread_cpu_ns().saturating_sub(began);
        pace.packed(form, length, packed.unwrap_or(length), took, threads);
        let Some(packed) = packed else { return (Encoding::Plain, length) };
        buffer[..packed].copy_from_slice(&room[..packed]);
        (form, packed)
    }

    /// Returns the open links downstream that have counters: the lane, the index in the plan of the
    /// node at the far end, and the counters.
    fn links(&self) -> Vec<(usize, u16, TcpInfo)> {
        let lanes = self.copy.lanes.all().iter().enumerate();
        let links = lanes.flat_map(|(lane, handle)| {
            let links = handle.ask(LinkSide::Down, TcpInfo::read).into_iter();
            links.filter_map(move |(peer, info)| Some((lane, peer, info.ok()?)))
        });
        links.collect()
    }

    /// Returns whether it is no longer useful to prepare block `index` under `incarnation`.
    fn is_stale(&self, index: u64, incarnation: u64) -> bool {
        let place = self.blocks.ordinal(index).unwrap_or(0);
        let state = self.state.lock();
        let near = (state.wanted..state.wanted + state.ahead).contains(&place);
        state.over || state.incarnation != incarnation || !near || self.copy.is_closing()
    }
}
