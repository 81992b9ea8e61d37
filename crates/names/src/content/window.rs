//! Which blocks of a name are fetched and kept in memory: a machine without threads and holders. It
//! reads ahead when blocks are asked for in order, and little when they are not.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::holder::HolderFault;

/// The maximum number of blocks that are read ahead.
const AHEAD: u64 = 64;

/// The maximum number of bytes of blocks that are in memory or in flight.
const ROOM: u64 = 64 << 20;

/// Blocks so near to the last one count as in order: several lanes read every few blocks each.
const NEAR: u64 = 16;

/// The time after which a block that a reader waits for is also fetched from another holder, in
/// nanoseconds.
const LATE_NS: u64 = 500_000_000;

/// How often the time doubles after which a block is fetched from one more holder.
const LATE_TWICE_MAX: usize = 16;

/// The time after which, if no holder answers anything, those of the next rank are read from, too,
/// in nanoseconds.
const QUIET_MAX_NS: u64 = 5_000_000_000;

/// The waiting time after which it is measured how much comes, in nanoseconds.
const MEASURED_NS: u64 = 10_000_000_000;

/// The length that a short block counts as when rates are measured: a small file costs its round
/// trip.
const COUNTED_MIN: u64 = 16 << 10;

/// The most that counts between two looks at the clock: if this process was stopped, nobody was
/// silent.
const LOOK_MAX_NS: u64 = 500_000_000;

/// A block that is in memory or will be.
enum Slot {
    Queued,
    /// Being fetched from these holders, since the first began.
    Fetching(Vec<usize>, u64),
    /// Its bytes, and how many of them were given.
    Ready(Arc<Vec<u8>>, usize),
}

/// What a holder has given.
#[derive(Clone, Debug, Default)]
pub struct HolderState {
    /// The number of bytes that came from it first, verified.
    pub bytes: u64,
    /// Why the holder is no longer used; `None` while it is used.
    pub fault: Option<HolderFault>,
    /// The number of blocks that it was asked for and did not answer yet.
    pending: usize,
    /// When the holder last answered, or was first asked, in nanoseconds of
    /// [`waited_ns`](Window::waited_ns).
    heard_ns: u64,
}

/// What is to be done because holders do not answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Silence {
    /// The holders that are to be left alone.
    pub silent: Vec<usize>,
    /// Whether further holders are to be read from.
    pub is_quiet: bool,
    /// The bytes that came in a second, if there was no silence but readers waited all the time.
    pub waited_rate: Option<u64>,
}

/// The blocks that are in memory or in flight.
pub struct Window {
    /// The length of each block in bytes.
    lengths: Arc<[u32]>,
    /// Whether each block is needed; empty if all are.
    needed: Vec<bool>,
    slots: BTreeMap<u64, Slot>,
    bytes: u64,
    last: u64,
    /// The number of blocks to read ahead.
    ahead: u64,
    /// The last block that was queued to be read ahead.
    reach: u64,
    holders: Vec<HolderState>,
    /// How long readers have waited in all: the clock by which holders are silent.
    waited_ns: u64,
    /// When readers looked last.
    looked_ns: u64,
    /// When anybody answered last, or further holders were added, by the clock of waiting readers.
    heard_ns: u64,
    /// When the rate was measured last, by the clock of waiting readers.
    measured_ns: u64,
    /// The bytes that have come since.
    came: u64,
}

impl Window {
    /// Creates an empty window on blocks of these lengths, for so many holders.
    pub fn new(lengths: Arc<[u32]>, holders: usize) -> Self {
        let holders = vec![HolderState::default(); holders];
        Self {
            lengths,
            needed: Vec::new(),
            slots: BTreeMap::new(),
            bytes: 0,
            last: 0,
            ahead: 1,
            reach: 0,
            holders,
            waited_ns: 0,
            looked_ns: 0,
            heard_ns: 0,
            measured_ns: 0,
            came: 0,
        }
    }

