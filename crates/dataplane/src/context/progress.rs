//! How far a copy is on one node.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use garland_core::index_set::IndexSet;
use garland_core::plan::Layout;
use garland_protocol::copy::{Frame, Landing, RelayEvent, SignedEnd, Sink, Summed};
use garland_sys::sync::{Mutex, MutexGuard};

use super::{LaneCommand, Lanes};

/// The state of the blocks on one node, and the milestones of the copy there.
pub struct Progress {
    layout: Layout,
    sink: Mutex<Sink>,
    /// The number of blocks that a receiver had before the copy; 0 for the source.
    pub(super) had: u64,
    /// The blocks that were sent, if this node is the source.
    sent: Mutex<IndexSet>,
    /// The end of a stream, as the source has signed it; set once.
    end: OnceLock<SignedEnd>,
    /// The digest of the whole file, if it was requested and has been computed.
    pub summed: OnceLock<Summed>,
    /// Whether the first block has been reported.
    begun: AtomicBool,
    /// Whether it has been reported that all blocks are here, or were read.
    completed: AtomicBool,
    /// Whether the copy's file is made stable, read back, or renamed.
    finishing: AtomicBool,
}

impl Progress {
    /// Returns the state of a copy that begins. `sink` holds the blocks that are present.
    pub(super) fn new(sink: Sink, is_source: bool) -> Self {
        let layout = sink.layout();
        Self {
            layout,
            had: if is_source { 0 } else { sink.here() },
            sink: Mutex::new(if is_source { sink } else { sink.awaiting_signatures() }),
            sent: Mutex::new(IndexSet::new(layout.blocks())),
            end: OnceLock::new(),
            summed: OnceLock::new(),
            begun: AtomicBool::new(false),
            completed: AtomicBool::new(false),
            finishing: AtomicBool::new(false),
        }
    }

    /// Locks and returns the state of the blocks on this node.
    pub fn sink(&self) -> MutexGuard<'_, Sink> {
        self.sink.lock()
    }

    /// Returns the length in bytes of block `index`. The block must be present, since the last
    /// block of a stream may be shorter than the layout says.
    pub fn block_length(&self, index: u64) -> u32 {
        self.length_of_last(index).unwrap_or_else(|| self.layout.block_length(index))
    }

    /// Returns the length in bytes of block `index`, if the source has signed that a stream ends
    /// with it.
    fn length_of_last(&self, index: u64) -> Option<u32> {
        let end = self.end.get()?.end;
        end.has_last(index).then_some(end.last_length)
    }

    /// Returns whether block `index` may have `length` bytes. In a stream only the last block may
    /// be shorter than the others, if its source has signed the end.
    pub fn takes_length(&self, index: u64, length: u32) -> bool {
        let whole = self.layout.block_length(index);
        let is_last = self.layout.open && self.length_of_last(index) == Some(length);
        is_last && length < whole || length == whole
    }

    /// Notes the end of a stream, which the source has signed. Returns whether it has signed no
    /// other one before.
    pub fn note_end(&self, end: SignedEnd) -> bool {
        self.end.get_or_init(|| end).end == end.end
    }

    /// Returns the end of a stream, if the source has signed it already.
    pub fn signed_end(&self) -> Option<&SignedEnd> {
        self.end.get()
    }

    /// Notes that this node, the source, has sent block `index`.
    pub fn note_sent(&self, index: u64) {
        self.sent.lock().insert(index);
    }

    /// Returns whether this node, the source, has sent block `index` before.
    pub fn was_sent(&self, index: u64) -> bool {
        self.sent.lock().contains(index)
    }

    /// Records the result of writing a block that came with `frame`, and tells the relay machine of
    /// its lane among `lanes`. Does not leave the record to the lane's thread: that thread may be
    /// waiting for a buffer, or for a neighbour, which continue only after this block counts as
    /// held.
    pub fn land(&self, lanes: &Lanes, frame: &Frame, landing: Landing) {
        let Some(lane) = lanes.get(frame.lane) else { return };
        let front_moved = {
            let mut sink = self.sink();
            let before = sink.front();
            sink.landed(frame.index, landing);
            // The lane must not see what has changed before this command.
            lane.post(LaneCommand::Event(RelayEvent::Landed(frame.index, landing)));
            before != sink.front()
        };
        if front_moved {
            lanes.wake_others(frame.lane);
        }
    }

    /// Notes that a block has arrived. Returns whether it is the first one.
    pub(super) fn begin(&self) -> bool {
        !self.begun.swap(true, Ordering::Relaxed)
    }

    /// Returns the root digest if all blocks are present on a receiver, or the source has been
    /// read. Does so once.
    pub(super) fn complete(&self, lanes: &Lanes) -> Option<[u8; 32]> {
        let root = self.sink().completed(self.had, || lanes.have_ended())?;
        (!self.completed.swap(true, Ordering::Relaxed)).then_some(root)
    }

    /// Marks the copy as finishing: its file is made stable, read back, or renamed.
    pub fn finish(&self) {
        self.finishing.store(true, Ordering::Relaxed);
    }

    /// Returns whether the copy is finishing.
    pub(super) fn is_finishing(&self) -> bool {
        self.finishing.load(Ordering::Relaxed)
    }
}
