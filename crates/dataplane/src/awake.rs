//! Measures how long the busiest thread of an agent's copies was awake: running, or waiting for a
//! CPU. If every thread sleeps at times, something other than CPU time limits the copy.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use garland_sys::schedule::Account;

/// The longest time in nanoseconds that any watched thread was awake. A thread counts when its
/// [`Watch`] is dropped.
#[derive(Debug, Default)]
pub struct Awake(AtomicU64);

/// Measures how long the thread that created this value is awake, until the value is dropped.
#[derive(Debug)]
pub struct Watch {
    awake: Arc<Awake>,
    account: Account,
    before_ns: u64,
}

impl Awake {
    /// Measures the calling thread until the returned value is dropped.
    #[must_use]
    pub fn watch(self: &Arc<Self>) -> Watch {
        let account = Account::of_this_thread();
        Watch { awake: Arc::clone(self), before_ns: account.awake_ns(), account }
    }

    /// Returns the longest time in nanoseconds that a thread was awake, among those whose [`Watch`]
    /// was dropped since the last call; 0 if there are none.
    pub fn take(&self) -> u64 {
        self.0.swap(0, Ordering::AcqRel)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let ns = self.account.awake_ns().saturating_sub(self.before_ns);
        self.awake.0.fetch_max(ns, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use garland_sys::clock;

    use super::*;

    #[test]
    fn the_busiest_thread_counts_and_only_once() {
        let awake = Arc::new(Awake::default());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _watch = awake.watch();
                let start = clock::now_ns();
                while clock::now_ns() < start + 100_000_000 {
                    std::hint::spin_loop();
                }
            });
            scope.spawn(|| {
                let _watch = awake.watch();
                std::thread::sleep(Duration::from_millis(100));
            });
        });
        let most = awake.take();
        assert!(most > 50_000_000, "{most} ns");
        assert_eq!(awake.take(), 0);
    }
}
