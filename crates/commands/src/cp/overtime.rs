//! Ends a command soon after Ctrl-C even if it hangs. A copy handles Ctrl-C itself to end cleanly, which
//! it cannot do while a system call on an unresponsive disk of this machine blocks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use garland_sys::signal::Interrupts;
use garland_sys::threads;

use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;

/// The most time from Ctrl-C to the end of a command's work; the result is printed after it.
const LIMIT: Duration = Duration::from_millis(1900);

/// Interval between checks for Ctrl-C.
const POLL: Duration = Duration::from_millis(100);

/// Ends this process [`LIMIT`] after Ctrl-C, unless [`Overtime::end`] is called before or it is dropped.
pub struct Overtime(Arc<AtomicBool>);

impl Overtime {
    /// Watches the operation `what` in a thread of its own. Call it after entering a lab, which a process
    /// with several threads cannot do (setns(2)).
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn watch(what: &'static str, interrupts: &Arc<Interrupts>) -> Result<Self, Failure> {
        let over = Arc::new(AtomicBool::new(false));
        let (is_over, interrupts) = (Arc::clone(&over), Arc::clone(interrupts));
        threads::spawn("overtime", move || {
            while !interrupts.have_come() {
                std::thread::sleep(POLL);
                if is_over.load(Ordering::Acquire) {
                    return;
                }
            }
            std::thread::sleep(LIMIT);
            if !is_over.load(Ordering::Acquire) {
                let hint = "it hangs in a system call that does not return: see dmesg";
                output::warn(Failure::interrupted(what).hint(hint));
                std::process::exit(Exit::Interrupted.code().into());
            }
        })
        .or_nothing("watching for Ctrl-C")?;
        Ok(Self(over))
    }

    /// Stops watching: the rest of the command does not block.
    pub fn end(&self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Drop for Overtime {
    fn drop(&mut self) {
        self.end();
    }
}
