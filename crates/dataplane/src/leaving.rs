//! Ending without waiting for what hangs in the kernel: such a thread is left behind, and goes with its
//! process, or when its disk answers.

use std::thread::JoinHandle;
use std::time::Duration;

use garland_sys::clock;

use crate::context::CopyContext;

/// What ends takes no longer than this, unless it is a disk that gets on.
const CAP: Duration = Duration::from_secs(10);

/// The longest sleep between two looks.
const NAP: Duration = Duration::from_millis(2);

/// Waits until `thread` has ended, of a copy's part that is over; not if it hangs on its disk. What it
/// gave.
pub fn join<T>(member: &CopyContext, thread: JoinHandle<T>) -> Option<T> {
    let began = clock::now_ns();
    let hangs = || match member.pending() {
        Some(_) => member.hangs(),
        None => clock::now_ns().saturating_sub(began) >= nanoseconds(CAP),
    };
    until(&thread, hangs).then(|| thread.join().ok())?
}

/// Waits for all of `threads`, but no longer than until `deadline_ns`, and for none that hangs on its
/// disk; whether all have ended.
pub fn join_all(
    member: &CopyContext,
    threads: impl Iterator<Item = JoinHandle<()>>,
    deadline_ns: u64,
) -> bool {
    let late = || clock::now_ns() >= deadline_ns || member.hangs();
    let mut all = true;
    for thread in threads {
        let ended = until(&thread, late);
        all &= ended;
        if ended {
            // Its panic has been printed; there is nothing more to say about it here.
            let _ = thread.join();
        }
    }
    all
}

/// So many nanoseconds from now.
pub fn after(time: Duration) -> u64 {
    clock::now_ns().saturating_add(nanoseconds(time))
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Waits until a thread has ended, or it is `over`; whether it has ended. Most end at once: the first
/// looks are close to each other.
fn until<T>(thread: &JoinHandle<T>, mut over: impl FnMut() -> bool) -> bool {
    let mut nap = Duration::from_micros(20);
    while !thread.is_finished() {
        std::thread::sleep(nap);
        nap = (nap * 2).min(NAP);
        // A look takes a lock or two: not for every thread that ends within a millisecond.
        if nap == NAP && over() {
            return thread.is_finished();
        }
    }
    true
}
