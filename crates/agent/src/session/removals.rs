//! How many files and directories copies of trees have removed, for heads that allow only so many.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use garland_protocol::copy::Destination;
use garland_sys::sync::Mutex;

/// The removals of the last copy of a tree in a session. A head whose source changed during a copy
/// repeats it without what changed, and what the user allowed to be removed is for all attempts.
#[derive(Default)]
pub struct Removals {
    last: Mutex<Option<Counted>>,
}

/// A directory, and how many files and directories were removed from it.
struct Counted {
    path: Vec<u8>,
    removed: Arc<AtomicU64>,
}

impl Removals {
    /// Returns the counter of a copy to `destination`: that of the copy before, if it went to the
    /// same directory and was not committed.
    pub fn counter(&self, destination: &Destination) -> Arc<AtomicU64> {
        let Destination::Tree(tree) = destination else { return Arc::default() };
        let mut last = self.last.lock();
        let again = last.take().filter(|last| last.path == tree.path);
        let removed = again.map_or_else(Arc::default, |last| last.removed);
        *last = Some(Counted { path: tree.path.clone(), removed: Arc::clone(&removed) });
        removed
    }

    /// Notes that the copy was committed, so that the next one starts from nothing.
    pub fn end(&self) {
        *self.last.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use garland_protocol::copy::{KeptStatus, TreeDestination, TreeLimits};

    use super::*;

    #[test]
    fn what_attempts_at_a_copy_remove_is_added_up() {
        let removals = Removals::default();
        let remove = |path: &[u8]| {
            let destination = Destination::Tree(TreeDestination {
                path: path.to_vec(),
                below: None,
                fsync: true,
                verify: false,
                keeps: KeptStatus::default(),
                limits: TreeLimits::default(),
            });
            removals.counter(&destination).fetch_add(1, Ordering::Relaxed)
        };
        assert_eq!([b"/a", b"/a"].map(|path| remove(path)), [0, 1]);
        removals.end();
        assert_eq!([b"/a", b"/b", b"/b"].map(|path| remove(path)), [0, 0, 1]);
    }
}
