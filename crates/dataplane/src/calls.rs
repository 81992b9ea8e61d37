//! Detects disk calls that make no progress. A call that hangs in the kernel cannot be ended, but
//! another thread can report it.

use std::sync::{Arc, OnceLock};

use garland_protocol::copy::{DiskCall, PendingCall};
use garland_sys::block_device::BlockDevice;
use garland_sys::clock;
use garland_sys::sync::Mutex;
use garland_sys::thread_io::Thread;

/// Calls that make no progress for this time, in nanoseconds, are reported.
const NOTED_NS: u64 = 1_000_000_000;

/// If more than this time in nanoseconds passes between two polls, the process was suspended, and
/// the time between them does not count as time without progress.
const PAUSE_NS: u64 = 1_000_000_000;

/// The rate in bytes per second of a very slow disk: a call may take the time that its bytes need
/// at this rate.
const SLOWEST_DISK_RATE: u64 = 5_000_000;

/// The maximum length of a reported path in characters.
const PATH_MAX: usize = 300;

/// The disk calls in progress of one store or source.
#[derive(Debug, Default)]
pub struct Calls {
    state: Mutex<State>,
    /// The disk that all calls go to, set by [`Self::go_to`]; none if there is no single disk or
    /// its counters cannot be read.
    disk: OnceLock<Option<BlockDevice>>,
}

#[derive(Debug, Default)]
struct State {
    calls: Vec<OpenCall>,
    next: u64,
    /// The time of the last poll, in monotonic nanoseconds.
    polled_ns: u64,
}

#[derive(Debug)]
struct OpenCall {
    number: u64,
    operation: DiskCall,
    path: Arc<str>,
    allowance_ns: u64,
    thread: Thread,
    /// The time of the call's last known progress, in monotonic nanoseconds.
    moved_ns: u64,
    seen: Option<CallState>,
}

/// The state of a call at a poll. A call whose state differs from that at the previous poll has
/// made progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CallState {
    /// A counter of the I/O of the thread that makes the call, if known.
    thread: Option<u64>,
    /// The numbers of reads, writes and flushes that the disk has completed, if known.
    disk: Option<(u64, u64, u64)>,
    /// The number of steps that the store has completed.
    steps: u64,
}

impl Calls {
    /// Sets the disk that the calls go to, by its device number, if that is known. Only the first
    /// call has an effect.
    pub fn go_to(&self, device: Option<u64>) {
        self.disk.get_or_init(|| device.and_then(BlockDevice::open));
    }

    /// Runs and watches `call`, which transfers `bytes` bytes of the file `path`.
    pub fn during<T>(
        &self,
        operation: DiskCall,
        path: &Arc<str>,
        bytes: u64,
        call: impl FnOnce() -> T,
    ) -> T {
        let number = {
            let mut state = self.state.lock();
            let number = state.next;
            state.next += 1;
            let allowance = u128::from(bytes) * 1_000_000_000 / u128::from(SLOWEST_DISK_RATE);
            state.calls.push(OpenCall {
                number,
                operation,
                path: Arc::clone(path),
                allowance_ns: u64::try_from(allowance).unwrap_or(u64::MAX),
                thread: Thread::this(),
                moved_ns: clock::now_ns(),
                seen: None,
            });
            number
        };
        let result = call();
        self.state.lock().calls.retain(|call| call.number != number);
        result
    }

    /// Returns the call that has made no progress for a second or more; of several such calls, the
    /// one with the greatest [`PendingCall::weight`]. `steps` is the number of steps that the store
    /// has completed. Must be called several times per second.
    pub fn pending(&self, steps: u64) -> Option<PendingCall> {
        self.pending_at(clock::now_ns(), steps)
    }

    fn pending_at(&self, now: u64, steps: u64) -> Option<PendingCall> {
        let mut state = self.state.lock();
        let pause = now.saturating_sub(std::mem::replace(&mut state.polled_ns, now));
        for call in &mut state.calls {
            if pause > PAUSE_NS {
                call.moved_ns = now.min(call.moved_ns.saturating_add(pause));
            }
            if now.saturating_sub(call.moved_ns) < NOTED_NS {
                continue;
            }
            let disk = self.disk.get().and_then(|disk| disk.as_ref()?.counters());
            let disk = disk.map(|disk| (disk.reads, disk.writes, disk.flushes));
            let seen = CallState { thread: call.thread.moved(), disk, steps };
            if call.seen.replace(seen).is_some_and(|before| before != seen) {
                call.moved_ns = now;
            }
        }
        let noted = state.calls.iter().filter(|call| now.saturating_sub(call.moved_ns) >= NOTED_NS);
        noted.map(|call| call.pending(now)).max_by_key(PendingCall::weight)
    }
}

impl OpenCall {
    fn pending(&self, now: u64) -> PendingCall {
        PendingCall {
            operation: self.operation,
            path: self.path.chars().take(PATH_MAX).collect(),
            silent_ns: now.saturating_sub(self.moved_ns),
            allowance_ns: self.allowance_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Returns the report `seconds` after the beginning of a call of `bytes` bytes that does not
    /// return, with ten polls per second. `steps` maps a tenth of a second to the steps of the
    /// store.
    fn seen(bytes: u64, seconds: u64, steps: impl Fn(u64) -> u64) -> Option<PendingCall> {
        let calls = Calls::default();
        let (release, hang) = channel::<()>();
        let (tell, began) = channel();
        std::thread::scope(|scope| {
            let calls = &calls;
            scope.spawn(move || {
                calls.during(DiskCall::Write, &"/d/y".into(), bytes, || {
                    tell.send(()).expect("the test waits");
                    hang.recv()
                })
            });
            began.recv().expect("the call begins");
            let start = clock::now_ns();
            let mut last = None;
            for tenth in 0..=seconds * 10 {
                last = calls.pending_at(start + tenth * SECOND / 10, steps(tenth));
            }
            drop(release);
            last
        })
    }

    #[test]
    fn a_call_that_does_not_return_is_named_and_one_that_returned_is_not() {
        let call = seen(0, 7, |_| 0).expect("it hangs");
        assert_eq!((call.operation, &*call.path), (DiskCall::Write, "/d/y"));
        assert!((6 * SECOND..=7 * SECOND).contains(&call.overdue_ns()), "{call:?}");
        let calls = Calls::default();
        calls.during(DiskCall::Write, &"/d/y".into(), 0, || ());
        assert_eq!(calls.pending_at(clock::now_ns() + 7 * SECOND, 0), None);
    }

    #[test]
    fn a_call_may_take_longer_for_its_bytes() {
        let call = seen(100_000_000, 22, |_| 0).expect("it hangs");
        assert_eq!(call.allowance_ns, 20 * SECOND);
        assert!((SECOND..=2 * SECOND).contains(&call.overdue_ns()), "{call:?}");
    }

    #[test]
    fn a_call_with_progress_is_not_stuck_however_long_it_takes() {
        // A step every four seconds.
        let call = seen(0, 100, |tenth| tenth / 40);
        assert!(call.is_none_or(|call| call.silent_ns <= 4 * SECOND));
    }

    #[test]
    fn a_pause_between_polls_is_not_a_stuck_call() {
        let calls = Calls::default();
        let start = clock::now_ns();
        calls.during(DiskCall::Write, &"/d/y".into(), 0, || {
            assert_eq!(calls.pending_at(start, 0), None);
            // The process was suspended for an hour.
            assert_eq!(calls.pending_at(start + 3600 * SECOND, 0), None);
        });
    }
}
