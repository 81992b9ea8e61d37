//! Keeps operations in flight until the time is over or all blocks were visited: with io_uring,
//! with threads where io_uring is not available, or one at a time with plain calls.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use garland_core::histogram::Histogram;
use garland_protocol::measure::{DiskDirection, DiskJob, DiskMode};
use garland_sys::pages::Pages;
use garland_sys::uring::{Direction, Ring};
use garland_sys::{clock, random, threads};

use super::walk::Walk;

/// The parameters of a measurement.
pub struct Drive<'a> {
    /// The test file.
    pub file: &'a File,
    /// The direction, pattern, mode and size of operations, and the number in flight.
    pub job: DiskJob,
    /// The order of offsets.
    pub walk: Walk,
    /// No operation begins after this many nanoseconds, except the first.
    pub time_ns: u64,
    /// Set by the owner of the test when the result is no longer wanted.
    pub stop: &'a AtomicBool,
}

/// The result of a measurement.
#[derive(Debug, Default)]
pub struct Moved {
    /// The duration of each operation in nanoseconds.
    pub times: Histogram,
    /// The time from the first submission to the last completion, in nanoseconds.
    pub elapsed_ns: u64,
}

impl Drive<'_> {
    /// Measures with io_uring.
    pub fn by_ring(&self) -> io::Result<Moved> {
        let (depth, block) = self.shape();
        let mut ring = Ring::new(self.file, depth, block)?;
        for slot in 0..depth {
            ring.buffer(slot).into_iter().for_each(fill);
        }
        let direction = match self.job.direction {
            DiskDirection::Read => Direction::Read,
            DiskDirection::Write => Direction::Write,
        };
        let mut moved = Moved::default();
        let mut free: Vec<usize> = (0..depth).rev().collect();
        let mut begun = vec![0; depth];
        let mut next = 0;
        let begin = clock::now_ns();
        loop {
            while let Some(&slot) = free.last() {
                let now = clock::now_ns();
                let Some(offset) = self.next(next, now - begin) else { break };
                free.pop();
                if direction == Direction::Write {
                    ring.buffer(slot).into_iter().for_each(|buffer| stamp(buffer, next));
                }
                begun[slot] = now;
                ring.push(slot, direction, offset)?;
                next += 1;
            }
            if free.len() == depth {
                moved.elapsed_ns = clock::now_ns() - begin;
                return Ok(moved);
            }
            ring.wait()?;
            let now = clock::now_ns();
            while let Some(completion) = ring.completion() {
                self.whole(completion.result?)?;
                moved.times.record(now - begun[completion.slot]);
                free.push(completion.slot);
            }
        }
    }

    /// Measures with one thread per operation in flight.
    pub fn by_threads(&self) -> io::Result<Moved> {
        let next = AtomicU64::new(0);
        let begin = clock::now_ns();
        let results: Vec<io::Result<Histogram>> = std::thread::scope(|scope| {
            let start = || {
                threads::spawn_small_in(scope, "disk", 128 << 10, || self.one_by_one(&next, begin))
            };
            let threads: Vec<_> = (0..self.job.depth).map(|_| start()).collect();
            let join = |thread: io::Result<std::thread::ScopedJoinHandle<'_, _>>| {
                thread?.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
            };
            threads.into_iter().map(join).collect()
        });
        let mut moved = Moved { elapsed_ns: clock::now_ns() - begin, ..Moved::default() };
        for result in results {
            moved.times.merge(&result?);
        }
        Ok(moved)
    }

    /// Measures with one call at a time.
    pub fn by_calls(&self) -> io::Result<Moved> {
        let begin = clock::now_ns();
        let times = self.one_by_one(&AtomicU64::new(0), begin)?;
        Ok(Moved { times, elapsed_ns: clock::now_ns() - begin })
    }

    fn one_by_one(&self, next: &AtomicU64, begin: u64) -> io::Result<Histogram> {
        let (_, block) = self.shape();
        let mut buffer = Pages::new(block)?;
        fill(&mut buffer);
        let mut times = Histogram::default();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let now = clock::now_ns();
            let Some(offset) = self.next(at, now - begin) else { return Ok(times) };
            match self.job.direction {
                DiskDirection::Read => self.file.read_exact_at(&mut buffer, offset)?,
                DiskDirection::Write => {
                    stamp(&mut buffer, at);
                    self.file.write_all_at(&buffer, offset)?;
                }
            }
            if self.job.mode == DiskMode::Stable {
                self.file.sync_data()?;
            }
            times.record(clock::now_ns() - now);
        }
    }

    /// Returns the offset of operation `at` in bytes; `None` when the time is over, the test is
    /// stopped, or all blocks were visited. Operation 0 begins in any case.
    fn next(&self, at: u64, elapsed_ns: u64) -> Option<u64> {
        let over = elapsed_ns >= self.time_ns || self.stop.load(Ordering::Relaxed);
        if over && at > 0 { None } else { self.walk.offset(at) }
    }

    fn shape(&self) -> (usize, usize) {
        (usize::from(self.job.depth.max(1)), self.job.block as usize)
    }

    fn whole(&self, moved: usize) -> io::Result<()> {
        let wanted = self.job.block as usize;
        match self.job.direction {
            _ if moved == wanted => Ok(()),
            // A short write means that the disk is full.
            DiskDirection::Write => Err(io::ErrorKind::StorageFull.into()),
            DiskDirection::Read => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Fills the buffer with random bytes, so that a disk that compresses does not look faster.
fn fill(buffer: &mut [u8]) {
    buffer.chunks_mut(256).for_each(|chunk| {
        let noise = random::bytes::<256>();
        let length = chunk.len();
        chunk.copy_from_slice(&noise[..length]);
    });
}

/// Makes each page of the buffer unique, so that a disk that deduplicates does not look faster.
fn stamp(buffer: &mut [u8], at: u64) {
    for (page, chunk) in buffer.chunks_mut(4096).enumerate() {
        let number = (at << 16 | page as u64).to_le_bytes();
        let length = chunk.len().min(number.len());
        chunk[..length].copy_from_slice(&number[..length]);
    }
}

#[cfg(test)]
mod tests {
    use garland_protocol::measure::DiskPattern;

    use super::*;

    const BLOCK: u32 = 4096;

    fn job(direction: DiskDirection, depth: u16) -> DiskJob {
        let pattern = DiskPattern::Random;
        let mode = DiskMode::Buffered;
        DiskJob { direction, pattern, mode, depth, block: BLOCK }
    }

    fn start_drive<'a>(
        file: &'a File,
        job: DiskJob,
        blocks: u64,
        stop: &'a AtomicBool,
    ) -> Drive<'a> {
        let walk = Walk::new(job.pattern, job.block, blocks * u64::from(BLOCK), 1);
        Drive { file, job, walk, time_ns: 60_000_000_000, stop }
    }

    #[test]
    fn every_method_transfers_every_block_once() {
        let path = std::env::temp_dir().join(format!("garland-drive-{}", std::process::id()));
        let file =
            File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let stop = AtomicBool::new(false);
        type Method = fn(&Drive<'_>) -> io::Result<Moved>;
        let methods: [Method; 3] = [|d| d.by_ring(), |d| d.by_threads(), |d| d.by_calls()];
        for method in methods {
            file.set_len(0).unwrap();
            for direction in [DiskDirection::Write, DiskDirection::Read] {
                let moved = method(&start_drive(&file, job(direction, 4), 1000, &stop)).unwrap();
                assert_eq!(moved.times.count(), 1000);
                assert!(moved.times.max() <= moved.elapsed_ns);
            }
            // No page was left out, and none was written twice.
            let mut bytes = vec![0; 1000 * BLOCK as usize];
            file.read_exact_at(&mut bytes, 0).unwrap();
            let mut pages: Vec<&[u8]> = bytes.chunks(BLOCK as usize).collect();
            pages.sort_unstable();
            pages.dedup();
            assert_eq!(pages.len(), 1000);
        }
    }

    #[test]
    fn a_full_disk_is_reported_as_full() {
        let full = File::options().read(true).write(true).open("/dev/full").unwrap();
        let stop = AtomicBool::new(false);
        let drive = start_drive(&full, job(DiskDirection::Write, 2), 10, &stop);
        for error in [drive.by_ring(), drive.by_threads(), drive.by_calls()] {
            assert_eq!(error.unwrap_err().kind(), io::ErrorKind::StorageFull);
        }
    }

    #[test]
    fn a_stopped_measurement_ends_after_the_first_operation() {
        let zero = File::open("/dev/zero").unwrap();
        let stop = AtomicBool::new(true);
        let drive = start_drive(&zero, job(DiskDirection::Read, 2), 1 << 40, &stop);
        assert_eq!(drive.by_ring().unwrap().times.count(), 1);
        assert_eq!(drive.by_calls().unwrap().times.count(), 1);
    }
}