    /// Reads no other blocks ahead than those of `ranges`. Later calls have no effect.
    pub fn need<Ranges: Iterator<Item = Range<u64>>>(&mut self, ranges: impl FnOnce() -> Ranges) {
        if self.needed.is_empty() {
            self.needed = vec![false; self.lengths.len()];
            ranges().for_each(|it| self.needed[it.start as usize..it.end as usize].fill(true));
        }
    }

    /// Returns the bytes of block `number` if they are here; otherwise they are fetched next.
    pub fn want(&mut self, number: u64) -> Option<Arc<Vec<u8>>> {
        if number > self.last {
            let is_near = number <= self.last + NEAR;
            self.ahead = if is_near { (self.ahead * 2).min(AHEAD) } else { 1 };
            self.reach = if is_near { self.reach } else { number };
            self.last = number;
        }
        if let Some(Slot::Ready(bytes, _)) = self.slots.get(&number) {
            let bytes = Arc::clone(bytes);
            self.read_ahead();
            return Some(bytes);
        }
        self.queue(number);
        self.read_ahead();
        None
    }

    fn read_ahead(&mut self) {
        let end = (self.last + self.ahead + 1).min(self.lengths.len() as u64);
        for number in (self.last.max(self.reach) + 1)..end {
            if self.needed.get(number as usize) == Some(&false) {
                continue;
            }
            // What was passed by is not needed: nodes have it.
            if !self.make_room(number, self.last.saturating_sub(NEAR)) {
                break;
            }
            self.queue(number);
            self.reach = number;
        }
    }

    fn queue(&mut self, number: u64) {
        if self.slots.contains_key(&number) {
            return;
        }
        // If an older one is still needed, it is fetched again.
        self.make_room(number, u64::MAX);
        self.slots.insert(number, Slot::Queued);
        self.bytes += u64::from(self.lengths[number as usize]);
    }

    /// Removes blocks before `end` that are here, the oldest first, until block `number` fits into
    /// memory. Returns whether it does.
    fn make_room(&mut self, number: u64, end: u64) -> bool {
        let length = u64::from(self.lengths[number as usize]);
        while self.bytes + length > ROOM {
            let mut old = self.slots.range(..end);
            let ready = old.find(|(_, slot)| matches!(slot, Slot::Ready(..)));
            let Some((&oldest, _)) = ready else { return false };
            self.remove(oldest);
        }
        true
    }

    fn remove(&mut self, number: u64) {
        if self.slots.remove(&number).is_some() {
            self.bytes -= u64::from(self.lengths[number as usize]);
        }
    }

    /// Notes that a reader has copied `bytes` bytes of block `number`. It leaves memory when all
    /// were.
    pub fn give(&mut self, number: u64, bytes: usize) {
        if let Some(Slot::Ready(all, given)) = self.slots.get_mut(&number) {
            *given += bytes;
            if *given >= all.len() {
                self.remove(number);
            }
        }
    }

    /// Returns the next block that `holder` is to fetch at the time `now_ns`; `None` if there is
    /// none.
    pub fn next(&mut self, holder: usize, now_ns: u64) -> Option<u64> {
        let last = self.last;
        let is_late = |number: u64, by: &[usize], since_ns: u64| {
            // Each further one comes after twice the time: those that fetch it may all be slow.
            let others = by.len().saturating_sub(1).min(LATE_TWICE_MAX);
            number <= last && !by.contains(&holder) && now_ns >= since_ns + (LATE_NS << others)
        };
        let next = self.slots.iter().find_map(|(number, slot)| match slot {
            Slot::Queued => Some(*number),
            Slot::Fetching(by, since) if is_late(*number, by, *since) => Some(*number),
            Slot::Fetching(..) | Slot::Ready(..) => None,
        })?;
        match self.slots.get_mut(&next) {
            Some(Slot::Fetching(by, _)) => by.push(holder),
            Some(slot) => *slot = Slot::Fetching(vec![holder], now_ns),
            None => {}
        }
        let state = &mut self.holders[holder];
        if state.pending == 0 {
            state.heard_ns = self.waited_ns;
        }
        state.pending += 1;
        Some(next)
    }

