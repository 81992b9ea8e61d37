//! Cancellation of starts. Loops that wait for a node poll it.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use garland_sys::event;
use garland_sys::signal::Interrupts;

use super::error::LaunchError;

/// Cancels a start on an interrupt, or when the purpose of the start is over. The default never
/// cancels.
#[derive(Clone, Debug, Default)]
pub struct Cancellation {
    interrupts: Option<Arc<Interrupts>>,
    /// The flag that is set when the purpose of the start is over, if there is one.
    over: Option<Arc<AtomicBool>>,
}

impl Cancellation {
    /// The interval at which loops poll for cancellation.
    pub const POLL_INTERVAL: Duration = Duration::from_millis(100);

    /// Cancels at the first interrupt of `interrupts`. The interrupt stays pending.
    pub fn by(interrupts: Option<Arc<Interrupts>>) -> Self {
        Self { interrupts, over: None }
    }

    /// Also cancels when `over` is set.
    pub fn or_when(self, over: &Arc<AtomicBool>) -> Self {
        Self { over: Some(Arc::clone(over)), ..self }
    }

    /// Returns whether the start is cancelled.
    pub fn is_cancelled(&self) -> bool {
        if self.over.as_ref().is_some_and(|over| over.load(Ordering::Relaxed)) {
            return true;
        }
        self.interrupts.as_ref().is_some_and(|interrupts| {
            let ready = event::wait_readable(&[interrupts.as_fd()], Some(Duration::ZERO));
            // Who looked before may have taken the signal.
            ready.is_ok_and(|ready| ready == [true]) || interrupts.have_come()
        })
    }

    /// Fails if the start is cancelled.
    ///
    /// # Errors
    /// When the user interrupted, or the purpose of the start is over.
    pub fn check(&self) -> Result<(), LaunchError> {
        if self.is_cancelled() { Err(LaunchError::Cancelled) } else { Ok(()) }
    }
}
