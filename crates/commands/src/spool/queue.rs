//! The queue of a spool: which entries wait, for which nodes, and until when. A value without files
//! and clocks; times are monotonic nanoseconds, nodes are indexes in the spool's node list.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::time::Duration;

use super::directory::Entry;
use super::status::{Stamp, Status};

/// The pause before an entry that failed is tried again; each later pause is twice as long.
const FIRST_PAUSE_NS: u64 = 2_000_000_000;

/// The longest pause.
const LAST_PAUSE_NS: u64 = 300_000_000_000;

/// An entry that not all nodes have.
#[derive(Debug)]
pub struct Waiting {
    name: OsString,
    stamp: Stamp,
    /// The nodes that have the entry with the status in `state`.
    holders: BTreeSet<usize>,
    /// Why copies to other nodes failed.
    reasons: BTreeMap<usize, String>,
    state: State,
    /// The number of copies that failed since the entry came.
    failures: u32,
    /// The earliest time of the next copy.
    due_ns: u64,
}

/// What is known of the writers of an entry.
#[derive(Debug, Default)]
enum State {
    #[default]
    Unseen,
    /// It has had this status since the given time, and may still be written.
    Seen(Status, u64),
    /// It was complete with this status.
    Complete(Status),
}

/// The place of an entry in the queue: entries are copied in the order of their numbers.
type Number = u64;

/// The entries that wait, in the order in which they came.
#[derive(Debug)]
pub struct Queue {
    nodes: usize,
    /// How long an entry must be unchanged to be complete, in nanoseconds.
    quiet_ns: u64,
    next: Number,
    waiting: BTreeMap<Number, Waiting>,
    numbers: HashMap<OsString, Number>,
    /// The entries that are due, by the nodes that have them: there are few such sets, however many
    /// entries wait.
    due: BTreeMap<BTreeSet<usize>, BTreeSet<Number>>,
    /// The entries that are not due yet, by the time at which they are.
    later: BTreeSet<(u64, Number)>,
}

impl Waiting {
    /// Returns the entry's name.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Returns why copies to nodes failed.
    pub fn reason(&self, node: usize) -> Option<&str> {
        self.reasons.get(&node).map(String::as_str)
    }

    /// Returns whether a node has the entry.
    pub fn is_held_by(&self, node: usize) -> bool {
        self.holders.contains(&node)
    }

    fn entry(&self) -> Entry {
        Entry { name: self.name.clone(), stamp: self.stamp }
    }
}

impl Queue {
    /// Creates an empty queue for `nodes` nodes. Entries whose writers are unknown are complete
    /// when they were `quiet` for this time.
    pub fn new(nodes: usize, quiet: Duration) -> Self {
        Self {
            nodes,
            quiet_ns: u64::try_from(quiet.as_nanos()).unwrap_or(u64::MAX),
            next: 0,
            waiting: BTreeMap::new(),
            numbers: HashMap::new(),
            due: BTreeMap::new(),
            later: BTreeSet::new(),
        }
    }

    /// Takes note of the entries that the directory has: new ones, and new versions of others, wait
    /// for all nodes; those that were removed wait no longer. Returns whether anything changed.
    pub fn see(&mut self, entries: &[Entry]) -> bool {
        let present: HashSet<(&OsStr, Stamp)> =
            entries.iter().map(|entry| (entry.name.as_os_str(), entry.stamp)).collect();
        let is_gone = |it: &Waiting| !present.contains(&(it.name.as_os_str(), it.stamp));
        let gone: Vec<OsString> =
            self.waiting.values().filter(|it| is_gone(it)).map(|it| it.name.clone()).collect();
        gone.iter().for_each(|name| self.remove(name));
        let mut changed = !gone.is_empty();
        for entry in entries {
            changed |= self.add(entry);
        }
        changed
    }

