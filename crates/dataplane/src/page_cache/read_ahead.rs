//! Reads a file ahead of the copy.

use std::collections::VecDeque;
use std::fs::File;
use std::ops::RangeInclusive;

use garland_sys::sync::Mutex;
use garland_sys::{cache, storage};

use super::chunks::{CHUNK, Chunks, bytes_of};
use super::is_large;

/// The number of chunks that are read ahead of the last complete one.
const AHEAD: u64 = 2;

/// The number of chunks of a large file that stay in the page cache behind the copy, for lanes that
/// read them later.
const BEHIND: usize = 32;

/// The read-ahead of a file that is being read, by any number of threads: chunks that follow one
/// which was read wholly are read into the page cache meanwhile. The kernel's own read-ahead of 128
/// KiB leaves most disks idle for half of the time. A large file leaves the page cache again,
/// unless it was there before.
#[derive(Debug)]
pub struct ReadAhead {
    /// None if the file is small, or in memory.
    state: Option<Box<Mutex<State>>>,
    leaves: bool,
}

#[derive(Debug, Default)]
struct State {
    chunks: Chunks,
    /// The last chunk that was requested.
    last: u64,
    /// The chunks of a large file that were read and may still be in the page cache, the oldest
    /// first.
    behind: VecDeque<u64>,
}

impl ReadAhead {
    /// Returns the read-ahead of `file`, which has `length` bytes.
    pub fn for_file(file: &File, length: u64) -> Self {
        let slow = length > CHUNK && !storage::is_in_memory(file).unwrap_or(true);
        let leaves = slow
            && is_large(length)
            && cache::residency(file, length).is_ok_and(|there| there.cached < there.pages / 2);
        Self { state: slow.then(Box::default), leaves }
    }

    /// Notes that `length` bytes were read at `offset`.
    pub fn read(&self, file: &File, offset: u64, length: usize) {
        let Some(state) = &self.state else { return };
        let steps = self.count(&mut state.lock(), offset, length);
        // These calls may wait for a busy disk, outside of the lock.
        for (ahead, behind) in steps {
            // Without them the file is read all the same.
            for chunk in ahead {
                let _ = cache::read_ahead(file, bytes_of(chunk));
            }
            if let Some(chunk) = behind {
                let _ = cache::forget_part(file, bytes_of(chunk));
            }
        }
    }

    /// Counts what was read. Returns the chunks to read ahead, and one to drop, for each chunk that
    /// is complete.
    fn count(
        &self,
        state: &mut State,
        offset: u64,
        length: usize,
    ) -> Vec<(RangeInclusive<u64>, Option<u64>)> {
        let mut steps = Vec::new();
        for chunk in state.chunks.count(offset, length) {
            let end = chunk.saturating_add(AHEAD);
            // Threads may complete chunks in another order.
            let near = state.last > chunk && state.last <= end.saturating_add(AHEAD);
            let begin = if near { state.last } else { chunk } + 1;
            state.last = end.max(begin - 1);
            let mut behind = None;
            if self.leaves {
                state.behind.push_back(chunk);
                behind = if state.behind.len() > BEHIND { state.behind.pop_front() } else { None };
            }
            steps.push((begin..=end, behind));
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the chunks that are read ahead and dropped when chunk `index` has been read.
    fn steps(ahead: &ReadAhead, index: u64) -> (Vec<u64>, Option<u64>) {
        let mut state = ahead.state.as_ref().expect("it reads ahead").lock();
        let steps = ahead.count(&mut state, index * CHUNK, CHUNK as usize);
        let [(range, behind)] = &steps[..] else { panic!("{steps:?}") };
        (range.clone().collect(), *behind)
    }

    #[test]
    fn each_chunk_is_requested_once_if_the_file_is_read_in_order() {
        let ahead = ReadAhead { state: Some(Box::default()), leaves: false };
        let read = |index| steps(&ahead, index).0;
        assert_eq!(read(0), [1, 2]);
        assert_eq!(read(1), [3]);
        // Two threads, of which one is faster.
        assert_eq!(read(3), [4, 5]);
        assert_eq!(read(2), [0; 0]);
        assert_eq!(read(4), [6]);
        assert_eq!(read(100), [101, 102], "it goes on elsewhere");
        assert_eq!(read(5), [6, 7]);
    }

    #[test]
    fn a_large_file_leaves_the_page_cache_behind_the_copy() {
        let ahead = ReadAhead { state: Some(Box::default()), leaves: true };
        let dropped: Vec<_> = (0..100).filter_map(|index| steps(&ahead, index).1).collect();
        assert_eq!(dropped, (0..100 - BEHIND as u64).collect::<Vec<_>>());
    }
}
