//! Reads parts of objects ahead, in threads. Several requests are in flight at a time, so that
//! their round-trip times overlap. The memory for their bytes is bounded.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use garland_sys::sync::{Condvar, Mutex, MutexGuard};
use garland_sys::threads;

use crate::origin::{Origin, Stream, runtime};
use crate::transport::REQUESTS_AT_ONCE;
use crate::trouble::Trouble;
use crate::waiting::Waiting;

/// The size of a part in bytes.
pub(crate) const PART: u64 = 8 << 20;

/// The maximum number of bytes of parts in memory.
const ROOM: u64 = 8 * PART;

/// The maximum number of parts in memory. Objects that are smaller than a part need more requests
/// in flight.
const WIDTH: u64 = REQUESTS_AT_ONCE;

/// Objects that are read ahead.
pub(crate) struct Ahead(Arc<Shared>);

/// The parts of objects, numbered in the order in which they are read. Each belongs to one object.
struct Parts {
    origins: Vec<Arc<Origin>>,
    /// For each object, the number of its first part; and the number of all parts.
    first: Vec<u64>,
}

struct Shared {
    parts: Parts,
    window: Mutex<FetchWindow>,
    moved: Condvar,
}

/// The parts in memory or in flight.
struct FetchWindow {
    parts: BTreeMap<u64, Arc<FetchedPart>>,
    /// The number of bytes of these parts.
    bytes: u64,
    /// The first part whose fetch has not started.
    unclaimed: u64,
    /// The last part that a reader waits for.
    wanted: u64,
    /// The stream of the first part, which was opened with the object; `None` once this part is
    /// being fetched.
    first: Option<Stream>,
    over: bool,
}

struct FetchedPart {
    length: usize,
    state: Mutex<Bytes>,
    came: Condvar,
}

struct Bytes {
    here: Vec<u8>,
    /// The number of bytes that readers have copied; a byte that is copied twice counts twice.
    given: usize,
    trouble: Option<Trouble>,
}

impl Parts {
    fn new(origins: Vec<Arc<Origin>>) -> Self {
        let mut count = 0;
        let mut first = vec![0];
        first.extend(origins.iter().map(|origin| {
            count += origin.pinned.size.div_ceil(PART);
            count
        }));
        Self { origins, first }
    }

    fn count(&self) -> u64 {
        self.first.last().copied().unwrap_or_default()
    }

    /// Returns the object of a part, and the range of the part in it, in bytes.
    fn of(&self, number: u64) -> (&Arc<Origin>, Range<u64>) {
        let object = self.first.partition_point(|first| *first <= number) - 1;
        let start = (number - self.first[object]) * PART;
        let origin = &self.origins[object];
        (origin, start..(start + PART).min(origin.pinned.size))
    }
}

impl Ahead {
    /// Starts to read `origin`; `first` is the stream of its first part.
    pub(crate) fn start(origin: Arc<Origin>, first: Stream) -> Result<Self, Trouble> {
        Self::open(vec![origin], Some(first))
    }

    /// Starts to read objects, in this order.
    pub(crate) fn open(origins: Vec<Arc<Origin>>, first: Option<Stream>) -> Result<Self, Trouble> {
        let parts = Parts::new(origins);
        // As many as can have a part in memory.
        let total: u64 = parts.origins.iter().map(|origin| origin.pinned.size).sum();
        let mean = total.div_ceil(parts.count().max(1)).max(1);
        let wide = parts.count().min(WIDTH).min(ROOM / mean);
        let window = FetchWindow {
            parts: BTreeMap::new(),
            bytes: 0,
            unclaimed: 0,
            wanted: 0,
            first,
            over: false,
        };
        let shared = Shared { parts, window: Mutex::new(window), moved: Condvar::new() };
        let ahead = Self(Arc::new(shared));
        for place in 0..wide {
            let shared = Arc::clone(&ahead.0);
            match threads::spawn("part", move || shared.work()) {
                Ok(_) => {}
                // The threads that could be started are enough.
                Err(_) if place > 0 => break,
                Err(error) => return Err(Trouble::new(error.to_string())),
            }
        }
        Ok(ahead)
    }

    /// Waits until the bytes of `range` are in memory. Parts that are no longer in memory are not
    /// waited for: `read` fetches their bytes separately. The range is one of the first object.
    pub(crate) fn wait(&self, range: Range<u64>, waiting: &Waiting<'_>) -> Result<(), Trouble> {
        for number in range.start / PART..range.end.div_ceil(PART) {
            if let Some(part) = self.0.part(number, waiting)? {
                let end = (range.end - number * PART).min(part.length as u64);
                drop(part.have(end as usize, waiting)?);
            }
        }
        Ok(())
    }

    /// Fills `bytes` with the contents of the object with the index `object` from `offset` on.
    /// Fetches bytes that are no longer in memory.
    pub(crate) fn read(
        &self,
        object: usize,
        mut offset: u64,
        mut bytes: &mut [u8],
        waiting: &Waiting<'_>,
    ) -> Result<(), Trouble> {
        while !bytes.is_empty() {
            let number = offset / PART;
            let within = (offset % PART) as usize;
            let length = bytes.len().min(PART as usize - within);
            let (now, rest) = bytes.split_at_mut(length);
            let number = self.0.parts.first[object] + number;
            match self.0.part(number, waiting)? {
                Some(part) => {
                    if part.give(within, now, waiting)? {
                        self.0.forget(number);
                    }
                }
                // The part is no longer in memory: a node needs a block that was sent long ago.
                None => self.0.parts.origins[object].fetch(offset, now)?,
            }
            offset += length as u64;
            bytes = rest;
        }
        Ok(())
    }
}

