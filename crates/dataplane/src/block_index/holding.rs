//! Finds the digests of a file's blocks, from a record or by reading the file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use garland_core::plan::{LaneBlocks, Layout};
use garland_protocol::copy::{FileStamp, content_digest, root_digest};
use garland_sys::threads;

use super::records::Records;
use super::stamp::stamp;
use crate::pace::{self, Pace};

/// The digests of a file's blocks, in order; none for a block whose digest is unknown.
pub struct KnownDigests(pub Vec<Option<[u8; 32]>>);

impl KnownDigests {
    /// Returns the digests of all blocks; none if any of them is unknown.
    pub fn all(&self) -> Option<Vec<[u8; 32]>> {
        self.0.iter().copied().collect()
    }

    /// Returns the root digest; none if the digest of any block is unknown.
    pub fn root(&self) -> Option<[u8; 32]> {
        self.all().map(|digests| root_digest(&digests))
    }

    /// Returns whether block `index` is known to have the digest `digest`.
    pub fn has(&self, index: u64, digest: &[u8; 32]) -> bool {
        let own = usize::try_from(index).ok().and_then(|at| self.0.get(at));
        own.is_some_and(|own| own.as_ref() == Some(digest))
    }
}

/// An open file, and the digests of its blocks as far as they are known.
pub struct Holding {
    /// The file, open for reading.
    pub file: File,
    /// The stamp of the file when its blocks were read.
    pub stamp: FileStamp,
    layout: Layout,
    /// The digests of the file's blocks, as far as they are known.
    pub digests: KnownDigests,
}

impl Holding {
    /// Returns an open file with the digests of its blocks of `block_size` bytes, from its record
    /// or by reading all of it. Calls `progress` before the first and after every block that is
    /// read. `disk` is the node's emulated disk.
    ///
    /// # Errors
    /// When the file cannot be read or changes meanwhile, or when `stop` is set.
    pub fn with_digests(
        file: File,
        block_size: u32,
        records: &Records,
        disk: Option<&Pace>,
        progress: impl Fn(),
        stop: &AtomicBool,
    ) -> io::Result<Self> {
        let before = stamp(&file)?;
        let layout = Layout { length: before.length, block_size, open: false };
        if let Some(digests) = records.recall(&file, layout) {
            return Ok(Self { file, stamp: before, layout, digests: KnownDigests(digests) });
        }
        progress();
        let read = |index: u64, bytes: &mut [u8]| {
            pace::on(disk, bytes.len(), || file.read_exact_at(bytes, layout.offset(index)))
        };
        let blocks = LaneBlocks::all(layout.blocks());
        let digests = digest_all(layout, blocks, 1, read, progress, stop)?;
        if stamp(&file)? != before {
            return Err(io::Error::other("it changed while it was read"));
        }
        let digests = KnownDigests(digests.into_iter().map(Some).collect());
        Ok(Self { file, stamp: before, layout, digests })
    }

    /// Returns a file of which only `blocks` were read; `read` contains their digests, in order.
    /// `stamp` is the stamp that the file had before its blocks were read.
    pub fn from_part(
        file: File,
        stamp: FileStamp,
        layout: Layout,
        blocks: LaneBlocks,
        read: &[[u8; 32]],
    ) -> Self {
        let mut digests = vec![None; usize::try_from(layout.blocks()).unwrap_or(0)];
        for (index, digest) in blocks.indices().zip(read) {
            digests[index as usize] = Some(*digest);
        }
        Self { file, stamp, layout, digests: KnownDigests(digests) }
    }

    /// Reads block `index` into a buffer of the block's length. Returns whether the block could be
    /// read and has the digest `digest`.
    pub fn read(&self, index: u64, bytes: &mut [u8], digest: &[u8; 32]) -> bool {
        let read = self.file.read_exact_at(bytes, self.layout.offset(index));
        read.is_ok() && content_digest(bytes) == *digest
    }
}

/// Returns the digests of `blocks` of `layout`, in order. Computes them with `at_once` threads,
/// which call `read` with the index of a block and a buffer. Calls `progress` for every block that
/// the calling thread has read.
///
/// # Errors
/// When a block cannot be read, or `stop` is set.
pub fn digest_all(
    layout: Layout,
    blocks: LaneBlocks,
    at_once: usize,
    read: impl Fn(u64, &mut [u8]) -> io::Result<()> + Sync,
    progress: impl Fn(),
    stop: &AtomicBool,
) -> io::Result<Vec<[u8; 32]>> {
    let next = AtomicU64::new(0);
    let work = |told: &dyn Fn()| -> io::Result<Vec<(u64, [u8; 32])>> {
        let mut buffer = vec![0; layout.block_size as usize];
        let mut digests = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            if place >= blocks.len() {
                return Ok(digests);
            }
            let index = blocks.index(place);
            if stop.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let bytes = &mut buffer[..layout.block_length(index) as usize];
            // After an error the remaining blocks are not needed.
            read(index, bytes).inspect_err(|_| next.store(blocks.len(), Ordering::Relaxed))?;
            digests.push((index, content_digest(bytes)));
            told();
        }
    };
    let parts = std::thread::scope(|scope| {
        let others: Vec<_> = (1..at_once)
            // If no further threads can be started, the existing ones do the work.
            .map_while(|_| threads::spawn_in(scope, "digest", || work(&|| ())).ok())
            .collect();
        let own = work(&progress);
        let panicked = || Err(io::Error::other("a thread that computes digests has panicked"));
        let others = others.into_iter().map(|other| other.join().unwrap_or_else(|_| panicked()));
        std::iter::once(own).chain(others).collect::<io::Result<Vec<_>>>()
    })?;
    let mut all: Vec<(u64, [u8; 32])> = parts.into_iter().flatten().collect();
    all.sort_unstable_by_key(|(index, _)| *index);
    Ok(all.into_iter().map(|(_, digest)| digest).collect())
}
