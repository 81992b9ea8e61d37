//! The read-ahead of an open file. It decides whether the file is read sequentially, which pieces
//! are available or requested, and which to request next. Nothing here blocks or sends.

use std::collections::BTreeMap;
use std::sync::Arc;

use fuser::ReplyData;
use garland_protocol::files::PIECE;
use garland_sys::clock;
use garland_sys::sync::Mutex;
use garland_sys::threads::{Slot, Slots};

use super::cache_stamp::CacheStamp;
use crate::peer::Reply;

const PIECE_LEN: u64 = PIECE as u64;

/// The maximum number of pieces that all open files together may have read ahead.
pub const PIECES_MAX: usize = 64;

/// The maximum number of pieces that are read ahead for one open file.
pub const MAX_PIECES_AHEAD: u64 = 8;

/// The age in nanoseconds above which a piece is used only if the node confirms that the file is
/// unchanged.
const OLD_NS: u64 = 1_000_000_000;

/// The number of consecutive reads after which a file counts as read sequentially. One read of
/// [`LARGE`] bytes is enough.
const RUN: u32 = 3;
const LARGE: u32 = 64 << 10;

/// A read that the kernel waits for.
pub struct Read {
    /// The offset in the file in bytes.
    pub offset: u64,
    /// The number of bytes to read.
    pub size: u32,
    /// When the read arrived, in nanoseconds of the monotonic clock. It may be answered with any
    /// state that the file has had since then.
    pub since_ns: u64,
    /// The handle by which the read is answered.
    pub reply: ReplyData,
}

impl Read {
    /// Creates a read that arrives now.
    pub fn new(offset: u64, size: u32, reply: ReplyData) -> Self {
        Self { offset, size, since_ns: clock::now_ns(), reply }
    }
}

/// A piece that was requested from the node, with the reads that wait for it.
#[derive(Default)]
pub struct PendingRead(Mutex<Vec<Read>>);

/// A piece that counts as one of the mount.
struct Counted {
    piece: Piece,
    /// It is free again as soon as this is dropped.
    _slot: Slot,
}

enum Piece {
    PendingRead(Arc<PendingRead>),
    Here(Arc<Reply>, u64),
}

impl Piece {
    /// Returns whether the piece is too old for a read that arrived at `since_ns`. A piece that has
    /// not arrived is never too old.
    fn is_old(&self, since_ns: u64) -> bool {
        matches!(self, Self::Here(_, at) if since_ns.saturating_sub(*at) > OLD_NS)
    }

    /// Returns the lowest offset of the reads that wait for the piece.
    fn least(&self) -> Option<u64> {
        match self {
            Self::PendingRead(asked) => asked.least(),
            Self::Here(..) => None,
        }
    }
}

/// The read-ahead of one open file: its pieces, and the pattern of its reads.
#[derive(Default)]
pub struct Ahead {
    /// The offset at which the next sequential read begins.
    next: u64,
    /// The number of consecutive sequential reads.
    run: u32,
    window: u64,
    /// The version of the file for which the pieces were requested; see
    /// [`Flow`](super::inode::Flow).
    version: u64,
    /// The state of the file before the first piece was requested; `None` if the state is unknown,
    /// or so recent that another change might not alter it.
    seen: Option<CacheStamp>,
    pieces: BTreeMap<u64, Counted>,
    /// The time of the last read, in nanoseconds of the monotonic clock.
    used_ns: u64,
}

/// How a read is served.
pub enum Served {
    /// The read can be answered: with the bytes of each piece between these two offsets.
    Bytes(Vec<(Arc<Reply>, usize, usize)>, ReplyData),
    /// The read waits for a requested piece.
    Waits,
    /// The pieces lack bytes of the read, which must be requested separately from the node.
    Alone(Read),
}

impl PendingRead {
    /// Removes and returns the reads that wait for the piece.
    pub fn take(&self) -> Vec<Read> {
        std::mem::take(&mut self.0.lock())
    }

    fn wait(&self, read: Read) {
        self.0.lock().push(read);
    }

    /// Returns the lowest offset of the reads that wait for the piece.
    fn least(&self) -> Option<u64> {
        let waiting = self.0.lock();
        waiting.iter().map(|read| read.offset).min()
    }
}

impl Ahead {
    /// Records a read of a file that is `length` bytes long and has the version `version`. Drops
    /// the pieces of other versions. Returns whether the read is sequential.
    pub fn note(&mut self, offset: u64, size: u32, version: u64, length: u64) -> bool {
        self.used_ns = clock::now_ns();
        if self.version != version {
            self.pieces.clear();
            self.version = version;
        }
        // The kernel sends several read requests at a time, which arrive in any order.
        let slack = 2 * u64::from(size) + 128 * 1024;
        let end = offset + u64::from(size);
        if offset + slack < self.next || offset > self.next + slack {
            let Self { seen, used_ns, .. } = *self;
            *self = Self { next: end, version, seen, used_ns, ..Self::default() };
            return false;
        }
        self.run += 1;
        self.next = self.next.max(end);
        (self.run >= RUN || size >= LARGE) && length > end.min(PIECE_LEN)
    }

    /// Sets the state that the file had when it was opened; `None` if a later change might not
    /// alter it.
    pub fn trust(&mut self, seen: Option<CacheStamp>) {
        self.seen = seen;
    }

