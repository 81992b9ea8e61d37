//! Detects that the whole process was suspended: a thread that wakes up at intervals woke up late,
//! and not because it had to wait for a CPU.

use std::time::Duration;

use garland_core::trace::Stage;
use garland_sys::clock;
use garland_sys::schedule::Account;

use super::at::At;
use super::collector::Collector;

/// A delay of at most this time, in nanoseconds, is normal for any thread.
const LATE_NS: u64 = 100_000_000;

/// Measures the delays of a thread's heartbeats.
#[derive(Debug)]
pub struct Pulse {
    /// When the next heartbeat is due, in monotonic nanoseconds.
    due_ns: u64,
    account: Account,
    waited_ns: u64,
}

/// A time during which the process was suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standstill {
    begin_ns: u64,
    end_ns: u64,
}

impl Pulse {
    /// Begins to measure the calling thread, which sends its first heartbeat after `every`.
    pub fn begin(every: Duration) -> Self {
        let account = Account::of_this_thread();
        let waited_ns = account.times().map_or(0, |times| times.waiting_ns);
        Self { due_ns: clock::after(every), account, waited_ns }
    }

    /// Records that the thread begins to sleep until its next heartbeat, which is due after
    /// `every`.
    pub fn rest(&mut self, every: Duration) {
        self.due_ns = clock::after(every);
    }

    /// Records a heartbeat. Returns the time during which the process has been suspended since the
    /// last heartbeat; none if it was not.
    pub fn beat(&mut self) -> Option<Standstill> {
        let now = clock::now_ns();
        let waited = self.account.times().map_or(0, |times| times.waiting_ns);
        let lacked_ns = waited.saturating_sub(std::mem::replace(&mut self.waited_ns, waited));
        let begin_ns = self.due_ns.saturating_add(lacked_ns);
        let late_ns = now.saturating_sub(begin_ns);
        (late_ns > LATE_NS).then_some(Standstill { begin_ns, end_ns: now })
    }
}

impl Standstill {
    /// Records this suspension of the process in `trace`.
    pub fn note(&self, trace: &Collector) {
        trace.note(At::HERE.span(Stage::Pause, self.begin_ns, self.end_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_beat_is_a_standstill_and_one_in_time_is_none() {
        let mut pulse = Pulse::begin(Duration::from_secs(1));
        assert_eq!(pulse.beat(), None);
        let mut pulse = Pulse::begin(Duration::from_millis(1));
        std::thread::sleep(Duration::from_millis(300));
        let stood = pulse.beat().expect("300 ms instead of 1");
        assert!(stood.end_ns - stood.begin_ns > LATE_NS, "{stood:?}");
    }
}
