//! Read-ahead of one open file: whether it is read in order, which pieces are here or asked for, and
//! which to ask for next. Nothing here waits or sends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use fuser::ReplyData;
use garland_protocol::PIECE;
use garland_sys::clock;

use super::cache_stamp::CacheStamp;
use crate::peer::Reply;

const PIECE_LEN: u64 = PIECE as u64;

/// The most pieces that are asked for ahead.
pub const MOST: u64 = 8;

/// What came longer ago than this isn't given out unless the node says that the file is as it was: it
/// may have been changed since.
const OLD_NS: u64 = 1_000_000_000;

/// So many reads in order make a reader that reads in order; fewer, if they are large.
const RUN: u32 = 3;
const LARGE: u32 = 64 << 10;

/// A read that the kernel waits for.
pub struct Read {
    /// Where it begins.
    pub offset: u64,
    /// How many bytes it is for.
    pub size: u32,
    /// Since when the kernel waits for it, in nanoseconds of the monotonic clock: what is true of the
    /// file then or later is good enough for it.
    pub since_ns: u64,
    /// Who waits.
    pub reply: ReplyData,
}

impl Read {
    /// A read that has just come.
    pub fn new(offset: u64, size: u32, reply: ReplyData) -> Self {
        Self { offset, size, since_ns: clock::now_ns(), reply }
    }
}

/// A piece that was asked for, and who waits for it.
#[derive(Default)]
pub struct PendingRead(Mutex<Vec<Read>>);

enum Piece {
    PendingRead(Arc<PendingRead>),
    Here(Arc<Reply>, u64),
}

impl Piece {
    /// Whether it came too long before `since_ns`.
    fn is_old(&self, since_ns: u64) -> bool {
        matches!(self, Self::Here(_, at) if since_ns.saturating_sub(*at) > OLD_NS)
    }

    /// Where the first read begins that waits for it.
    fn least(&self) -> Option<u64> {
        match self {
            Self::PendingRead(asked) => asked.least(),
            Self::Here(..) => None,
        }
    }
}

/// One open file's.
#[derive(Default)]
pub struct Ahead {
    /// Where the next read begins if it is in order.
    next: u64,
    /// How many were in order.
    run: u32,
    window: u64,
    /// Of the file, when these pieces were asked for.
    version: u64,
    /// What the file was like before the first of these pieces was asked for, where a change would show.
    seen: Option<CacheStamp>,
    pieces: BTreeMap<u64, Piece>,
}

/// What becomes of a read.
pub enum Served {
    /// These bytes: parts of pieces, with where they begin and end in them.
    Bytes(Vec<(Arc<Reply>, usize, usize)>, ReplyData),
    /// It waits for a piece.
    Waits,
    /// The pieces are of no use: it asks by itself.
    Alone(Read),
}

impl PendingRead {
    /// Who waits for it.
    pub fn take(&self) -> Vec<Read> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn wait(&self, read: Read) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(read);
    }

    /// Where the first of those begins that wait for it.
    fn least(&self) -> Option<u64> {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.iter().map(|read| read.offset).min()
    }
}

impl Ahead {
    /// Notes a read of a file that has so many bytes, at its `version`; whether it is one of a row.
    pub fn note(&mut self, offset: u64, size: u32, version: u64, length: u64) -> bool {
        if self.version != version {
            self.pieces.clear();
            self.version = version;
        }
        // The kernel asks for a few things at once, which come in any order.
        let slack = 2 * u64::from(size) + 128 * 1024;
        let end = offset + u64::from(size);
        if offset + slack < self.next || offset > self.next + slack {
            *self = Self { next: end, version, seen: self.seen, ..Self::default() };
            return false;
        }
        self.run += 1;
        self.next = self.next.max(end);
        (self.run >= RUN || size >= LARGE) && length > end.min(PIECE_LEN)
    }

    /// What the file was like when it was opened; nothing where a change of it might not show.
    pub fn trust(&mut self, seen: Option<CacheStamp>) {
        self.seen = seen;
    }

    /// Whether the read would be served with pieces that came too long ago, of which the node can say
    /// whether they still hold. On a slow wire, or for a slow reader, that saves them.
    pub fn is_doubtful(&self, read: &Read) -> bool {
        let first = read.offset / PIECE_LEN;
        let old = |piece: &Piece| piece.is_old(read.since_ns);
        self.seen.is_some() && self.pieces.range(first..).any(|(_, piece)| old(piece))
    }

    /// The file was like this at `at_ns`, or nobody knows: pieces hold until then, or are dropped.
    pub fn look(&mut self, seen: Option<CacheStamp>, at_ns: u64) {
        if self.seen.is_some() && self.seen == seen {
            for piece in self.pieces.values_mut() {
                if let Piece::Here(_, at) = piece {
                    *at = (*at).max(at_ns);
                }
            }
        } else {
            self.pieces.retain(|_, piece| matches!(piece, Piece::PendingRead(_)));
            self.seen = None;
        }
    }

    /// Serves a read of a row, with `most` pieces ahead at most; which pieces are to be asked for.
    pub fn serve(
        &mut self,
        read: Read,
        length: u64,
        most: u64,
    ) -> (Served, Vec<(u64, Arc<PendingRead>)>) {
        let first = read.offset / PIECE_LEN;
        let end = read.offset + u64::from(read.size);
        let last = end.saturating_sub(1).max(read.offset) / PIECE_LEN;
        // The kernel reads ahead by itself: earlier reads may still wait for a piece, and need those before
        // it when that comes.
        let waiting = self.pieces.values().filter_map(Piece::least);
        let least = waiting.map(|offset| offset / PIECE_LEN).fold(first, u64::min);
        // What is too old for this read, behind its beginning, isn't for those that came before it.
        self.pieces.retain(|index, piece| {
            *index + 1 >= least && (*index < first || !piece.is_old(read.since_ns))
        });
        let mut ask = Vec::new();
        self.window = self.window.clamp(1, most.max(1));
        for index in first..=last.max(first + self.window - 1) {
            let is_there = index * PIECE_LEN < length || index <= last;
            if is_there && !self.pieces.contains_key(&index) {
                let asked = Arc::new(PendingRead::default());
                self.pieces.insert(index, Piece::PendingRead(Arc::clone(&asked)));
                ask.push((index, asked));
            }
        }
        if !ask.is_empty() {
            self.window *= 2;
        }
        let mut parts = Vec::new();
        for index in first..=last {
            match self.pieces.get(&index) {
                Some(Piece::Here(piece, _)) => {
                    let start = index * PIECE_LEN;
                    let have = piece.payload().len();
                    let from = (read.offset.max(start) - start) as usize;
                    let to = (end.min(start + PIECE_LEN) - start) as usize;
                    parts.push((Arc::clone(piece), from.min(have), to.min(have)));
                    if to > have {
                        // The file ended here when this was read. Has it grown since?
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

    /// The piece that was `asked` for has come, or hasn't.
    pub fn come(
        &mut self,
        index: u64,
        asked: &Arc<PendingRead>,
        piece: Option<Arc<Reply>>,
        now_ns: u64,
    ) {
        let same =
            |piece: &Piece| matches!(piece, Piece::PendingRead(known) if Arc::ptr_eq(known, asked));
        // What was asked for before the file was changed is nobody's any more.
        if self.pieces.get(&index).is_some_and(same) {
            match piece {
                Some(piece) => drop(self.pieces.insert(index, Piece::Here(piece, now_ns))),
                None => drop(self.pieces.remove(&index)),
            }
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
