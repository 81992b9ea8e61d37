//! One node's trace of one copy, as its threads hand it in.

use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use garland_core::plan::Plan;
use garland_core::trace::{NONE, Origin, Record, Ring, Role, Span, Stage, Trace};
use garland_protocol::{Begin, CopyId, End, LinkSide, TRACE_MAX};
use garland_sys::clock;
use garland_sys::schedule::Account;

use super::samples::Counters;
use super::thread::{At, Recorder};
use super::tracing::Tracing;
use crate::context::LaneHandle;

/// The kernel's counters are asked for this often.
const SAMPLE_NS: u64 = 250_000_000;

/// Spans of threads that have no ring: setting up, dialing, finishing.
const NOTES: usize = 512;

/// Records of the head's own trace, clock probes apart: 1 MiB of its file.
const HEAD_RECORDS: u32 = 16384;

/// How many records a trace may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// In all; none means that nothing is noted.
    pub records: u32,
    /// Threads that have a ring each.
    pub threads: usize,
}

impl Budget {
    /// Nothing is noted.
    pub const NOTHING: Self = Self { records: 0, threads: 0 };

    /// That of an agent that has been told to begin.
    pub fn of(begin: &Begin) -> Self {
        let lanes = begin.own_lanes().count();
        let threads = match begin.end {
            // A thread a lane, and the writer; or a thread a lane, and those of its source.
            End::Sink(_) => lanes + 1,
            End::Source(_) => lanes * 3,
        };
        Self { records: begin.trace, threads }
    }

    /// That of the head: a lane's thread and its source's, each lane.
    pub fn of_head(plan: &Plan, tracing: Option<Tracing>) -> Self {
        match tracing {
            Some(_) => Self { records: HEAD_RECORDS, threads: plan.lanes.len() * 3 },
            None => Self::NOTHING,
        }
    }

    /// How many records each node may hand over: all their traces together are to be less than a
    /// 400th of what the copy moves on each wire, since they all come in by the head's; small
    /// copies' are small anyway.
    pub fn of_node(plan: &Plan, tracing: Option<Tracing>) -> u32 {
        /// Bytes of a record on its way.
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

    /// Samples may take so much of it.
    fn samples(self) -> usize {
        self.records as usize / 4
    }
}

/// A node's trace, being made.
#[derive(Debug)]
pub struct Collector {
    budget: Budget,
    origin: Origin,
    /// The next thread's number; 0 is all those without a ring.
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
    /// A trace of `copy` at the node that has this place in the plan, which began at `started_ns`;
    /// its files are on the disk of the number `device`, as far as that is known.
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

    /// Whether anything is noted.
    pub fn is_on(&self) -> bool {
        self.budget.records > 0
    }

    /// The time; 0 when nothing is noted.
    pub fn now(&self) -> u64 {
        if self.is_on() { clock::now_ns() } else { 0 }
    }

    /// A recorder for the calling thread, which is there for the stage `what`.
    pub fn recorder(self: &Arc<Self>, what: Stage) -> Recorder {
        if !self.is_on() {
            return Recorder::default();
        }
        let thread = self.threads.fetch_add(1, Ordering::Relaxed);
        let account = Account::of_this_thread();
        self.lock().counters.add_thread(thread, what, account);
        Recorder::new(self, thread, self.budget.ring())
    }

    /// Takes in the ring of a thread that has ended.
    pub fn take_in(&self, ring: Ring) {
        self.lock().rings.push(ring);
    }

    /// Notes a span of a thread that has no ring.
    pub fn note(&self, span: Span) {
        if self.is_on() {
            self.lock().notes.push(span);
        }
    }

    /// Notes that the stage has taken the time since `begin_ns`.
    pub fn took(&self, stage: Stage, at: At, begin_ns: u64) {
        self.note(at.span(stage, begin_ns, self.now()));
    }

    /// Does `work` and notes the time it takes.
    pub fn time<T>(&self, stage: Stage, work: impl FnOnce() -> T) -> T {
        let begin_ns = self.now();
        let result = work();
        self.took(stage, At::HERE, begin_ns);
        result
    }

    /// Asks the kernel for its counters if it is time for it.
    pub fn sample(&self, lanes: &[Arc<LaneHandle>]) {
        let now = self.now();
        if now.saturating_sub(self.sampled_ns.load(Ordering::Relaxed)) >= SAMPLE_NS {
            self.sample_now(lanes);
        }
    }

    /// Asks the kernel for its counters: at once, at the beginning and the end.
    pub fn sample_now(&self, lanes: &[Arc<LaneHandle>]) {
        if self.is_on() {
            self.sampled_ns.store(clock::now_ns(), Ordering::Relaxed);
            self.lock().counters.sample(lanes);
        }
    }

    /// Asks for the counters of a lane's link, which is about to go.
    pub fn sample_link(&self, lane: u16, handle: &LaneHandle, side: LinkSide) {
        if self.is_on() {
            self.lock().counters.sample_link(lane, handle, side);
        }
    }

    /// The whole trace, once all threads with a ring have ended. What comes later is in no trace.
    pub fn finish(&self) -> Trace {
        let (rings, counters) = {
            let mut gathered = self.lock();
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
            // Each keeps its share of the room.
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

    fn lock(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
