//! The queue of a spool: which entries wait, for which nodes, and until when. A value without files and
//! clocks; times are monotonic nanoseconds, nodes are indexes in the spool's node list.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};

use super::directory::{Entry, Stamp};

/// The pause before an entry that failed is tried again; each later pause is twice as long.
const FIRST_PAUSE_NS: u64 = 2_000_000_000;

/// The longest pause.
const LAST_PAUSE_NS: u64 = 300_000_000_000;

/// An entry that not all nodes have.
#[derive(Debug)]
pub struct Waiting {
    name: OsString,
    stamp: Stamp,
    /// The nodes that lack it, each with the reason if a copy to it failed.
    missing: BTreeMap<usize, Option<String>>,
    /// The number of copies that failed since the entry came.
    failures: u32,
    /// The earliest time of the next copy.
    due_ns: u64,
}

/// The entries that wait, in the order in which they came.
#[derive(Debug)]
pub struct Queue {
    nodes: usize,
    waiting: Vec<Waiting>,
}

impl Waiting {
    /// Returns the entry's name.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Returns the nodes that lack the entry, each with the reason if a copy to it failed.
    pub fn missing(&self) -> impl Iterator<Item = (usize, Option<&str>)> {
        self.missing.iter().map(|(node, reason)| (*node, reason.as_deref()))
    }
}

impl Queue {
    /// Creates an empty queue for `nodes` nodes.
    pub fn new(nodes: usize) -> Self {
        Self { nodes, waiting: Vec::new() }
    }

    /// Takes note of the entries that the directory has: new ones, and new versions of others, wait for all
    /// nodes; those that were removed wait no longer. Returns whether anything changed.
    pub fn see(&mut self, entries: &[Entry]) -> bool {
        let before = self.waiting.len();
        let is_same =
            |it: &Waiting, entry: &Entry| it.name == entry.name && it.stamp == entry.stamp;
        self.waiting.retain(|it| entries.iter().any(|entry| is_same(it, entry)));
        let mut changed = self.waiting.len() != before;
        let known: BTreeSet<OsString> = self.waiting.iter().map(|it| it.name.clone()).collect();
        for entry in entries.iter().filter(|entry| !known.contains(&entry.name)) {
            changed = true;
            self.waiting.push(Waiting {
                name: entry.name.clone(),
                stamp: entry.stamp,
                missing: (0..self.nodes).map(|node| (node, None)).collect(),
                failures: 0,
                due_ns: 0,
            });
        }
        changed
    }

    /// Returns the first entry that is due, with the nodes that lack it and for which `is_up` holds.
    pub fn next(&self, now_ns: u64, is_up: impl Fn(usize) -> bool) -> Option<(Entry, Vec<usize>)> {
        self.waiting.iter().filter(|it| it.due_ns <= now_ns).find_map(|it| {
            let nodes: Vec<usize> =
                it.missing.keys().copied().filter(|&node| is_up(node)).collect();
            let entry = Entry { name: it.name.clone(), stamp: it.stamp };
            (!nodes.is_empty()).then_some((entry, nodes))
        })
    }

    /// Notes what became of the copy of an entry to nodes. Returns whether all nodes have the entry; it then
    /// waits no longer.
    pub fn copied(
        &mut self,
        entry: &Entry,
        nodes: impl IntoIterator<Item = (usize, Result<(), String>)>,
        now_ns: u64,
    ) -> bool {
        let Some(at) = self.waiting.iter().position(|it| it.name == entry.name) else {
            return false;
        };
        let waiting = &mut self.waiting[at];
        let mut failed = false;
        for (node, result) in nodes {
            match result {
                Ok(()) => drop(waiting.missing.remove(&node)),
                Err(reason) => {
                    failed = true;
                    waiting.missing.insert(node, Some(reason));
                }
            }
        }
        if failed {
            let pause_ns = FIRST_PAUSE_NS << waiting.failures.min(16);
            waiting.failures += 1;
            waiting.due_ns = now_ns.saturating_add(pause_ns.min(LAST_PAUSE_NS));
        }
        let is_done = waiting.missing.is_empty();
        if is_done {
            self.waiting.remove(at);
        }
        is_done
    }

    /// Lets an entry wait until `due_ns`.
    pub fn postpone(&mut self, entry: &Entry, due_ns: u64) {
        let entries = self.waiting.iter_mut().filter(|it| it.name == entry.name);
        entries.for_each(|it| it.due_ns = due_ns);
    }

    /// Makes everything due that a node lacks, because it has come back.
    pub fn came_back(&mut self, node: usize) {
        let lacked = self.waiting.iter_mut().filter(|it| it.missing.contains_key(&node));
        lacked.for_each(|it| (it.due_ns, it.failures) = (0, 0));
    }

    /// Returns the entries that wait, in order.
    pub fn waiting(&self) -> &[Waiting] {
        &self.waiting
    }
}