    /// Adds an entry unless its name waits already.
    fn add(&mut self, entry: &Entry) -> bool {
        if self.numbers.contains_key(&entry.name) {
            return false;
        }
        let number = self.next;
        self.next += 1;
        self.numbers.insert(entry.name.clone(), number);
        self.waiting.insert(
            number,
            Waiting {
                name: entry.name.clone(),
                stamp: entry.stamp,
                holders: BTreeSet::new(),
                reasons: BTreeMap::new(),
                state: State::Unseen,
                failures: 0,
                due_ns: 0,
            },
        );
        self.line_up(number);
        true
    }

    fn remove(&mut self, name: &OsStr) {
        if let Some(number) = self.numbers.remove(name) {
            self.leave(number);
            self.waiting.remove(&number);
        }
    }

    /// Changes an entry by `change`, and returns what that returns.
    fn change<T>(&mut self, name: &OsStr, change: impl FnOnce(&mut Waiting) -> T) -> Option<T> {
        let number = *self.numbers.get(name)?;
        self.leave(number);
        let changed = self.waiting.get_mut(&number).map(change);
        self.line_up(number);
        changed
    }

    /// Puts an entry where `next` finds it. Its time, if it has one, has not come yet.
    fn line_up(&mut self, number: Number) {
        let Some(it) = self.waiting.get(&number) else { return };
        if it.due_ns == 0 {
            self.due.entry(it.holders.clone()).or_default().insert(number);
        } else {
            self.later.insert((it.due_ns, number));
        }
    }

