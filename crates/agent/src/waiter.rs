//! A head's place in an agent's queue for memory, until its copy begins or the head is gone.

use parking_lot::Mutex;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use garland_sys::threads;

use garland_dataplane::budget::{Budget, QueueTicket, Reservation};

/// A place in the queue for memory, and the memory once it is granted.
pub struct Waiter {
    ticket: Arc<QueueTicket>,
    share: Arc<Mutex<Option<Reservation>>>,
    waiting: Option<JoinHandle<()>>,
}

impl Waiter {
    /// Queues for `bytes` of `budget`; `tell` is called when they are granted.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn take(
        budget: &Arc<Budget>,
        bytes: usize,
        tell: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let ticket = Arc::new(budget.queue(bytes));
        let share = Arc::default();
        let (waiter, slot): (_, Arc<Mutex<Option<Reservation>>>) =
            (Arc::clone(&ticket), Arc::clone(&share));
        let waiting = threads::spawn("queue", move || {
            if let Some(share) = waiter.wait() {
                *slot.lock() = Some(share);
                tell();
            }
        })?;
        Ok(Self { ticket, share, waiting: Some(waiting) })
    }

    /// Returns the memory, if it is granted.
    pub fn share(self) -> Option<Reservation> {
        self.share.lock().take()
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.ticket.leave();
        if let Some(waiting) = self.waiting.take() {
            // A panic has been printed already.
            let _ = waiting.join();
        }
    }
}
