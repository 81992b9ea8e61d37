//! Records the spans of one thread.

use std::sync::Arc;

use garland_core::trace::{Ring, Span, Stage};
use garland_sys::clock;

use super::at::At;
use super::collector::Collector;

/// Waits shorter than this, in nanoseconds, are not recorded: they are the cost of reading the
/// clock.
const SHORTEST_NS: u64 = 1_000;

/// Records the spans of one thread in a ring of its own. When the recorder is dropped, the
/// collector gets the ring. A default recorder records nothing.
#[derive(Debug, Default)]
pub struct Recorder {
    work: Option<Work>,
}

#[derive(Debug)]
struct Work {
    collector: Arc<Collector>,
    thread: u16,
    ring: Ring,
}

impl Recorder {
    /// Returns a recorder for the calling thread, which does the work of `stage`. It records
    /// nothing if the collector is off.
    pub fn new(collector: &Arc<Collector>, stage: Stage) -> Self {
        let work = collector.add_thread(stage).map(|(thread, room)| {
            let collector = Arc::clone(collector);
            let ring = Ring::new(room);
            Work { collector, thread, ring }
        });
        Self { work }
    }

    /// Returns whether spans are recorded.
    pub fn is_on(&self) -> bool {
        self.work.is_some()
    }

    /// Returns the monotonic time in nanoseconds; 0 if nothing is recorded.
    pub fn now(&self) -> u64 {
        if self.is_on() { clock::now_ns() } else { 0 }
    }

    /// Returns the CPU time of the thread in nanoseconds; 0 if nothing is recorded.
    pub fn cpu_ns(&self) -> u64 {
        if self.is_on() { clock::thread_cpu_ns() } else { 0 }
    }

    /// Records that `stage` took from `begin_ns` until now, for `bytes` bytes. Returns the current
    /// time, which is the beginning of the next stage.
    pub fn took(&mut self, stage: Stage, at: At, begin_ns: u64, bytes: usize) -> u64 {
        let now = self.now();
        self.note(Span { bytes: bytes as u64, ..at.span(stage, begin_ns, now) });
        now
    }

    /// Records a span of this thread, unless it is a very short wait.
    pub fn note(&mut self, span: Span) {
        let Some(work) = &mut self.work else { return };
        if !span.stage.is_wait() || span.busy_ns >= SHORTEST_NS {
            work.ring.push(Span { thread: work.thread, ..span });
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if let Some(Work { collector, ring, .. }) = self.work.take() {
            collector.take_in(ring);
        }
    }
}
