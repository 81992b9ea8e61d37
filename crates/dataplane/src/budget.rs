//! The memory that all copies of an agent share, and the queue for it.
//!
//! A head first requests the memory of its copy from all agents at once, without waiting. If one of
//! them has too little, the head releases the memory that it got. It then requests memory from one
//! agent after another, in an order common to all heads, and waits at each. So two heads never wait
//! for each other. An agent serves its queue first come, first served; requests that do not wait
//! never overtake it.

use std::collections::VecDeque;
use std::sync::Arc;

use garland_sys::sync::{Condvar, Mutex};

/// The memory for the copies of an agent, in bytes: enough for two large copies, or for many small
/// ones. The rest of an agent (its code, its sessions, the allocator) stays below 12 MiB.
pub const BYTES: usize = 52 << 20;

/// The memory for the copies of an agent, [`BYTES`] in total.
#[derive(Debug, Default)]
pub struct Budget {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    taken: usize,
    copies: u32,
    /// The numbers of the waiting tickets, the oldest first.
    queue: VecDeque<u64>,
    next: u64,
}

/// A reservation of memory for one copy. Dropping it releases the memory.
#[derive(Debug)]
pub struct Reservation {
    budget: Arc<Budget>,
    bytes: usize,
}

/// A request for memory that waits in the queue.
#[derive(Debug)]
pub struct QueueTicket {
    budget: Arc<Budget>,
    number: u64,
    bytes: usize,
}

/// The error of a request that does not wait: too little memory is free, or others wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy {
    /// The number of copies that use the memory.
    pub copies: u32,
}

impl Budget {
    /// Reserves `bytes` bytes, if they are free and the queue is empty. If no other copy has a
    /// reservation, any amount is granted.
    ///
    /// # Errors
    /// When too little memory is free, or other requests wait.
    pub fn take(self: &Arc<Self>, bytes: usize) -> Result<Reservation, Busy> {
        let mut state = self.state.lock();
        if state.queue.is_empty() && state.fits(bytes) {
            Ok(self.share(&mut state, bytes))
        } else {
            Err(Busy { copies: state.copies })
        }
    }

    /// Joins the end of the queue, to wait for `bytes` bytes.
    pub fn queue(self: &Arc<Self>, bytes: usize) -> QueueTicket {
        let mut state = self.state.lock();
        state.next += 1;
        let number = state.next;
        state.queue.push_back(number);
        QueueTicket { budget: Arc::clone(self), number, bytes }
    }

    fn share(self: &Arc<Self>, state: &mut State, bytes: usize) -> Reservation {
        state.taken += bytes;
        state.copies += 1;
        Reservation { budget: Arc::clone(self), bytes }
    }
}

impl State {
    fn fits(&self, bytes: usize) -> bool {
        self.copies == 0 || self.taken.saturating_add(bytes) <= BYTES
    }
}

impl QueueTicket {
    /// Waits without a timeout until the memory is reserved. Returns none once [`Self::leave`] has
    /// been called.
    pub fn wait(&self) -> Option<Reservation> {
        let mut state = self.budget.state.lock();
        loop {
            let place = state.queue.iter().position(|&number| number == self.number)?;
            if place == 0 && state.fits(self.bytes) {
                state.queue.pop_front();
                let share = self.budget.share(&mut state, self.bytes);
                // There may be memory for the next request, too.
                self.budget.changed.notify_all();
                return Some(share);
            }
            self.budget.changed.wait(&mut state);
        }
    }

    /// Leaves the queue, and makes [`Self::wait`] return none in the thread that waits.
    pub fn leave(&self) {
        self.budget.state.lock().queue.retain(|&number| number != self.number);
        self.budget.changed.notify_all();
    }
}

impl Reservation {
    /// Returns whether the reservation suffices for `bytes` bytes.
    pub fn covers(&self, bytes: usize) -> bool {
        bytes <= self.bytes
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut state = self.budget.state.lock();
        state.copies -= 1;
        state.taken -= self.bytes;
        self.budget.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_does_not_fit_is_refused_until_memory_is_free() {
        let budget = Arc::new(Budget::default());
        let one = budget.take(26 << 20).unwrap();
        let two = budget.take(26 << 20).unwrap();
        assert_eq!(budget.take(1).unwrap_err(), Busy { copies: 2 });
        drop(one);
        let small: Vec<Reservation> = (0..26).map(|_| budget.take(1 << 20).unwrap()).collect();
        assert_eq!(budget.take(1).unwrap_err(), Busy { copies: 27 });
        drop((two, small));
        assert!(budget.take(100 << 20).is_ok(), "alone");
    }

    #[test]
    fn the_queue_is_first_come_first_served() {
        let budget = Arc::new(Budget::default());
        let all = budget.take(BYTES).unwrap();
        let [large, small, gone] = [BYTES, 1, BYTES].map(|bytes| budget.queue(bytes));
        gone.leave();
        assert!(gone.wait().is_none());
        std::thread::scope(|scope| {
            let large = scope.spawn(|| large.wait());
            let small = scope.spawn(|| small.wait());
            drop(all);
            let large = large.join().unwrap().unwrap();
            assert!(!small.is_finished(), "it waits behind the large one");
            assert!(budget.take(0).is_err(), "nobody overtakes it");
            drop(large);
            assert!(small.join().unwrap().is_some());
        });
        assert!(budget.take(BYTES).is_ok());
    }
}
