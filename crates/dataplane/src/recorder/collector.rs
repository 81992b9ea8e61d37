//! Collects the trace of one copy on one node from the node's threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use garland_core::plan::Plan;
use garland_core::trace::{NONE, Origin, Record, Ring, Role, Span, Stage, Trace};
use garland_protocol::copy::{Begin, CopyId, End, LinkSide, TRACE_MAX};
use garland_sys::clock;
use garland_sys::schedule::Account;
use garland_sys::sync::Mutex;

use super::at::At;
use super::samples::Counters;
use crate::context::LaneHandle;
use crate::thread_count;

/// The interval between samples of the kernel's counters, in nanoseconds.
const SAMPLE_NS: u64 = 250_000_000;

/// The maximum number of spans of threads without a ring, such as those of set-up and commit.
const NOTES: usize = 512;

/// The maximum number of records in the head's own trace, without clock probes: 1 MiB of the trace
/// file.
const HEAD_RECORDS: u32 = 16384;

/// The parameters of a copy's trace.
#[derive(Clone, Copy, Debug)]
pub struct Tracing {
    /// The time at which the command began, in monotonic nanoseconds.
    pub started_ns: u64,
    /// Whether the nodes belong to a lab.
    pub emulated: bool,
}

/// The maximum size of a node's trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The maximum number of records; 0 turns recording off.
    pub records: u32,
    /// The number of threads that share the records; each has a ring of its own.
    pub threads: usize,
}

impl Budget {
    /// The budget of a copy without a trace.
    pub const NOTHING: Self = Self { records: 0, threads: 0 };

    /// Returns the budget of an agent, which the head has set in `begin`.
    pub fn from_begin(begin: &Begin) -> Self {
        let lanes = begin.own_lanes().count();
        let threads = match begin.end {
            // A node that receives has one thread per lane, and the writers. A source has three per
            // lane: the lane's own and two that read.
            End::Sink(_) => lanes + thread_count::writers(begin.layout, lanes),
            End::Source(_) => lanes * 3,
        };
        Self { records: begin.trace, threads }
    }

    /// Returns the budget of the head, which has three threads per lane; [`Self::NOTHING`] without
    /// `tracing`.
    pub fn of_head(plan: &Plan, tracing: Option<Tracing>) -> Self {
        match tracing {
            Some(_) => Self { records: HEAD_RECORDS, threads: plan.lanes.len() * 3 },
            None => Self::NOTHING,
        }
    }

    /// Returns the number of records that each node may send to the head; 0 without `tracing`. All
    /// traces arrive over the head's link. Together they stay below 1/400 of the bytes that the
    /// copy moves over a link, unless the copy is small.
    pub fn of_node(plan: &Plan, tracing: Option<Tracing>) -> u32 {
        /// The size of a record on the wire, in bytes.
        const PACKED: u64 = 24;
        const LEAST: u64 = 2048;
        if tracing.is_none() {
            return 0;
        }
        let nodes = plan.nodes.len().saturating_sub(1).max(1) as u64;
        let room = plan.layout.length / 400 / nodes / PACKED;
        u32::try_from(room.max(LEAST)).unwrap_or(TRACE_MAX).min(TRACE_MAX)
    }

    fn ring(self) -> usize {
        self.records as usize / self.threads.max(1)
    }

    /// Returns the maximum number of records that are samples of the kernel's counters.
    fn samples(self) -> usize {
        self.records as usize / 4
    }
}

/// The trace of a copy on one node while it is recorded.
#[derive(Debug)]
pub struct Collector {
    budget: Budget,
    origin: Origin,
    /// The number of the next thread with a ring; threads without a ring share the number 0.
    threads: AtomicU16,
    sampled_ns: AtomicU64,
    gathered: Mutex<Gathered>,
}

#[derive(Debug)]
struct Gathered {
    rings: Vec<Ring>,
    notes: Ring,
    counters: Counters,
}

