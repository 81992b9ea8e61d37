//! Waits for the network with a timeout, and stops when the caller no longer wants the result.

use std::time::Duration;

use garland_sys::channel::{RecvTimeoutError, channel};
use garland_sys::sync::{Condvar, MutexGuard};
use garland_sys::threads;

use crate::address::Address;
use crate::trouble::Trouble;

/// The interval between two checks whether the caller still wants the result.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// The number of ticks without data after which a wait fails: two minutes. Requests time out sooner
/// and are retried.
const TICKS: u32 = 600;

/// A wait for an operation.
pub(crate) struct Waiting<'a> {
    /// The address of the object.
    pub(crate) address: &'a Address,
    /// Whether the result is no longer wanted.
    pub(crate) stale: &'a dyn Fn() -> bool,
}

impl Waiting<'_> {
    /// Fails if the result is no longer wanted.
    pub(crate) fn check(&self) -> Result<(), Trouble> {
        if (self.stale)() { Err(Trouble::stale(self.address)) } else { Ok(()) }
    }

    /// Does the `work` of an operation (`open`, `list`) in another thread, and waits for its
    /// result.
    pub(crate) fn for_thread<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnOnce() -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, Trouble> {
        let (tell, told) = channel();
        let begun = threads::spawn(operation, move || {
            // This fails if the receiver has stopped waiting.
            let _ = tell.send(work());
        });
        begun.map_err(|error| Trouble::new(error.to_string()))?;
        loop {
            match told.recv_timeout(CHECK_INTERVAL) {
                Ok(result) => return result,
                Err(RecvTimeoutError::Timeout) => self.check()?,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Trouble::new(format!(
                        "cannot {operation} {}: the thread that {operation}s it ended early",
                        self.address
                    )));
                }
            }
        }
    }

    /// Waits until `is` returns a result; fails if `progress` returns the same value for two
    /// minutes.
    pub(crate) fn until<'g, T>(
        &self,
        changed: &Condvar,
        mut guard: MutexGuard<'g, T>,
        is: impl Fn(&T) -> bool,
        progress: impl Fn(&T) -> u64,
    ) -> Result<MutexGuard<'g, T>, Trouble> {
        let mut quiet = 0;
        let mut last = progress(&guard);
        while !is(&guard) {
            self.check()?;
            let is_late = changed.wait_for(&mut guard, CHECK_INTERVAL);
            let now = progress(&guard);
            if now != last {
                (quiet, last) = (0, now);
            } else if is_late {
                quiet += 1;
            }
            if quiet >= TICKS {
                let seconds = TICKS * CHECK_INTERVAL.subsec_millis() / 1000;
                let what = format!(
                    "cannot read {}: timed out after {seconds} s without data",
                    self.address
                );
                return Err(Trouble::new(what));
            }
        }
        Ok(guard)
    }
}