    fn leave(&mut self, number: Number) {
        let Some(it) = self.waiting.get(&number) else { return };
        self.later.remove(&(it.due_ns, number));
        if let Some(numbers) = self.due.get_mut(&it.holders) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.due.remove(&it.holders);
            }
        }
    }

    /// Returns the first entry that is due, with the nodes that lack it and for which `is_up`
    /// holds.
    pub fn next(
        &mut self,
        now_ns: u64,
        is_up: impl Fn(usize) -> bool,
    ) -> Option<(Entry, Vec<usize>)> {
        while let Some(&(due_ns, number)) = self.later.first()
            && due_ns <= now_ns
        {
            self.leave(number);
            if let Some(it) = self.waiting.get_mut(&number) {
                it.due_ns = 0;
            }
            self.line_up(number);
        }
        let up: Vec<usize> = (0..self.nodes).filter(|&node| is_up(node)).collect();
        let can = |holders: &BTreeSet<usize>| up.iter().any(|node| !holders.contains(node));
        let firsts = self.due.iter().filter(|(holders, _)| can(holders));
        let first = firsts.filter_map(|(_, numbers)| numbers.first()).min()?;
        let it = self.waiting.get(first)?;
        Some((it.entry(), up.into_iter().filter(|&node| !it.is_held_by(node)).collect()))
    }

    /// Returns the time at which the next entry is due that is not due yet.
    pub fn next_due_ns(&self) -> Option<u64> {
        self.later.first().map(|(due_ns, _)| *due_ns)
    }

    /// Records the status of an entry at the monotonic time `now_ns`; `is_closed` says that nobody
    /// writes it. Returns whether it is complete and may be copied; otherwise it waits until it is
    /// quiet. If it has changed since nodes got it, they no longer count as having it.
    pub fn is_complete(
        &mut self,
        entry: &Entry,
        status: &Status,
        is_closed: bool,
        now_ns: u64,
    ) -> bool {
        let quiet_ns = self.quiet_ns;
        let judged = self.change(&entry.name, |it| match &it.state {
            State::Complete(known) if known == status => true,
            State::Seen(known, since_ns)
                if known == status && now_ns.saturating_sub(*since_ns) >= quiet_ns =>
            {
                it.complete(status);
                true
            }
            _ if is_closed || quiet_ns == 0 => {
                it.complete(status);
                true
            }
            State::Seen(known, since_ns) if known == status => {
                it.due_ns = since_ns.saturating_add(quiet_ns);
                false
            }
            _ => {
                it.wait_for_quiet(status, now_ns, quiet_ns);
                false
            }
        });
        judged.unwrap_or(false)
    }

    /// Makes an entry that waits until it is quiet due at once: its writer has closed it.
    pub fn was_closed(&mut self, name: &OsStr) {
        self.change(name, |it| {
            if matches!(it.state, State::Seen(..)) {
                it.due_ns = 0;
            }
        });
    }

    /// Makes an entry that changed during its copy wait until it is quiet again, and forgets which
    /// nodes have it: they may have an incomplete version. `status` was read after the copy;
    /// `now_ns` is monotonic.
    pub fn was_late(&mut self, entry: &Entry, status: &Status, now_ns: u64) {
        let quiet_ns = self.quiet_ns;
        self.change(&entry.name, |it| it.wait_for_quiet(status, now_ns, quiet_ns));
    }

    /// Records the result of the copy of an entry for each of `nodes`. If any failed, the entry is
    /// due again after a pause, which doubles with each failure; `now_ns` is monotonic. Returns
    /// whether all nodes have the entry. It stays in the queue until [`finish`](Self::finish).
    pub fn copied(
        &mut self,
        entry: &Entry,
        nodes: impl IntoIterator<Item = (usize, Result<(), String>)>,
        now_ns: u64,
    ) -> bool {
        let count = self.nodes;
        let note = |it: &mut Waiting| {
            let mut failed = false;
            for (node, result) in nodes {
                match result {
                    Ok(()) => {
                        it.reasons.remove(&node);
                        it.holders.insert(node);
                    }
                    Err(reason) => {
                        failed = true;
                        it.holders.remove(&node);
                        it.reasons.insert(node, reason);
                    }
                }
            }
            if failed {
                let pause_ns = FIRST_PAUSE_NS << it.failures.min(16);
                it.failures += 1;
                it.due_ns = now_ns.saturating_add(pause_ns.min(LAST_PAUSE_NS));
            }
            it.holders.len() == count
        };
        self.change(&entry.name, note).unwrap_or(false)
    }

    /// Records that an entry cannot be copied, or cannot be moved away after its copy, for
    /// `reason`. It is copied again to all nodes after a pause; `now_ns` is monotonic.
    pub fn failed(&mut self, entry: &Entry, reason: &str, now_ns: u64) {
        let nodes = (0..self.nodes).map(|node| (node, Err(reason.to_owned())));
        self.copied(entry, nodes, now_ns);
    }

    /// Removes an entry that all nodes have.
    pub fn finish(&mut self, entry: &Entry) {
        self.remove(&entry.name);
    }

    /// Lets an entry wait until `due_ns`.
    pub fn postpone(&mut self, entry: &Entry, due_ns: u64) {
        self.change(&entry.name, |it| it.due_ns = due_ns);
    }

    /// Makes everything due that a node lacks and that failed before, because it has come back.
    pub fn came_back(&mut self, node: usize) {
        let lacks = |it: &&Waiting| it.failures > 0 && !it.is_held_by(node);
        let lacked: Vec<OsString> =
            self.waiting.values().filter(lacks).map(|it| it.name.clone()).collect();
        for name in lacked {
            self.change(&name, |it| {
                it.due_ns = 0;
                it.failures = 0;
            });
        }
    }

    /// Returns the entry that waits under this name.
    pub fn get(&self, name: &OsStr) -> Option<&Waiting> {
        self.waiting.get(self.numbers.get(name)?)
    }

    /// Returns the number of entries that wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Returns the entries that wait, in order.
    pub fn waiting(&self) -> impl Iterator<Item = &Waiting> {
        self.waiting.values()
    }
}

impl Waiting {
    /// Marks the entry as complete with this status. No node counts as having it yet.
    fn complete(&mut self, status: &Status) {
        self.holders.clear();
        self.state = State::Complete(status.clone());
    }

    fn wait_for_quiet(&mut self, status: &Status, now_ns: u64, quiet_ns: u64) {
        self.holders.clear();
        self.reasons.clear();
        self.state = State::Seen(status.clone(), now_ns);
        self.due_ns = now_ns.saturating_add(quiet_ns);
    }
}
