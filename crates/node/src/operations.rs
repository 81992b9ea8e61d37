//! Operations: stretches of the file of which only so many are under way at a time, as the parallel
//! file systems of 2007 copied. An operation ends when the servers have acknowledged each of its
//! blocks as written. Nothing needs them but the comparison: without them there is one window.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use garland_core::plan::{BlockSet, Layout};

/// How a copy is cut into operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Bytes of an operation.
    pub size: u64,
    /// How many operations may be under way beside the oldest that isn't acknowledged.
    pub overlap: u64,
}

/// Who may begin.
#[derive(Debug)]
pub struct Operations {
    cut: Cut,
    layout: Layout,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    written: BlockSet,
    /// Blocks that aren't acknowledged, of each operation that has any.
    open: BTreeMap<u64, u64>,
    closed: bool,
}

impl Operations {
    /// All operations of a copy of `layout`.
    #[must_use]
    pub fn new(cut: Cut, layout: Layout) -> Self {
        let cut = Cut { size: cut.size.max(1), ..cut };
        let mut open = BTreeMap::new();
        for index in 0..layout.blocks() {
            *open.entry(layout.offset(index) / cut.size).or_default() += 1;
        }
        let state = State { written: BlockSet::new(layout.blocks()), open, closed: false };
        Self { cut, layout, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Waits until the operation of block `index` may be under way, or the copy is over.
    pub fn enter(&self, index: u64) {
        let own = self.layout.offset(index) / self.cut.size;
        let waits = |state: &mut State| {
            let oldest = state.open.keys().next().copied().unwrap_or(u64::MAX);
            !state.closed && own > oldest.saturating_add(self.cut.overlap)
        };
        drop(self.changed.wait_while(self.lock(), waits));
    }

    /// A server has written block `index`.
    pub fn written(&self, index: u64) {
        let mut state = self.lock();
        if !state.written.insert(index) {
            return;
        }
        let own = self.layout.offset(index) / self.cut.size;
        if let Some(left) = state.open.get_mut(&own) {
            *left -= 1;
            if *left == 0 {
                state.open.remove(&own);
                self.changed.notify_all();
            }
        }
    }

    /// Nobody waits any more.
    pub fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// Four blocks in two operations: who got in, in the order of getting in.
    fn course(overlap: u64, acknowledged: &[u64]) -> Vec<u64> {
        let layout = Layout::new(4 * 4096, 4096).unwrap();
        let operations = Operations::new(Cut { size: 8192, overlap }, layout);
        let (tell, told) = channel();
        std::thread::scope(|scope| {
            let gate = &operations;
            scope.spawn(move || {
                for index in 0..4 {
                    gate.enter(index);
                    tell.send(index).unwrap();
                }
            });
            let first: Vec<u64> = told.iter().take(2).collect();
            acknowledged.iter().for_each(|&index| gate.written(index));
            let then = told.recv_timeout(std::time::Duration::from_millis(50));
            gate.close();
            first.into_iter().chain(then).collect()
        })
    }

    #[test]
    fn the_next_begins_when_the_last_is_acknowledged() {
        assert_eq!(course(0, &[]), [0, 1]);
        assert_eq!(course(0, &[1, 1]), [0, 1], "one block twice is one block");
        assert_eq!(course(0, &[1, 0]), [0, 1, 2]);
        assert_eq!(course(1, &[]), [0, 1, 2], "two may overlap");
    }
}
