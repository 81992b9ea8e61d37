//! A pool of block buffers of bounded number: most of the memory that a copy uses on a node.

use std::alloc::{Layout, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use garland_sys::clock;
use garland_sys::pages::Pages;
use garland_sys::sync::{Condvar, Mutex};

/// A pool of buffers of one size, each for a whole block.
#[derive(Debug)]
pub struct Pool {
    state: Mutex<State>,
    returned: Condvar,
    size: usize,
}

/// The memory of a block. Its address is a multiple of [`ALIGNMENT`].
///
/// It is a mapping of its own, since an allocator may keep what is given back to it: each thread's
/// arena that a copy used would stay as large as the copy, beside the next copy's.
#[derive(Debug)]
pub struct Buffer(Pages);

#[derive(Debug, Default)]
struct State {
    free: Vec<Buffer>,
    /// The number of buffers that may still be allocated.
    unmade: usize,
    closed: bool,
    waited_ns: u64,
    /// For each wait in progress, the time at which it began, in monotonic nanoseconds.
    waiting_since: Vec<u64>,
}

/// The memory limit for all buffers of a copy, in bytes.
const BUDGET: usize = 24 << 20;

/// The interval at which a wait for a buffer checks whether to continue.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// The minimum number of buffers of a pool.
const FEWEST: usize = 3;

/// What the address of a buffer is a multiple of. A direct write needs that, also of its offset and
/// its length: enough for disks with sectors of 512 and of 4096 bytes.
pub const ALIGNMENT: usize = 4096;

/// Returns the number of buffers of `size` bytes for a copy of `blocks` blocks. It is limited by
/// the memory and the number of blocks; it is at least 3 and at most 256.
pub fn count(size: usize, blocks: u64) -> usize {
    let most = (BUDGET / size.max(1)).clamp(FEWEST, 256);
    most.min(usize::try_from(blocks).unwrap_or(most).max(FEWEST))
}

impl Buffer {
    fn new(size: usize) -> Self {
        match Pages::new(size) {
            Ok(pages) => Self(pages),
            // Ends the process, as where a `Vec` finds no memory.
            Err(_) => handle_alloc_error(
                Layout::from_size_align(size, ALIGNMENT).unwrap_or(Layout::new::<Self>()),
            ),
        }
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl Pool {
    /// Returns a pool that allocates at most `count` buffers of `size` bytes, each when it is first
    /// needed.
    pub fn new(size: usize, count: usize) -> Self {
        let state = State { unmade: count, ..State::default() };
        Self { state: Mutex::new(state), returned: Condvar::new(), size }
    }

    /// Takes a buffer; none if all are in use.
    #[must_use]
    pub fn try_take(&self) -> Option<Buffer> {
        self.state.lock().take(self.size)
    }

    /// Takes a buffer; waits until one is free. Gives up and returns none once the pool is closed,
    /// or `over` returns true; `over` is called repeatedly while waiting.
    #[must_use]
    pub fn take_unless(&self, mut over: impl FnMut() -> bool) -> Option<Buffer> {
        let mut state = self.state.lock();
        if let Some(buffer) = state.take(self.size) {
            return Some(buffer);
        }
        let since = state.begin_waiting();
        let buffer = loop {
            if state.closed || over() {
                break None;
            }
            if let Some(buffer) = state.take(self.size) {
                break Some(buffer);
            }
            let _ = self.returned.wait_for(&mut state, STOP_CHECK_INTERVAL);
        };
        state.end_waiting(since);
        buffer
    }

    /// Begins to measure a wait for the writer, and returns the current time. Pass it to
    /// [`Self::end_waiting`] at the end of the wait.
    #[must_use]
    pub fn begin_waiting(&self) -> u64 {
        self.state.lock().begin_waiting()
    }

    /// Ends the wait that began at `since`.
    pub fn end_waiting(&self, since: u64) {
        self.state.lock().end_waiting(since);
    }

    /// Gives a buffer back to the pool.
    pub fn give(&self, buffer: Buffer) {
        self.state.lock().free.push(buffer);
        self.returned.notify_one();
    }

    /// Closes the pool: ends the current waits for a buffer, and all later ones at once.
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.returned.notify_all();
    }

    /// Returns the total time of all waits in nanoseconds, current ones included.
    pub fn waited_ns(&self) -> u64 {
        let now = clock::now_ns();
        let state = self.state.lock();
        let waiting = state.waiting_since.iter().map(|&since| now.saturating_sub(since));
        state.waited_ns + waiting.sum::<u64>()
    }
}

impl State {
    fn begin_waiting(&mut self) -> u64 {
        let since = clock::now_ns();
        self.waiting_since.push(since);
        since
    }

    fn end_waiting(&mut self, since: u64) {
        if let Some(at) = self.waiting_since.iter().position(|&other| other == since) {
            self.waiting_since.swap_remove(at);
        }
        self.waited_ns += clock::now_ns().saturating_sub(since);
    }

    fn take(&mut self, size: usize) -> Option<Buffer> {
        self.free.pop().or_else(|| {
            self.unmade = self.unmade.checked_sub(1)?;
            Some(Buffer::new(size))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_copy_needs_few_buffers_and_none_more_than_the_budget() {
        assert_eq!(count(1 << 20, 1000), 24);
        assert_eq!(count(1 << 20, 5), 5);
        assert_eq!((count(1 << 20, 0), count(64 << 20, 1000)), (3, 3));
    }

    #[test]
    fn buffers_are_bounded_and_come_back() {
        let pool = Pool::new(8 << 20, count(8 << 20, 1000));
        let held: Vec<_> = std::iter::from_fn(|| pool.try_take()).collect();
        assert_eq!(held.len(), 3);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| pool.take_unless(|| false).is_some());
            pool.give(Buffer::new(8 << 20));
            assert!(waiting.join().unwrap());
            pool.close();
            assert!(pool.take_unless(|| false).is_none());
        });
    }

    #[test]
    fn a_wait_for_a_buffer_can_be_cancelled() {
        let pool = Pool::new(4096, 1);
        let held = pool.try_take();
        let mut polls = 0;
        let is_cancelled = || {
            polls += 1;
            polls == 3
        };
        assert!(held.is_some() && pool.take_unless(is_cancelled).is_none());
        assert!(pool.waited_ns() > 0);
    }
}
