//! Shows how many agents are ready while they are started.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use garland_sys::channel::{RecvTimeoutError, channel};
use garland_sys::{clock, threads};

use super::screen::Screen;

/// Interval between updates.
const INTERVAL: Duration = Duration::from_millis(100);

/// Runs `work`, which counts the agents that are ready, and shows the count out of `total` until
/// `work` returns.
pub fn watch<R>(quiet: bool, total: usize, work: impl FnOnce(&AtomicUsize) -> R) -> R {
    let ready = &AtomicUsize::new(0);
    let mut screen = Screen::new(quiet);
    if screen.is_hidden() {
        return work(ready);
    }
    let (end, ended) = channel::<()>();
    std::thread::scope(|scope| {
        // Dropped at the end of `work`, also by a panic, which ends the other thread.
        let _end = end;
        // Without this thread the agents start anyway.
        let _ = threads::spawn_in(scope, "starting", move || {
            while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let ready = ready.load(Ordering::Relaxed);
                let line = format!("starting agents: {ready} of {total} nodes");
                screen.draw(clock::now_ns(), &[line]);
            }
        });
        work(ready)
    })
}