impl Collector {
    /// Returns an empty trace of `copy` on the node with index `place` in the plan. The trace
    /// begins at `started_ns`, in monotonic nanoseconds. `device` is the device number of the
    /// node's disk, if known.
    pub fn new(
        budget: Budget,
        copy: CopyId,
        place: u32,
        started_ns: u64,
        device: Option<u64>,
    ) -> Arc<Self> {
        let now = clock::now_ns();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let origin = Origin {
            node: String::new(),
            index: u16::try_from(place).unwrap_or(NONE),
            role: if place == 0 { Role::Head } else { Role::Agent },
            processors: u16::try_from(processors).unwrap_or(u16::MAX),
            started_ns,
            wall_ns: clock::wall_ns().saturating_sub(now.saturating_sub(started_ns)),
            copy: copy.0,
            emulated: false,
        };
        let device = device.filter(|_| budget.records > 0);
        let gathered = Gathered {
            rings: Vec::new(),
            notes: Ring::new(NOTES.min(budget.records as usize)),
            counters: Counters::new(budget.samples(), device),
        };
        Arc::new(Self {
            budget,
            origin,
            threads: AtomicU16::new(1),
            sampled_ns: AtomicU64::new(0),
            gathered: Mutex::new(gathered),
        })
    }

    /// Returns whether anything is recorded.
    pub fn is_on(&self) -> bool {
        self.budget.records > 0
    }

    /// Returns the monotonic time in nanoseconds; 0 if nothing is recorded.
    pub fn now(&self) -> u64 {
        if self.is_on() { clock::now_ns() } else { 0 }
    }

    /// Adds the calling thread, which does the work of `stage`. Returns the number of the thread
    /// and the capacity of its ring in records; none if nothing is recorded.
    pub(super) fn add_thread(&self, stage: Stage) -> Option<(u16, usize)> {
        if !self.is_on() {
            return None;
        }
        let thread = self.threads.fetch_add(1, Ordering::Relaxed);
        self.gathered.lock().counters.add_thread(thread, stage, Account::of_this_thread());
        Some((thread, self.budget.ring()))
    }

    /// Adds the ring of a thread that has ended.
    pub fn take_in(&self, ring: Ring) {
        self.gathered.lock().rings.push(ring);
    }

    /// Records a span of a thread without a ring.
    pub fn note(&self, span: Span) {
        if self.is_on() {
            self.gathered.lock().notes.push(span);
        }
    }

    /// Records that `stage` took from `begin_ns` until now, on a thread without a ring.
    pub fn took(&self, stage: Stage, at: At, begin_ns: u64) {
        self.note(at.span(stage, begin_ns, self.now()));
    }

    /// Runs `work`, records the time it takes as `stage` of the whole node, and returns its result.
    pub fn time<T>(&self, stage: Stage, work: impl FnOnce() -> T) -> T {
        let begin_ns = self.now();
        let result = work();
        self.took(stage, At::HERE, begin_ns);
        result
    }

    /// Samples the kernel's counters unless that was done within the last 250 ms.
    pub fn sample(&self, lanes: impl FnOnce() -> Vec<(u16, Arc<LaneHandle>)>) {
        let now = self.now();
        if now.saturating_sub(self.sampled_ns.load(Ordering::Relaxed)) >= SAMPLE_NS {
            self.sample_now(&lanes());
        }
    }

    /// Samples the kernel's counters now: at the beginning and the end of a copy.
    pub fn sample_now(&self, lanes: &[(u16, Arc<LaneHandle>)]) {
        if self.is_on() {
            self.sampled_ns.store(clock::now_ns(), Ordering::Relaxed);
            self.gathered.lock().counters.sample(lanes);
        }
    }

    /// Samples the counters of a lane's links on one side, before one of them is closed.
    pub fn sample_link(&self, lane: u16, handle: &LaneHandle, side: LinkSide) {
        if self.is_on() {
            self.gathered.lock().counters.sample_link(lane, handle, side);
        }
    }

    /// Returns the whole trace, ordered by time. Call this after all threads with a ring have
    /// ended; later spans are lost.
    pub fn finish(&self) -> Trace {
        let (rings, counters) = {
            let mut gathered = self.gathered.lock();
            let notes = std::mem::replace(&mut gathered.notes, Ring::new(0));
            let mut rings = std::mem::take(&mut gathered.rings);
            rings.push(notes);
            (rings, std::mem::take(&mut gathered.counters))
        };
        let mut records: Vec<Record> = counters.into_records().collect();
        let room = (self.budget.records as usize).saturating_sub(records.len());
        let all: usize = rings.iter().map(Ring::len).sum();
        let mut lost = Vec::new();
        for ring in rings {
            // Each ring keeps its share of the remaining records.
            let share = if all > room { ring.len() * room / all } else { ring.len() };
            let (spans, rest) = ring.into_parts(share);
            records.extend(spans.into_iter().map(Record::Span));
            lost.extend(rest.into_iter().map(Record::Lost));
        }
        records.extend(lost);
        let mut trace = Trace { origin: self.origin.clone(), records };
        trace.put_in_order();
        trace
    }
}