    /// Returns whether pieces for this or later reads are so old that the node should be asked
    /// whether the file is unchanged. Pieces of an unchanged file need not be requested again,
    /// which saves time if the wire or the reader is slow.
    pub fn is_doubtful(&self, read: &Read) -> bool {
        let first = read.offset / PIECE_LEN;
        let old = |counted: &Counted| counted.piece.is_old(read.since_ns);
        self.seen.is_some() && self.pieces.range(first..).any(|(_, counted)| old(counted))
    }

    /// Compares `seen`, the state of the file at `at_ns`, with its state before the pieces were
    /// requested. If both are known and equal, the pieces that have arrived count as read at
    /// `at_ns`. Otherwise these pieces are dropped.
    pub fn look(&mut self, seen: Option<CacheStamp>, at_ns: u64) {
        if self.seen.is_some() && self.seen == seen {
            for counted in self.pieces.values_mut() {
                if let Piece::Here(_, at) = &mut counted.piece {
                    *at = (*at).max(at_ns);
                }
            }
        } else {
            self.drop_arrived();
            self.seen = None;
        }
    }

    /// Drops the pieces that have arrived if nobody has read the file for a second.
    pub fn drop_idle(&mut self) {
        if clock::now_ns().saturating_sub(self.used_ns) > OLD_NS {
            self.drop_arrived();
        }
    }

    fn drop_arrived(&mut self) {
        self.pieces.retain(|_, counted| matches!(counted.piece, Piece::PendingRead(_)));
    }

    /// Serves a sequential read of a file of `length` bytes, and reads at most `most` pieces ahead,
    /// each with one of `slots`. Without a free one the read is served alone. Also returns the
    /// pieces to request from the node, each with its index.
    pub fn serve(
        &mut self,
        read: Read,
        length: u64,
        most: u64,
        slots: &Arc<Slots>,
    ) -> (Served, Vec<(u64, Arc<PendingRead>)>) {
        let first = read.offset / PIECE_LEN;
        let end = read.offset + u64::from(read.size);
        let last = end.saturating_sub(1).max(read.offset) / PIECE_LEN;
        // The kernel reads ahead by itself: earlier reads may still wait for a piece, and also need
        // the pieces before it.
        let waiting = self.pieces.values().filter_map(|counted| counted.piece.least());
        let least = waiting.map(|offset| offset / PIECE_LEN).fold(first, u64::min);
        // A piece that is too old for this read may still serve reads that arrived earlier.
        self.pieces.retain(|index, counted| {
            *index + 1 >= least && (*index < first || !counted.piece.is_old(read.since_ns))
        });
        let mut ask = Vec::new();
        self.window = self.window.clamp(1, most.max(1));
        for index in first..=last.max(first + self.window - 1) {
            let is_there = index * PIECE_LEN < length || index <= last;
            if is_there && !self.pieces.contains_key(&index) {
                let Some(slot) = slots.take() else { break };
                let asked = Arc::new(PendingRead::default());
                let piece = Piece::PendingRead(Arc::clone(&asked));
                self.pieces.insert(index, Counted { piece, _slot: slot });
                ask.push((index, asked));
            }
        }
        if !ask.is_empty() {
            self.window *= 2;
        }
        let mut parts = Vec::new();
        for index in first..=last {
            match self.pieces.get(&index).map(|counted| &counted.piece) {
                Some(Piece::Here(piece, _)) => {
                    let start = index * PIECE_LEN;
                    let have = piece.payload().len();
                    let from = (read.offset.max(start) - start) as usize;
                    let to = (end.min(start + PIECE_LEN) - start) as usize;
                    parts.push((Arc::clone(piece), from.min(have), to.min(have)));
                    if to > have {
                        // The file ended here when the piece was read; it may have grown since.
                        if start + (have as u64) < length {
                            return (Served::Alone(read), ask);
                        }
                        break;
                    }
                }
                Some(Piece::PendingRead(asked)) => {
                    asked.wait(read);
                    return (Served::Waits, ask);
                }
                None => return (Served::Alone(read), ask),
            }
        }
        (Served::Bytes(parts, read.reply), ask)
    }

    /// Stores the piece with the index `index`, which was requested as `asked`; `None` means that
    /// the request failed. A piece that is no longer wanted is ignored.
    pub fn come(
        &mut self,
        index: u64,
        asked: &Arc<PendingRead>,
        piece: Option<Arc<Reply>>,
        now_ns: u64,
    ) {
        // Pieces that were requested before the file changed are dropped.
        let Some(counted) = self.pieces.get_mut(&index) else { return };
        match &counted.piece {
            Piece::PendingRead(known) if Arc::ptr_eq(known, asked) => {}
            Piece::PendingRead(_) | Piece::Here(..) => return,
        }
        match piece {
            Some(piece) => counted.piece = Piece::Here(piece, now_ns),
            None => drop(self.pieces.remove(&index)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_in_order_are_told_from_others() {
        let mut ahead = Ahead::default();
        let long = 100 * PIECE_LEN;
        assert!(ahead.note(0, 128 << 10, 0, long), "a large one at the beginning");
        let mut ahead = Ahead::default();
        assert!(!ahead.note(0, 4096, 0, long));
        assert!(!ahead.note(4096, 4096, 0, long));
        assert!(ahead.note(8192, 4096, 0, long));
        assert!(!ahead.note(50 * PIECE_LEN, 4096, 0, long), "elsewhere");
        assert!(!ahead.note(0, 4096, 0, long));
        let mut ahead = Ahead::default();
        assert!(!ahead.note(0, 128 << 10, 0, 4096), "all of it comes by one read");
    }
}