    /// Notes that `holder` has answered something to what [`next`](Self::next) returned.
    pub fn answered(&mut self, holder: usize) {
        let state = &mut self.holders[holder];
        state.pending = state.pending.saturating_sub(1);
        state.heard_ns = self.waited_ns;
        self.heard_ns = self.waited_ns;
    }

    /// Looks, for a reader that waits, which holders answer nothing at the time `now_ns`.
    /// `patience` returns how long each may be silent, in nanoseconds.
    pub fn look(&mut self, now_ns: u64, patience: impl Fn(usize) -> u64) -> Silence {
        self.waited_ns += now_ns.saturating_sub(self.looked_ns).min(LOOK_MAX_NS);
        self.looked_ns = now_ns;
        let all = self.holders.iter().enumerate();
        let asked = all.filter(|(_, state)| state.fault.is_none() && state.pending > 0);
        let silent = asked.filter(|(holder, state)| {
            self.waited_ns.saturating_sub(state.heard_ns) >= patience(*holder)
        });
        let silent = silent.map(|(holder, _)| holder).collect();
        let is_quiet = self.waited_ns.saturating_sub(self.heard_ns) >= QUIET_MAX_NS;
        if is_quiet {
            self.heard_ns = self.waited_ns;
        }
        let measured = self.measure();
        let waited_rate = if is_quiet { None } else { measured };
        Silence { silent, is_quiet, waited_rate }
    }

    /// Returns how many bytes came in a second while readers waited, each time that they have
    /// waited for so long.
    fn measure(&mut self) -> Option<u64> {
        let span_ns = self.waited_ns.saturating_sub(self.measured_ns);
        if span_ns < MEASURED_NS {
            return None;
        }
        let came = std::mem::take(&mut self.came);
        self.measured_ns = self.waited_ns;
        let rate = u128::from(came) * 1_000_000_000 / u128::from(span_ns);
        Some(u64::try_from(rate).unwrap_or(u64::MAX))
    }

    /// Returns how long readers have waited in all, in nanoseconds.
    pub fn waited_ns(&self) -> u64 {
        self.waited_ns
    }

    /// Takes a verified block from `holder`.
    pub fn fetched(&mut self, holder: usize, number: u64, bytes: Vec<u8>) {
        if let Some(slot @ (Slot::Queued | Slot::Fetching(..))) = self.slots.get_mut(&number) {
            self.holders[holder].bytes += bytes.len() as u64;
            self.came += (bytes.len() as u64).max(COUNTED_MIN);
            *slot = Slot::Ready(Arc::new(bytes), 0);
        }
    }

    /// Notes that `holder` does not have block `number` yet. Others may fetch it, and `holder`
    /// again.
    pub fn later(&mut self, holder: usize, number: u64) {
        if let Some(slot @ Slot::Fetching(..)) = self.slots.get_mut(&number)
            && let Slot::Fetching(by, _) = slot
        {
            by.retain(|it| *it != holder);
            if by.is_empty() {
                *slot = Slot::Queued;
            }
        }
    }

    /// Notes that `holder` cannot be used. Others fetch what it was to fetch.
    pub fn failed(&mut self, holder: usize, fault: HolderFault) {
        self.holders[holder].fault.get_or_insert(fault);
        for slot in self.slots.values_mut() {
            if let Slot::Fetching(by, _) = slot {
                by.retain(|it| *it != holder);
                if by.is_empty() {
                    *slot = Slot::Queued;
                }
            }
        }
    }

    /// Returns whether a block waits for a holder.
    pub fn is_queued(&self) -> bool {
        self.slots.values().any(|slot| matches!(slot, Slot::Queued))
    }

