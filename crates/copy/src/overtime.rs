//! Ends a command soon after Ctrl-C even if the command hangs. A copy normally handles Ctrl-C
//! itself and ends cleanly, but cannot do so while a system call blocks on an unresponsive disk of
//! this machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use garland_sys::signal::Interrupts;
use garland_sys::threads;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;

/// The maximum time from Ctrl-C to the end of a command's work; the result is printed after that.
const LIMIT: Duration = Duration::from_millis(1900);

/// Interval between checks for Ctrl-C.
const INTERRUPT_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Ends this process [`LIMIT`] after Ctrl-C, unless [`Overtime::end`] is called or the value is
/// dropped before.
pub struct Overtime(Arc<AtomicBool>);

impl Overtime {
    /// Starts to watch the operation `what` in a separate thread. Must be called after entering a
    /// lab, which a process with several threads cannot do (setns(2)).
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn watch(what: &'static str, interrupts: &Arc<Interrupts>) -> Result<Self, Failure> {
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let interrupts = Arc::clone(interrupts);
        threads::spawn("overtime", move || {
            while !interrupts.have_come() {
                threads::sleep(INTERRUPT_CHECK_INTERVAL);
                if is_over.load(Ordering::Acquire) {
                    return;
                }
            }
            threads::sleep(LIMIT);
            if !is_over.load(Ordering::Acquire) {
                let hint = "either a disk of this machine does not answer (see dmesg), or it takes \
                            longer to end so many agents: garland status lists those that stay";
                output::warn(Failure::interrupted(what).hint(hint));
                std::process::exit(Exit::Interrupted.code().into());
            }
        })
        .or_nothing("cannot watch for Ctrl-C")?;
        Ok(Self(over))
    }

    /// Stops watching. To be called when only steps that cannot block remain.
    pub fn end(&self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Drop for Overtime {
    fn drop(&mut self) {
        self.end();
    }
}
