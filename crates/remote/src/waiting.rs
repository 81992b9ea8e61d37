//! Waiting for what comes over a network: not for ever, and not when nobody wants it any more.

use std::sync::{Condvar, MutexGuard, PoisonError};
use std::time::Duration;

use crate::address::Address;
use crate::trouble::Trouble;

/// Whether somebody still wants it is asked so often.
pub(crate) const TICK: Duration = Duration::from_millis(200);

/// So many ticks in which nothing comes are too many: two minutes. Requests are given up sooner, and
/// made again.
const TICKS: u32 = 600;

/// Who waits, and for what.
pub(crate) struct Waiting<'a> {
    /// What is waited for.
    pub(crate) address: &'a Address,
    /// Whether nobody wants it any more.
    pub(crate) stale: &'a dyn Fn() -> bool,
}

impl Waiting<'_> {
    /// Fails once nobody wants it any more.
    pub(crate) fn check(&self) -> Result<(), Trouble> {
        if (self.stale)() { Err(Trouble::stale(self.address)) } else { Ok(()) }
    }

    /// Waits until it `is` so; as long as there is `progress`, that may take its time.
    pub(crate) fn until<'g, T>(
        &self,
        changed: &Condvar,
        mut guard: MutexGuard<'g, T>,
        is: impl Fn(&T) -> bool,
        progress: impl Fn(&T) -> u64,
    ) -> Result<MutexGuard<'g, T>, Trouble> {
        let (mut quiet, mut last) = (0, progress(&guard));
        while !is(&guard) {
            self.check()?;
            let (after, waited) =
                changed.wait_timeout(guard, TICK).unwrap_or_else(PoisonError::into_inner);
            guard = after;
            let now = progress(&guard);
            if now != last {
                (quiet, last) = (0, now);
            } else if waited.timed_out() {
                quiet += 1;
            }
            if quiet >= TICKS {
                let seconds = TICKS * TICK.subsec_millis() / 1000;
                let what = format!("reading {}: nothing came for {seconds} s", self.address);
                return Err(Trouble::new(what));
            }
        }
        Ok(guard)
    }
}