    /// Returns what each holder has given.
    pub fn holders(&self) -> &[HolderState] {
        &self.holders
    }

    /// Returns whether no holder can be used any more.
    pub fn is_lost(&self) -> bool {
        self.holders.iter().all(|holder| holder.fault.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::super::limits::ANSWER_MAX;
    use super::*;

    fn window_of(blocks: usize, holders: usize) -> Window {
        Window::new(vec![10; blocks].into(), holders)
    }

    /// Fetches everything that is queued, from one holder; returns the numbers.
    fn fetch(window: &mut Window, holder: usize) -> Vec<u64> {
        let mut fetched = Vec::new();
        while let Some(number) = window.next(holder, 0) {
            window.fetched(holder, number, vec![number as u8; 10]);
            fetched.push(number);
        }
        fetched
    }

    #[test]
    fn readers_in_order_get_more_ahead_and_others_little() {
        let mut window = window_of(1000, 1);
        assert!(window.want(0).is_none());
        assert_eq!(fetch(&mut window, 0), [0, 1]);
        for number in 1..20 {
            window.want(number);
            fetch(&mut window, 0);
            window.give(number, 10);
        }
        assert_eq!(window.reach, 19 + AHEAD);
        assert!(window.want(500).is_none());
        assert_eq!(fetch(&mut window, 0), [500, 501], "a jump");
        // A block that was given is fetched again only if it is asked for.
        assert!(window.want(3).is_none());
        assert_eq!(fetch(&mut window, 0), [3]);
    }

    #[test]
    fn what_is_not_needed_is_not_read_ahead() {
        let mut window = window_of(10, 1);
        window.need(|| [2..4, 6..7].into_iter());
        window.need(|| [0..9, 9..10].into_iter());
        for (number, fetched) in [(2, &[2, 3][..]), (3, &[6]), (6, &[])] {
            let _ = window.want(number);
            assert_eq!(fetch(&mut window, 0), fetched);
        }
    }

    #[test]
    fn a_failed_holder_leaves_its_blocks_to_others_and_a_late_one_gets_help() {
        let mut window = window_of(3, 2);
        assert!(window.want(0).is_none());
        assert_eq!((window.next(0, 0), window.next(1, 0)), (Some(0), Some(1)));
        assert_eq!(window.next(1, LATE_NS - 1), None);
        assert_eq!(window.next(1, LATE_NS), Some(0), "the reader waits for it");
        window.failed(1, HolderFault::Unread("gone".to_owned()));
        assert!(!window.is_lost());
        assert_eq!(window.next(0, LATE_NS), Some(1), "holder 0 still fetches the first one");
        window.fetched(0, 0, vec![0; 10]);
        assert_eq!(window.want(0).as_deref(), Some(&vec![0; 10]));
        window.failed(0, HolderFault::Differs("x".to_owned()));
        assert!(window.is_lost());
        assert_eq!(window.holders()[0].bytes, 10);
    }

    #[test]
    fn a_block_that_has_not_arrived_is_fetched_again_by_anybody() {
        let mut window = window_of(1, 2);
        assert!(window.want(0).is_none());
        assert_eq!((window.next(0, 0), window.next(1, 0)), (Some(0), None));
        window.later(0, 0);
        assert_eq!(window.next(1, 0), Some(0));
        window.later(1, 0);
        assert_eq!(window.next(1, 0), Some(0));
        assert!(!window.is_lost());
    }

    /// Looks every 100 ms for so many seconds; returns what is to be done, and after how many
    /// looks.
    fn looks(window: &mut Window, now_ns: &mut u64, seconds: u64) -> Vec<(u64, Silence)> {
        let look = |at| {
            *now_ns += 100_000_000;
            let silence = window.look(*now_ns, |_| ANSWER_MAX.as_nanos() as u64);
            (at, Silence { waited_rate: None, ..silence })
        };
        let all = (1..=seconds * 10).map(look);
        all.filter(|(_, silence)| *silence != Silence::default()).collect()
    }

    #[test]
    fn a_silent_holder_gets_help_after_seconds_and_is_left_alone_at_last() {
        let quiet = |at| (at, Silence { is_quiet: true, ..Silence::default() });
        let mut window = window_of(9, 2);
        let mut now_ns = 1_000_000_000_000;
        window.look(now_ns, |_| 0);
        let _ = window.want(0);
        assert_eq!(window.next(0, now_ns), Some(0));
        // The first look does not count, nor does the time in which this process was stopped.
        assert_eq!(looks(&mut window, &mut now_ns, 4), []);
        now_ns += 3_600_000_000_000;
        assert_eq!(looks(&mut window, &mut now_ns, 4), [quiet(1)]);
        // Whoever answers, if only that it has nothing yet, is not silent.
        window.answered(0);
        window.later(0, 0);
        assert_eq!(window.next(0, now_ns), Some(0));
        assert_eq!(window.next(1, now_ns), Some(1));
        assert_eq!(looks(&mut window, &mut now_ns, 5), [quiet(50)]);
        window.answered(1);
        window.fetched(1, 1, vec![0; 10]);
        let all = looks(&mut window, &mut now_ns, 35);
        assert_eq!(all.len(), 7, "help comes every 5 s: {all:?}");
        let silence = Silence { silent: vec![0], is_quiet: true, waited_rate: None };
        assert_eq!(all[6], (350, silence));
        window.failed(0, HolderFault::Unread("silent".to_owned()));
        assert_eq!(window.next(1, now_ns), Some(0), "others fetch what it was to fetch");
    }

    /// Waits for so many seconds for blocks of 1 MiB, of which one comes from holder 0 each time
    /// after `pause` looks of 100 ms. Returns the rates that were measured.
    fn rates(pause: u64, seconds: u64) -> Vec<u64> {
        let mut window = Window::new(vec![1 << 20; 1000].into(), 1);
        let mut rates = Vec::new();
        let mut number = 0;
        let mut now_ns = 0;
        for at in 1..=seconds * 10 {
            window.want(number);
            while window.next(0, now_ns).is_some() {}
            now_ns += 100_000_000;
            let silence = window.look(now_ns, |_| ANSWER_MAX.as_nanos() as u64);
            assert!(!silence.is_quiet && silence.silent.is_empty(), "it answers");
            rates.extend(silence.waited_rate);
            if at % pause == 0 {
                window.answered(0);
                window.fetched(0, number, vec![0; 1 << 20]);
                window.want(number);
                window.give(number, 1 << 20);
                number += 1;
            }
        }
        rates
    }

    #[test]
    fn a_holder_that_gives_each_block_just_in_time_is_measured() {
        // Two or three blocks of 1 MiB in ten seconds.
        let dripped = rates(49, 31);
        assert_eq!(dripped.len(), 3);
        assert!(dripped.iter().all(|rate| (200_000..320_000).contains(rate)), "{dripped:?}");
        let usual = rates(1, 31);
        assert!(usual.iter().all(|rate| *rate >= 9 << 20), "{usual:?}");
    }

    #[test]
    fn a_block_that_slow_holders_fetch_is_fetched_by_others_after_twice_the_time() {
        let mut window = window_of(1, 4);
        assert!(window.want(0).is_none());
        assert_eq!(window.next(0, 0), Some(0));
        for (holder, after_ns) in [(1, LATE_NS), (2, 2 * LATE_NS), (3, 4 * LATE_NS)] {
            assert_eq!(window.next(holder, after_ns - 1), None);
            assert_eq!(window.next(holder, after_ns), Some(0));
            assert_eq!(window.next(holder, after_ns), None, "it fetches the block already");
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut window = Window::new(vec![1 << 20; 300].into(), 1);
        for number in 0..200 {
            window.want(number);
            fetch(&mut window, 0);
            assert!(window.bytes <= ROOM + (1 << 20), "{}", window.bytes);
        }
    }
}
