//! How many agents are ready, while they are started.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use garland_sys::{clock, threads};

use super::screen::Screen;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// Shows how many of `total` agents `work` has started so far, as it counts them.
pub fn watch<R>(quiet: bool, total: usize, work: impl FnOnce(&AtomicUsize) -> R) -> R {
    let ready = &AtomicUsize::new(0);
    let mut screen = Screen::new(quiet);
    if screen.is_hidden() {
        return work(ready);
    }
    let (end, ended) = channel::<()>();
    std::thread::scope(|scope| {
        // Dropped here, also when `work` panics: the other thread ends by it.
        let _end = end;
        // Without it the agents are started all the same.
        let _ = threads::spawn_in(scope, "starting", move || {
            while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                let ready = ready.load(Ordering::Relaxed);
                let line = format!("starting agents: {ready} of {total} nodes");
                screen.draw(clock::now_ns(), &[line]);
            }
        });
        work(ready)
    })
}
