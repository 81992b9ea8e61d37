//! Reads blocks of contents, by the digests of their manifests, also from files that are still
//! arriving, which have hidden names until then.

use std::fs::File;
use std::time::Duration;

use garland_dataplane::block_index::stamp::stamp;
use garland_dataplane::store::left;
use garland_protocol::copy::ContentHasher;
use garland_protocol::files::{Answer, PIECE};
use garland_sys::{clock, threads};
use rustix::fs::{Advice, OFlags, SeekFrom, fadvise, seek};
use rustix::io::Errno;

use super::places::Place;
use crate::names::HeldBlock;

/// How long a request waits for bytes that have not arrived.
const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(2);

/// The interval at which it looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(4);

/// How many looks at open files there are for one at the name.
const LOOKS: u32 = 16;

/// The interval between the first two listings of a directory.
const FIRST_LISTING_INTERVAL: Duration = Duration::from_millis(64);

/// When the directory is listed for hidden names. It may have very many names, and there may be
/// many requests, so the pauses get longer.
struct Listings {
    due_ns: u64,
    pause: Duration,
}

impl Listings {
    fn new(now_ns: u64) -> Self {
        Self { due_ns: now_ns, pause: FIRST_LISTING_INTERVAL }
    }

    /// Returns whether the directory is listed now.
    fn are_due(&mut self, now_ns: u64) -> bool {
        let are_due = now_ns >= self.due_ns;
        if are_due {
            self.due_ns = now_ns + self.pause.as_nanos() as u64;
            self.pause *= 2;
        }
        are_due
    }
}

/// The longest pause after bytes were read in vain.
const PAUSE: Duration = Duration::from_millis(250);

/// A piece of a block that a peer asked for.
pub struct WantedPiece<'a> {
    /// The block, all of which is verified.
    pub block: &'a HeldBlock,
    /// The number of the piece.
    pub piece: u32,
    /// Whether to wait some seconds for what has not arrived.
    pub arriving: bool,
}

impl WantedPiece<'_> {
    /// Appends the piece to `frame`. The other pieces of the block are read for its digest, one
    /// after the other.
    fn append(
        &self,
        frame: &mut Vec<u8>,
        read: impl Fn(u64, u32, &mut Vec<u8>) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let mut hasher = ContentHasher::default();
        let mut other = Vec::new();
        for piece in 0..self.block.pieces() {
            let before = piece * PIECE;
            let offset = self.block.offset + u64::from(before);
            let length = (self.block.length - before).min(PIECE);
            if piece == self.piece {
                let start = frame.len();
                read(offset, length, frame)?;
                hasher.update(&frame[start..]);
            } else {
                other.clear();
                read(offset, length, &mut other)?;
                hasher.update(&other);
            }
        }
        if hasher.finish() == self.block.digest { Ok(()) } else { Err(Errno::STALE) }
    }
}

/// Appends the bytes of a piece to `frame`, from the file that `find` finds; `read` reads a length
/// from an offset of an open file.
///
/// # Errors
/// `ESTALE` if the file has other bytes, `EAGAIN` if they did not arrive, otherwise why it cannot
/// be read.
pub fn read<'a>(
    find: impl Fn() -> Result<Place<'a>, Errno>,
    wanted: &WantedPiece<'_>,
    frame: &mut Vec<u8>,
    read: impl Fn(&File, u64, u32, &mut Vec<u8>) -> Result<(), Errno>,
) -> Result<Answer, Errno> {
    let WantedPiece { block, arriving, .. } = *wanted;
    let before = frame.len();
    let until_ns = clock::after(ARRIVAL_TIMEOUT);
    let mut has = |file: &File| -> Result<(), Errno> {
        frame.truncate(before);
        wanted.append(frame, |offset, length, bytes| read(file, offset, length, bytes))
    };
    let mut pause = LOOK_INTERVAL;
    let mut partial = Vec::new();
    let mut listings = Listings::new(clock::now_ns());
    let mut in_vain = None;
    for look in 0.. {
        // Once a partial file is open, it stays what is looked at, also when it gets its name.
        if look % LOOKS == 0 {
            // Its directory may be missing, too.
            let place = find();
            let open = |place: &Place<'_>| place.open_existing(OFlags::RDONLY);
            match place.as_ref().map_err(|error| *error).and_then(open) {
                Ok(file) => {
                    let file = File::from(file);
                    let version = stamp(&file).ok();
                    // An old version under the name is read once, and looked at as often as
                    // nothing.
                    if version.is_none() || version != in_vain {
                        match has(&file) {
                            Ok(()) => return Ok(Answer::Done),
                            Err(error) if !arriving => return Err(error),
                            Err(_) if in_vain.is_some() => pause = after_vain(pause),
                            Err(_) => {}
                        }
                        in_vain = version;
                    }
                }
                Err(error) if !arriving => return Err(error),
                Err(_) => {}
            }
            if listings.are_due(clock::now_ns()) {
                partial =
                    place.map_or_else(|_| Vec::new(), |it| left::open_own(&it.folder, it.name));
                for file in &partial {
                    // Pages read ahead of what arrived would look as if they had arrived. If the
                    // file system knows no advice, bytes are read in vain.
                    let _ = fadvise(file, 0, None, Advice::Random);
                }
            }
        }
        for file in partial.iter().filter(|file| has_arrived(file, block)) {
            match has(file) {
                Ok(()) => return Ok(Answer::Done),
                Err(_) => pause = after_vain(pause),
            }
        }
        if clock::until(until_ns).is_zero() {
            break;
        }
        threads::sleep(pause);
    }
    Err(Errno::AGAIN)
}

/// Returns the pause after bytes were read in vain, all of a block: the next ones are longer.
fn after_vain(pause: Duration) -> Duration {
    (pause * 2).min(PAUSE)
}

/// Returns whether the wanted bytes of a file were written: where they were not is a hole. A file
/// system that does not know holes says yes, and the digest decides.
fn has_arrived(file: &File, wanted: &HeldBlock) -> bool {
    let end = wanted.offset + u64::from(wanted.length);
    seek(file, SeekFrom::Hole(wanted.offset)).is_ok_and(|hole| hole >= end)
}

#[cfg(test)]
mod tests;
