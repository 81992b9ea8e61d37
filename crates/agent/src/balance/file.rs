//! The test file of a node: a file without a name in the file system.

use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use garland_core::printable;
use garland_core::units::bytes;
use garland_dataplane::source::Source;
use garland_dataplane::store::TestFile;
use garland_protocol::measure::{DiskCached, DiskPlace};
use garland_sys::cache;
use garland_sys::random;

use crate::agent::Agent;
use crate::disk::place;
use crate::error::{OrderError, cannot};

/// The number of bytes that are written or read at a time.
const PIECE: usize = 1 << 20;

/// The test file of a node: random bytes in a file without a name.
pub struct BalanceFile {
    file: TestFile,
    path: String,
    size: u64,
}

impl BalanceFile {
    /// Creates a file of `size` random bytes in the directory `path`, which must have space for a
    /// second file of that size. Also returns a description of the file's file system and device.
    ///
    /// # Errors
    /// When there is not enough space or memory, when the file cannot be created or written, or
    /// when `stop` is set.
    pub fn make(
        agent: &Agent,
        path: &[u8],
        size: u64,
        stop: &AtomicBool,
    ) -> Result<(Self, DiskPlace), OrderError> {
        let file = TestFile::create(&agent.root, path, size)?;
        let path = printable::name(path);
        let both = size.saturating_mul(2);
        if file.free() < both {
            let [both, free] = [both, file.free()].map(bytes::format);
            return Err(format!(
                "not enough space in {path}: a copy and its source need {both}, but only {free} \
                 are free; use smaller files"
            )
            .into());
        }
        let place = place::of(&file);
        place::refuse_memory(&place, both)?;
        let stock = Self { file, path, size };
        stock.fill(stop)?;
        Ok((stock, place))
    }

    /// Fills the file with copies of a random piece, each changed, so that no two blocks are equal
    /// and none can be compressed.
    fn fill(&self, stop: &AtomicBool) -> Result<(), OrderError> {
        let file = self.file.file();
        let mut piece = vec![0; PIECE];
        piece.chunks_mut(32).for_each(|chunk| chunk.copy_from_slice(&random::bytes::<32>()));
        let failed = |error| cannot(format!("write to the test file in {}", self.path))(error);
        for at in (0..self.size).step_by(PIECE) {
            if stop.load(Ordering::Relaxed) {
                return Err("the head is gone".into());
            }
            let length = usize::try_from(self.size - at).map_or(PIECE, |rest| rest.min(PIECE));
            file.write_all_at(&piece[..length], at).map_err(failed)?;
            piece.iter_mut().for_each(|byte| *byte = byte.wrapping_add(0x9d));
        }
        file.sync_all().map_err(failed)
    }

    /// If `cold`, drops the whole file from the page cache; otherwise reads its first `size` bytes
    /// into the page cache. Returns how many of these bytes are cached, if the kernel reports it.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn prepare(&self, size: u64, cold: bool) -> Result<Option<DiskCached>, OrderError> {
        let file = self.file.file();
        if cold {
            // A file system may keep the pages; the number of cached pages is reported.
            let _ = file.sync_all().and_then(|()| cache::forget(file));
        } else {
            let mut piece = vec![0; PIECE];
            for at in (0..size.min(self.size)).step_by(PIECE) {
                let length = usize::try_from(size - at).map_or(PIECE, |rest| rest.min(PIECE));
                let failed = cannot(format!("read from the test file in {}", self.path));
                file.read_exact_at(&mut piece[..length], at).map_err(failed)?;
            }
        }
        Ok(place::cached(file, size))
    }

    /// Returns the first `length` bytes as a source.
    ///
    /// # Errors
    /// When the file is shorter than `length`, or no file descriptors are left.
    pub fn source(&self, agent: &Agent, length: u64) -> Result<Source, OrderError> {
        if length > self.size {
            let [length, size] = [length, self.size].map(bytes::format);
            return Err(format!("cannot copy {length}: the test file has only {size}").into());
        }
        let name = format!("the test file in {}", self.path);
        let disk = agent.disk.clone();
        let usage = Arc::clone(&agent.usage);
        let file = self.file.file().try_clone();
        file.and_then(|file| Source::first_bytes(file, name.clone().into(), length, disk, usage))
            .map_err(cannot(format!("open {name}")))
    }
}
