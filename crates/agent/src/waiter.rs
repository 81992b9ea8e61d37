//! A head's place in an agent's queue for memory, until its copy begins or the head is gone.

use std::sync::Arc;

use garland_dataplane::budget::{QueueTicket, Reservation};
use garland_protocol::FromAgent;
use garland_protocol::copy::CopyId;
use garland_sys::sync::Mutex;
use garland_sys::threads::Joined;

use crate::controller::Controller;

/// A place in the queue for memory, and the memory once it is granted.
pub struct Waiter {
    ticket: Arc<QueueTicket>,
    share: Arc<Mutex<Option<Reservation>>>,
    _waiting: Joined,
}

impl Waiter {
    /// Queues for `bytes` bytes of memory for `copy`. Sends `Admitted` when they are granted, or
    /// `Failed` if no thread can be started.
    pub fn take(controller: &Controller, copy: CopyId, bytes: u64) -> Option<Self> {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let ticket = Arc::new(controller.agent.budget.queue(bytes));
        let share: Arc<Mutex<Option<Reservation>>> = Arc::default();
        let waiter = Arc::clone(&ticket);
        let slot = Arc::clone(&share);
        let work = move |controller: &Controller| {
            if let Some(share) = waiter.wait() {
                *slot.lock() = Some(share);
                controller.session.send(&FromAgent::Admitted(copy));
            }
        };
        let waiting = controller.spawn("queue", work, |reason| FromAgent::Failed(copy, reason))?;
        Some(Self { ticket, share, _waiting: waiting.into() })
    }

    /// Leaves the queue. Returns the memory if it has been granted.
    pub fn share(self) -> Option<Reservation> {
        self.share.lock().take()
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        // Ends the thread.
        self.ticket.leave();
    }
}
