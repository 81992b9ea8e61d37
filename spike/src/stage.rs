//! Stages of work on a block that one processor does in turn, while the block is in its cache.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use garland_protocol::{CopyId, FRAME_LEN, Frame, Keys, Sealer, Secret, TAG_LEN, content_digest};

use crate::io::FileId;

/// A step of work on a buffer. Seals and openings expect the block's header at the start of the
/// buffer, then the block, then its tag.
pub enum Stage {
    /// Reads bytes of a file at an offset into a part of the buffer.
    Read(FileId, u64, Range<usize>),
    /// Takes the digest of a part of the buffer.
    Hash(Range<usize>),
    /// Seals the block.
    Seal(Arc<Sealer>, Frame),
    /// Opens the block.
    Open(Arc<Opener>, Frame),
    /// Stops unless a part of the buffer has this digest.
    Check(Range<usize>, [u8; 32]),
    /// Writes a part of the buffer to a file at an offset.
    Write(FileId, u64, Range<usize>),
}

impl std::fmt::Debug for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Read(..) => "Read",
            Self::Hash(..) => "Hash",
            Self::Seal(..) => "Seal",
            Self::Open(..) => "Open",
            Self::Check(..) => "Check",
            Self::Write(..) => "Write",
        })
    }
}

/// Why work stopped.
#[derive(Debug)]
pub enum Stop {
    /// A read or write failed.
    Io(io::Error),
    /// The block is not the one that the source sent.
    Changed,
}

/// A buffer, and the stages that are still to be done on it.
#[derive(Debug)]
pub struct Work {
    /// The buffer.
    pub buffer: Vec<u8>,
    /// The last digest that was taken.
    pub digest: Option<[u8; 32]>,
    /// What is to be done.
    pub stages: VecDeque<Stage>,
}

/// The files that work reads and writes.
pub trait Files {
    /// Reads at least one byte at `offset`; none at the end of the file.
    ///
    /// # Errors
    /// When the disk fails.
    fn read(&mut self, file: FileId, offset: u64, bytes: &mut [u8]) -> io::Result<usize>;

    /// Writes at least one byte at `offset`.
    ///
    /// # Errors
    /// When the disk fails or is full.
    fn write(&mut self, file: FileId, offset: u64, bytes: &[u8]) -> io::Result<usize>;
}

impl Work {
    /// Returns work on `buffer`.
    pub fn new(buffer: Vec<u8>, stages: impl IntoIterator<Item = Stage>) -> Self {
        Self { buffer, digest: None, stages: stages.into_iter().collect() }
    }

    /// Runs the stages in turn. Stops after a short transfer, of which the rest is left. Returns
    /// the number of bytes of the last transfer.
    ///
    /// # Errors
    /// When a transfer fails, or the block was changed.
    pub fn run(&mut self, files: &mut impl Files) -> Result<usize, Stop> {
        let mut moved = 0;
        while let Some(stage) = self.stages.front_mut() {
            let left = match stage {
                Stage::Read(file, offset, range) => {
                    moved = files
                        .read(*file, *offset, &mut self.buffer[range.clone()])
                        .map_err(Stop::Io)?;
                    advance(offset, range, moved)
                }
                Stage::Write(file, offset, range) => {
                    moved = files
                        .write(*file, *offset, &self.buffer[range.clone()])
                        .map_err(Stop::Io)?;
                    advance(offset, range, moved)
                }
                Stage::Hash(range) => {
                    self.digest = Some(content_digest(&self.buffer[range.clone()]));
                    false
                }
                Stage::Check(range, content) => {
                    if content_digest(&self.buffer[range.clone()]) != *content {
                        return Err(Stop::Changed);
                    }
                    false
                }
                Stage::Seal(sealer, frame) => {
                    seal(sealer, frame, &mut self.buffer);
                    false
                }
                Stage::Open(opener, frame) => {
                    opener.open(frame, &mut self.buffer)?;
                    false
                }
            };
            if left {
                return Ok(moved);
            }
            self.stages.pop_front();
        }
        Ok(moved)
    }
}

/// Notes that `moved` bytes were moved. Returns whether some are left.
fn advance(offset: &mut u64, range: &mut Range<usize>, moved: usize) -> bool {
    *offset += moved as u64;
    range.start += moved;
    range.start < range.end
}

fn seal(sealer: &Sealer, frame: &Frame, buffer: &mut [u8]) {
    let (header, rest) = buffer.split_at_mut(FRAME_LEN);
    let header: &[u8; FRAME_LEN] = (&*header).try_into().expect("the header was split off");
    let (block, tag) = rest.split_at_mut(frame.packed as usize);
    tag[..TAG_LEN].copy_from_slice(&sealer.seal(frame, header, block));
}

/// Opens blocks on several processors. `Keys` caches opening keys and can open one block at a time,
/// so each processor uses keys of its own.
pub struct Opener {
    secret: Secret,
    copy: CopyId,
    idle: Mutex<Vec<Keys>>,
}

impl Opener {
    /// Returns an opener of the blocks of `copy`.
    #[must_use]
    pub fn new(secret: &Secret, copy: CopyId) -> Self {
        Self { secret: secret.clone(), copy, idle: Mutex::default() }
    }

    fn open(&self, frame: &Frame, buffer: &mut [u8]) -> Result<(), Stop> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let keys = idle().pop();
        let mut keys = keys.unwrap_or_else(|| Keys::new(&self.secret, self.copy));
        let (header, rest) = buffer.split_at_mut(FRAME_LEN);
        let header: &[u8; FRAME_LEN] = (&*header).try_into().expect("the header was split off");
        let opened = keys.open(frame, header, &mut rest[..frame.packed as usize + TAG_LEN]);
        idle().push(keys);
        opened.map_err(|_| Stop::Changed)
    }
}
