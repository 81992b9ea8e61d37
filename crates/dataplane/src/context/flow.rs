//! What a lane has moved and waited for until now, for those who look at it while it works.
//!
//! The lane's thread alone writes it. It takes its times from what is noted of the copy anyway
//! (`recorder`): a copy without a trace has bytes and no waits.

use std::sync::atomic::{AtomicU64, Ordering};

use garland_core::trace::Stage;
use garland_protocol::{LaneView, Waits};
use garland_sys::clock;

/// What a lane's thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// Its upstream.
    Up,
    /// Its downstream.
    Down,
    /// The node's own disk.
    Disk,
    /// Something to do.
    Rest,
}

impl Awaited {
    /// What a stage in which nothing is done waits for.
    pub fn of(stage: Stage) -> Self {
        match stage {
            Stage::WaitUpstream => Self::Up,
            Stage::WaitBuffer => Self::Disk,
            // Leave to send what is there is the downstream's to give.
            Stage::WaitDownstream | Stage::Control => Self::Down,
            _ => Self::Rest,
        }
    }

    /// Its place in tables of all of them.
    fn place(self) -> usize {
        match self {
            Self::Up => 0,
            Self::Down => 1,
            Self::Disk => 2,
            Self::Rest => 3,
        }
    }
}

/// The places of `present`: four to wait at, and work.
const WORK: u64 = 4;

/// What a lane has moved and waited for.
#[derive(Debug, Default)]
pub struct Flow {
    came: AtomicU64,
    went: AtomicU64,
    /// Nanoseconds that were waited, and are settled.
    settled: [AtomicU64; 4],
    /// Nanoseconds that the present block's calls have taken, upstream and downstream: settled when it
    /// has passed, which on a slow wire takes long.
    block: [AtomicU64; 2],
    /// What the thread is at, and since when: nanoseconds times 8, and a place. 0 where nothing is noted.
    present: AtomicU64,
}

impl Flow {
    /// Bytes of blocks have come in.
    pub fn came(&self, bytes: usize) {
        self.came.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Bytes of blocks have gone out.
    pub fn went(&self, bytes: usize) {
        self.went.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// From `now_ns` on the thread waits for this, or is in a call that may have to.
    pub fn awaits(&self, what: Awaited, now_ns: u64) {
        self.present.store(now_ns << 3 | what.place() as u64, Ordering::Relaxed);
    }

    /// From `now_ns` on it works.
    pub fn works(&self, now_ns: u64) {
        self.present.store(now_ns << 3 | WORK, Ordering::Relaxed);
    }

    /// It has waited so long.
    pub fn waited(&self, what: Awaited, ns: u64) {
        self.settled[what.place()].fetch_add(ns, Ordering::Relaxed);
    }

    /// A call of the present block that may have waited for its upstream or downstream took so long.
    pub fn called(&self, what: Awaited, ns: u64) {
        if let Some(side) = self.block.get(what.place()) {
            side.fetch_add(ns, Ordering::Relaxed);
        }
    }

    /// The present block has passed, and this is what of its calls was waiting.
    pub fn passed(&self, up_ns: u64, down_ns: u64) {
        self.waited(Awaited::Up, up_ns);
        self.waited(Awaited::Down, down_ns);
        self.block.iter().for_each(|side| side.store(0, Ordering::Relaxed));
    }

    /// What there is to be seen of it, the present included.
    #[must_use]
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
