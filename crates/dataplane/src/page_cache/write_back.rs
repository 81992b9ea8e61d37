//! Writes a file to its disk while it arrives.

use std::collections::VecDeque;
use std::fs::File;
use std::io;

use garland_sys::sync::Mutex;
use garland_sys::{cache, storage};

use super::chunks::{CHUNK, Chunks, bytes_of};
use super::{is_large, most};

/// The number of chunks of a large file that may be on their way to the disk.
const UNDER_WAY: usize = 16;

/// The write-back of a file that is being written: each complete chunk is passed on to the disk at
/// once, so that the sync at the end finds little left. A large file leaves the page cache behind
/// that.
#[derive(Debug)]
pub struct WriteBack {
    /// None if the kernel decides by itself when it writes.
    state: Option<Box<Mutex<State>>>,
    /// The offset from which on the file is large.
    large_beyond: u64,
    /// Whether a file is written early that is not large.
    stable: bool,
}

#[derive(Debug, Default)]
struct State {
    chunks: Chunks,
    /// The chunks of a large file that are on their way to the disk, the oldest first.
    under_way: VecDeque<u64>,
}

impl WriteBack {
    /// Returns the write-back of `file`, which will have `length` bytes. `stable` tells whether it
    /// is synced at its end; otherwise only a large file is written early.
    pub fn for_file(file: &File, length: u64, stable: bool) -> Self {
        let large = is_large(length);
        let early = length > CHUNK && (stable || large);
        Self::new(file, early, if large { 0 } else { u64::MAX }, stable)
    }

    /// Returns the write-back of `file`, whose length is not known before its end, as of a stream.
    pub fn growing(file: &File, stable: bool) -> Self {
        Self::new(file, true, most(), stable)
    }

    fn new(file: &File, early: bool, large_beyond: u64, stable: bool) -> Self {
        let early = early && !storage::is_in_memory(file).unwrap_or(true);
        Self { state: early.then(Box::default), large_beyond, stable }
    }

    /// Notes that `length` bytes were written at `offset`. With a large file it may wait for the
    /// disk.
    ///
    /// # Errors
    /// When the disk fails while a large file is written. The sync at the end may not report that
    /// again.
    pub fn wrote(&self, file: &File, offset: u64, length: usize) -> io::Result<()> {
        let Some(state) = &self.state else { return Ok(()) };
        let is_large = offset.saturating_add(length as u64) > self.large_beyond;
        let mut state = state.lock();
        for chunk in state.chunks.count(offset, length) {
            if !(is_large || self.stable) {
                continue;
            }
            // Some file systems can't; an error of the disk is found by the sync.
            let _ = cache::start_write_back(file, bytes_of(chunk));
            if !is_large {
                continue;
            }
            state.under_way.push_back(chunk);
            if state.under_way.len() > UNDER_WAY
                && let Some(oldest) = state.under_way.pop_front()
            {
                finish(file, oldest)?;
            }
        }
        Ok(())
    }
}

/// Waits until the disk has a chunk, and drops it from the page cache.
fn finish(file: &File, chunk: u64) -> io::Result<()> {
    match cache::finish_write_back(file, bytes_of(chunk)) {
        // A sandbox may forbid the call.
        Err(error) if is_forbidden(&error) => return Ok(()),
        finished => finished?,
    }
    // The kernel may keep what it likes.
    let _ = cache::forget_part(file, bytes_of(chunk));
    Ok(())
}

fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    /// What is left of a file that was written.
    struct Left {
        /// The number of its bytes in the page cache. If memory is short, the kernel drops more
        /// than it was asked to.
        cached: u64,
        /// The number of chunks that leave the page cache when the disk has them.
        leaving: usize,
    }

    /// Writes chunks to a file on a disk.
    fn written(name: &str, chunks: u64, large_beyond: u64) -> Left {
        // Not in the system's temporary directory: that may be a tmpfs.
        let program = std::env::current_exe().expect("it runs");
        let path = program.with_file_name(format!("{name}-{}", std::process::id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path);
        let file = file.expect("a new file");
        std::fs::remove_file(&path).expect("it was made above");
        let mut write_back = WriteBack::growing(&file, true);
        write_back.large_beyond = large_beyond;
        let bytes = vec![7; CHUNK as usize / 2];
        for half in 0..2 * chunks {
            let offset = half * bytes.len() as u64;
            file.write_all_at(&bytes, offset).expect("it can be written");
            write_back.wrote(&file, offset, bytes.len()).expect("the disk works");
        }
        let there = cache::residency(&file, chunks * CHUNK).expect("the kernel tells");
        let leaving = write_back.state.map_or(0, |state| state.lock().under_way.len());
        Left { cached: there.cached * (chunks * CHUNK / there.pages), leaving }
    }

    #[test]
    fn a_large_file_leaves_the_page_cache_while_it_is_written() {
        let chunks = UNDER_WAY as u64 + 8;
        let small = written("write-back-small", chunks, u64::MAX);
        assert!(small.leaving == 0 && small.cached > 0, "{}", small.cached);
        let large = written("write-back-large", chunks, 0);
        let most = UNDER_WAY as u64 * CHUNK;
        assert!(large.cached <= most, "{}", large.cached);
        assert_eq!(large.leaving, UNDER_WAY);
        // A stream is large from some place on.
        let begin = 4 * CHUNK;
        let stream = written("write-back-stream", chunks, begin);
        assert!(stream.cached <= begin + most, "{}", stream.cached);
        assert_eq!(stream.leaving, UNDER_WAY);
    }
}
