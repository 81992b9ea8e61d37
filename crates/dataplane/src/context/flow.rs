//! Counts the bytes that a lane transfers, and measures its waits. Other threads can read the
//! values during the copy.
//!
//! Only the lane's thread writes these values. The times come from the trace (`recorder`): in a
//! copy without a trace only bytes are counted.

use std::sync::atomic::{AtomicU64, Ordering};

use garland_core::trace::Stage;
use garland_protocol::measure::{LaneView, Waits};
use garland_sys::clock;

/// What a lane's thread waits for; the discriminants are indexes into the arrays of [`Flow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// Bytes from the upstream.
    Up,
    /// The downstream: it has to accept bytes, or to permit sending.
    Down,
    /// The node's own disk: the reader has to provide a block, or the writer to free a buffer.
    Disk,
    /// Nothing: the lane has no work.
    Rest,
}

impl Awaited {
    /// Returns what the lane waits for in `stage`.
    pub fn from_stage(stage: Stage) -> Self {
        match stage {
            Stage::WaitUpstream => Self::Up,
            Stage::WaitBuffer => Self::Disk,
            // The permission to send comes from the downstream.
            Stage::WaitDownstream | Stage::Control => Self::Down,
            _ => Self::Rest,
        }
    }
}

/// The code in `Flow::present` of a thread at work. The codes 0 to 3 are those of [`Awaited`].
const WORK: u64 = 4;

/// The number of bytes that a lane has transferred, and the times of its waits.
#[derive(Debug, Default)]
pub struct Flow {
    came: AtomicU64,
    went: AtomicU64,
    /// For each kind of wait, the time of the completed waits in nanoseconds.
    settled: [AtomicU64; 4],
    /// The time in nanoseconds of the calls for the current block: those to the upstream, then
    /// those to the downstream. All of it counts as waiting until the block has passed; then the
    /// waits are known.
    block: [AtomicU64; 2],
    /// The current activity: the time at which it began, in nanoseconds, times 8, plus the code of
    /// the activity. 0 if nothing is recorded.
    present: AtomicU64,
}

impl Flow {
    /// Adds `bytes` to the number of bytes received.
    pub fn came(&self, bytes: usize) {
        self.came.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Adds `bytes` to the number of bytes sent.
    pub fn went(&self, bytes: usize) {
        self.went.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Records that the thread waits for `what`, or is in a call that may block, since `now_ns`.
    pub fn awaits(&self, what: Awaited, now_ns: u64) {
        self.present.store(now_ns << 3 | what as u64, Ordering::Relaxed);
    }

    /// Records that the thread works since `now_ns`.
    pub fn works(&self, now_ns: u64) {
        self.present.store(now_ns << 3 | WORK, Ordering::Relaxed);
    }

    /// Adds a completed wait of `ns` nanoseconds for `what`.
    pub fn waited(&self, what: Awaited, ns: u64) {
        self.settled[what as usize].fetch_add(ns, Ordering::Relaxed);
    }

    /// Adds a call of `ns` nanoseconds for the current block, part of which may have been a wait
    /// for `what`.
    pub fn called(&self, what: Awaited, ns: u64) {
        if let Some(side) = self.block.get(what as usize) {
            side.fetch_add(ns, Ordering::Relaxed);
        }
    }

    /// Records that the current block has passed, and that its calls waited for the upstream and
    /// for the downstream for these times in nanoseconds.
    pub fn passed(&self, up_ns: u64, down_ns: u64) {
        self.waited(Awaited::Up, up_ns);
        self.waited(Awaited::Down, down_ns);
        self.block.iter().for_each(|side| side.store(0, Ordering::Relaxed));
    }

    /// Returns a snapshot of the lane with the number `lane`, the current wait included.
    pub fn view(&self, lane: u16) -> LaneView {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let present = read(&self.present);
        let mut waited = [0, 1, 2, 3].map(|at| {
            let settled = self.settled.get(at).map_or(0, read);
            settled + self.block.get(at).map_or(0, read)
        });
        let since = clock::now_ns().saturating_sub(present >> 3);
        let at = usize::try_from(present & 7).unwrap_or(waited.len());
        waited.get_mut(at).into_iter().for_each(|waited| *waited += since);
        let [up, down, disk, rest] = waited;
        let waits = (present > 0).then_some(Waits { up, down, disk, rest });
        LaneView { lane, came: read(&self.came), went: read(&self.went), waits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_waited_for_now_counts_and_a_block_that_has_passed_counts_once() {
        let flow = Flow::default();
        flow.came(5);
        assert_eq!(flow.view(3), LaneView { lane: 3, came: 5, went: 0, waits: None });
        let now = clock::now_ns();
        flow.awaits(Awaited::Disk, now - 7_000_000_000);
        let waits = flow.view(0).waits.unwrap();
        assert!(waits.disk >= 7_000_000_000 && (waits.up, waits.down, waits.rest) == (0, 0, 0));
        flow.waited(Awaited::Disk, 7);
        flow.called(Awaited::Up, 1000);
        flow.called(Awaited::Down, 300);
        flow.works(now);
        let waits = flow.view(0).waits.unwrap();
        assert_eq!(waits, Waits { up: 1000, down: 300, disk: 7, rest: 0 });
        flow.passed(900, 0);
        assert_eq!(flow.view(0).waits, Some(Waits { up: 900, down: 0, disk: 7, rest: 0 }));
    }
}
