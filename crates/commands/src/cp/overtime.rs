//! Ending in time whatever hangs. Ctrl-C is held back so that a copy ends cleanly; a call on a disk of
//! this machine that doesn't answer would hold it back for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use garland_sys::signal::Interrupts;
use garland_sys::threads;

use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;

/// How long a command may take from Ctrl-C to where it only has to tell its result.
const LIMIT: Duration = Duration::from_millis(1900);

/// How often it is looked whether Ctrl-C has come.
const LOOK: Duration = Duration::from_millis(100);

/// Ends this process some time after Ctrl-C, unless it has come to its end by itself.
pub struct Overtime(Arc<AtomicBool>);

impl Overtime {
    /// Watches a command that does `what`, by a thread of its own: a process that is still to enter a
    /// lab may have no other (setns(2)).
    ///
    /// # Errors
    /// When the system makes no thread for it.
    pub fn watch(what: &'static str, interrupts: &Arc<Interrupts>) -> Result<Self, Failure> {
        let over = Arc::new(AtomicBool::new(false));
        let (is_over, interrupts) = (Arc::clone(&over), Arc::clone(interrupts));
        threads::spawn("overtime", move || {
            while !interrupts.have_come() {
                std::thread::sleep(LOOK);
                if is_over.load(Ordering::Acquire) {
                    return;
                }
            }
            std::thread::sleep(LIMIT);
            if !is_over.load(Ordering::Acquire) {
                let hint = "it hangs in a call that doesn't return: see dmesg";
                output::warn(Failure::interrupted(what).hint(hint));
                std::process::exit(Exit::Interrupted.code().into());
            }
        })
        .or_nothing("watching for Ctrl-C")?;
        Ok(Self(over))
    }

    /// The command has come to its end: what is still to do waits for nothing.
    pub fn end(&self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Drop for Overtime {
    fn drop(&mut self) {
        self.end();
    }
}