impl Drop for Ahead {
    /// Ends the fetching threads after their current part. They are not joined.
    fn drop(&mut self) {
        self.0.window.lock().over = true;
        self.0.moved.notify_all();
    }
}

impl Shared {
    /// Waits until the part `number` is being fetched, and returns the part; `None` if it is no
    /// longer in memory.
    fn part(
        &self,
        number: u64,
        waiting: &Waiting<'_>,
    ) -> Result<Option<Arc<FetchedPart>>, Trouble> {
        let mut window = self.window.lock();
        if number >= window.unclaimed + WIDTH {
            // Skip the earlier parts, which are not needed now.
            window.unclaimed = number;
        }
        window.wanted = window.wanted.max(number);
        self.moved.notify_all();
        let claimed = |window: &FetchWindow| number < window.unclaimed;
        let window = waiting.until(&self.moved, window, claimed, |window| window.unclaimed)?;
        Ok(window.parts.get(&number).cloned())
    }

    /// Removes a part that was read completely.
    fn forget(&self, number: u64) {
        let mut window = self.window.lock();
        if let Some(part) = window.parts.remove(&number) {
            window.bytes -= part.length as u64;
        }
        drop(window);
        self.moved.notify_all();
    }

    fn work(&self) {
        while let Some((number, part, begun)) = self.claim() {
            let fetched = self.fill(number, &part, begun);
            if let Err(trouble) = fetched {
                part.state.lock().trouble = Some(trouble);
                part.came.notify_all();
            }
        }
    }

    fn claim(&self) -> Option<(u64, Arc<FetchedPart>, Option<Stream>)> {
        let mut window = self.window.lock();
        loop {
            if window.over || window.unclaimed >= self.parts.count() {
                // Skipping goes forward only, so nothing is left to be claimed.
                return None;
            }
            let number = window.unclaimed;
            let (_, range) = self.parts.of(number);
            let length = range.end - range.start;
            let waited_for = window.wanted >= number;
            if waited_for || window.has_room(length) {
                while !window.has_room(length) {
                    // Remove the oldest part, which most lanes have sent already.
                    let Some((_, oldest)) = window.parts.pop_first() else { break };
                    window.bytes -= oldest.length as u64;
                }
                let bytes = Bytes { here: Vec::new(), given: 0, trouble: None };
                let state = Mutex::new(bytes);
                let came = Condvar::new();
                let part = Arc::new(FetchedPart { length: length as usize, state, came });
                window.parts.insert(number, Arc::clone(&part));
                window.bytes += length;
                window.unclaimed += 1;
                let begun = window.first.take().filter(|_| number == 0);
                self.moved.notify_all();
                return Some((number, part, begun));
            }
            self.moved.wait(&mut window);
        }
    }

    fn fill(&self, number: u64, part: &FetchedPart, begun: Option<Stream>) -> Result<(), Trouble> {
        let (origin, range) = self.parts.of(number);
        part.state.lock().here.reserve_exact(part.length);
        let mut take = |bytes: &[u8]| {
            part.state.lock().here.extend_from_slice(bytes);
            part.came.notify_all();
            Ok(())
        };
        runtime()?.block_on(origin.pour(range, begun, true, &mut take))
    }
}

impl FetchWindow {
    /// Returns whether a part of `length` bytes fits into the memory of all parts.
    fn has_room(&self, length: u64) -> bool {
        (self.parts.len() as u64) < WIDTH && self.bytes + length <= ROOM
    }
}

impl FetchedPart {
    /// Waits until the bytes before `end` have arrived, and returns the bytes.
    fn have(&self, end: usize, waiting: &Waiting<'_>) -> Result<MutexGuard<'_, Bytes>, Trouble> {
        let over = |bytes: &Bytes| bytes.here.len() >= end || bytes.trouble.is_some();
        let came = |bytes: &Bytes| bytes.here.len() as u64;
        let bytes = waiting.until(&self.came, self.state.lock(), over, came)?;
        match bytes.trouble.clone().filter(|_| bytes.here.len() < end) {
            Some(trouble) => Err(trouble),
            None => Ok(bytes),
        }
    }

    /// Waits for the bytes from `offset` on and copies them; returns whether the part was read
    /// completely.
    fn give(&self, offset: usize, to: &mut [u8], waiting: &Waiting<'_>) -> Result<bool, Trouble> {
        let wanted = offset..offset + to.len();
        let mut bytes = self.have(wanted.end, waiting)?;
        to.copy_from_slice(&bytes.here[wanted]);
        bytes.given += to.len();
        Ok(bytes.given >= self.length)
    }
}

impl Origin {
    /// Fills `to` with the contents from `offset` on, with a request of its own.
    fn fetch(&self, offset: u64, to: &mut [u8]) -> Result<(), Trouble> {
        let range: Range<u64> = offset..offset + to.len() as u64;
        let mut filled = 0;
        let mut take = |bytes: &[u8]| {
            to[filled..filled + bytes.len()].copy_from_slice(bytes);
            filled += bytes.len();
            Ok(())
        };
        runtime()?.block_on(self.pour(range, None, true, &mut take))
    }
}
