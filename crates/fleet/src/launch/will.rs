//! Whether the user still wants what is being started: whoever waits for a node asks now and then.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use garland_sys::event;
use garland_sys::signal::Interrupts;

/// The user's will; without interrupts to look at it lasts.
#[derive(Clone, Debug, Default)]
pub struct Will {
    interrupts: Option<Arc<Interrupts>>,
    /// What it was for is over.
    over: Option<Arc<AtomicBool>>,
}

impl Will {
    /// How often it is asked about.
    pub const LOOK: Duration = Duration::from_millis(100);

    /// A will that ends with the first of `interrupts`, which stays pending.
    pub fn until(interrupts: Option<Arc<Interrupts>>) -> Self {
        Self { interrupts, over: None }
    }

    /// Also ends when `over` is set.
    pub fn unless(self, over: &Arc<AtomicBool>) -> Self {
        Self { over: Some(Arc::clone(over)), ..self }
    }

    /// Whether the user gave up, or it was for what is over.
    pub fn is_over(&self) -> bool {
        if self.over.as_ref().is_some_and(|over| over.load(Ordering::Relaxed)) {
            return true;
        }
        self.interrupts.as_ref().is_some_and(|interrupts| {
            let ready = event::wait_readable(&[interrupts.as_fd()], Some(Duration::ZERO));
            ready.is_ok_and(|ready| ready == [true])
        })
    }

    /// # Errors
    /// When the user gave up.
    pub fn check(&self) -> Result<(), String> {
        if self.is_over() { Err("interrupted".to_owned()) } else { Ok(()) }
    }
}
