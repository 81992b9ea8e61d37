//! Joins threads, except those that hang in the kernel: these keep running until their disk
//! responds or the process exits.

use std::time::Duration;

use garland_sys::clock;
use garland_sys::threads::JoinHandle;

use crate::context::CopyContext;

/// The time after which a thread counts as hanging although no call on the disk is pending.
const QUIET_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest pause between two checks.
const CHECK_PAUSE_MAX: Duration = Duration::from_millis(2);

/// Joins a thread of a copy that is over, and returns its result. Returns none if the thread
/// panicked, or if it hangs on the node's disk.
pub fn join<T>(copy: &CopyContext, thread: JoinHandle<T>) -> Option<T> {
    let cap_ns = clock::after(QUIET_TIMEOUT);
    let hangs = || match copy.pending() {
        Some(_) => copy.hangs(),
        None => clock::now_ns() >= cap_ns,
    };
    until(&thread, hangs).then(|| thread.join().ok())?
}

/// Joins all of `threads`, except those that have not ended at `deadline_ns`, in monotonic
/// nanoseconds, or that hang on the node's disk. Returns whether all have ended.
pub fn join_all(
    copy: &CopyContext,
    threads: impl Iterator<Item = JoinHandle<()>>,
    deadline_ns: u64,
) -> bool {
    let late = || clock::now_ns() >= deadline_ns || copy.hangs();
    let mut all = true;
    for thread in threads {
        let ended = until(&thread, late);
        all &= ended;
        if ended {
            // A panic has been printed already.
            let _ = thread.join();
        }
    }
    all
}

/// Waits until a thread has ended, or `over` returns true. Returns whether the thread has ended.
/// `over` is not called during the first milliseconds, since most threads end at once.
fn until<T>(thread: &JoinHandle<T>, mut over: impl FnMut() -> bool) -> bool {
    let mut nap = Duration::from_micros(20);
    while !thread.is_finished() {
        garland_sys::threads::sleep(nap);
        nap = (nap * 2).min(CHECK_PAUSE_MAX);
        // `over` takes locks: do not call it during the first millisecond.
        if nap == CHECK_PAUSE_MAX && over() {
            return thread.is_finished();
        }
    }
    true
}
