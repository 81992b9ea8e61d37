//! The memory that all copies of an agent share. A copy that has no room in it is refused at once:
//! one that waited for its room on some nodes and held it on others could wait for ever for another
//! that did the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use thiserror::Error;

/// Bytes of buffers that an agent may have: two large copies, or many small ones.
const BYTES: usize = 52 << 20;

/// The memory is taken.
#[derive(Debug, Error)]
#[error(
    "its agent is busy with {copies} other {word}, which take {taken} of the {} MiB that it may \
     use: try again when they are done",
    BYTES >> 20,
    word = if *.copies == 1 { "copy" } else { "copies" },
    taken = .taken >> 20
)]
pub struct Busy {
    copies: usize,
    taken: usize,
}

/// An agent's memory for copies.
#[derive(Debug, Default)]
pub struct Budget {
    taken: AtomicUsize,
    copies: AtomicUsize,
}

/// A copy's share of it, given back when it is dropped.
#[derive(Debug)]
pub struct Share {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Budget {
    /// A share of `bytes`. Whoever is alone gets it, however large it is.
    pub fn take(self: &Arc<Self>, bytes: usize) -> Result<Share, Busy> {
        let fits = |taken: usize| (taken == 0 || taken + bytes <= BYTES).then_some(taken + bytes);
        match self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits) {
            Ok(_) => {
                self.copies.fetch_add(1, Ordering::Relaxed);
                Ok(Share { budget: Arc::clone(self), bytes })
            }
            Err(taken) => Err(Busy { copies: self.copies.load(Ordering::Relaxed), taken }),
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.copies.fetch_sub(1, Ordering::Relaxed);
        self.budget.taken.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_until_there_is_room() {
        let budget = Arc::new(Budget::default());
        let one = budget.take(26 << 20).unwrap();
        let two = budget.take(26 << 20).unwrap();
        let refused = budget.take(1).unwrap_err().to_string();
        let wanted = "its agent is busy with 2 other copies, which take 52 of the 52 MiB that it \
                      may use: try again when they are done";
        assert_eq!(refused, wanted);
        drop(one);
        let small: Vec<Share> = (0..26).map(|_| budget.take(1 << 20).unwrap()).collect();
        assert!(budget.take(1).is_err());
        drop((two, small));
        assert!(budget.take(100 << 20).is_ok(), "alone");
    }
}
