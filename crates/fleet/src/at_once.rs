//! Runs blocking work for many nodes on a limited number of threads.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use garland_sys::channel::{Sender, channel};
use garland_sys::sync::Mutex;
use garland_sys::threads;

/// The default maximum number of agents that are contacted at the same time.
pub const ASKED: usize = 64;

/// The place of a piece of work among those that are done at the same time. All clones are one. The
/// default is among no others.
#[derive(Clone, Default)]
pub struct Slot(Option<Arc<Held>>);

struct Held {
    free: Sender<()>,
    is_left: AtomicBool,
}

impl Slot {
    /// Lets other work begin, although this one goes on: it only waits.
    pub fn leave(&self) {
        self.0.iter().for_each(|held| held.leave());
    }
}

impl Held {
    fn leave(&self) {
        if !self.is_left.swap(true, Ordering::Relaxed) {
            // Fails if no more work is to begin.
            let _ = self.free.send(());
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.leave();
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").finish_non_exhaustive()
    }
}

/// Runs `work` for each of `items`, at most `most` of them at the same time. Returns the results in
/// the order of `items`.
pub fn at_once<T: Sync, R: Send>(
    items: &[T],
    most: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    in_slots(items, most, |item, _| work(item))
}

/// Runs `work` for each of `items`, at most `most` of them at the same time, without those that
/// have left their slots. Returns the results in the order of `items`.
pub fn in_slots<T: Sync, R: Send>(
    items: &[T],
    most: usize,
    work: impl Fn(&T, Slot) -> R + Sync,
) -> Vec<R> {
    let done = Mutex::new(Vec::new());
    let work_on = |at: usize, item: &T, slot: Slot| {
        let result = work(item, slot);
        done.lock().push((at, result));
    };
    let (free, slots) = channel();
    // The receiver lives until all work has begun.
    (0..most.clamp(1, items.len().max(1))).for_each(|_| _ = free.send(()));
    std::thread::scope(|scope| {
        for (at, item) in items.iter().enumerate() {
            // A sender is kept here.
            let _ = slots.recv();
            let held = Held { free: free.clone(), is_left: AtomicBool::new(false) };
            let slot = Slot(Some(Arc::new(held)));
            let own = slot.clone();
            let work_on = &work_on;
            let begun = threads::spawn_in(scope, "node", move || work_on(at, item, own));
            if begun.is_err() {
                // If no more threads can be started, this one works.
                work_on(at, item, slot);
            }
        }
    });
    let mut done = done.into_inner();
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..100).collect();
        let slow = |&item: &u64| {
            std::thread::sleep(std::time::Duration::from_millis(item % 3));
            item * 2
        };
        let wanted: Vec<u64> = items.iter().map(|item| item * 2).collect();
        assert_eq!(at_once(&items, 7, slow), wanted);
        assert_eq!(at_once(&items[..0], 7, slow), Vec::<u64>::new());
    }

    #[test]
    fn no_more_is_done_at_the_same_time_than_there_are_slots() {
        let busy = AtomicUsize::new(0);
        let most = at_once(&[(); 40], 3, |()| {
            let now = busy.fetch_add(1, Ordering::SeqCst) + 1;
            std::thread::sleep(std::time::Duration::from_millis(1));
            busy.fetch_sub(1, Ordering::SeqCst);
            now
        });
        assert!(most.into_iter().all(|busy| busy <= 3));
    }

    #[test]
    fn work_that_has_left_its_slot_holds_up_no_other() {
        let (go, gone) = channel();
        let gone = Mutex::new(gone);
        // The first two wait for the last one.
        let done = in_slots(&[0, 1, 2, 3, 4], 2, |&item, slot| match item {
            0 | 1 => {
                slot.leave();
                slot.leave();
                gone.lock().recv().is_ok()
            }
            4 => go.send(()).and_then(|()| go.send(())).is_ok(),
            _ => true,
        });
        assert_eq!(done, [true; 5]);
    }
}
