//! One thread's spans.

use std::sync::Arc;

use garland_core::trace::{NO_BLOCK, NONE, Ring, Span, Stage};
use garland_sys::clock;

use super::collector::Collector;

/// Waits that are shorter than this are only what taking the time costs.
const SHORTEST_NS: u64 = 1_000;

/// What a span is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The lane's number.
    pub lane: u16,
    /// The other node's place in the plan.
    pub peer: u16,
    /// The block's number in the copy.
    pub block: u32,
}

impl At {
    /// About the node itself.
    pub const HERE: Self = Self { lane: NONE, peer: NONE, block: NO_BLOCK };

    /// About a block of a lane, in this node alone.
    pub fn block(lane: u16, index: u64) -> Self {
        Self { lane, ..Self::HERE }.of(index)
    }

    /// The same with another node.
    pub fn with(self, peer: u16) -> Self {
        Self { peer, ..self }
    }

    /// The same about the block of this number.
    pub fn of(self, index: u64) -> Self {
        Self { block: u32::try_from(index).unwrap_or(NO_BLOCK), ..self }
    }

    /// A span about it that takes all of its time.
    pub fn span(self, stage: Stage, begin_ns: u64, end_ns: u64) -> Span {
        let end_ns = end_ns.max(begin_ns);
        Span {
            stage,
            lane: self.lane,
            peer: self.peer,
            thread: 0,
            begin_ns,
            end_ns,
            busy_ns: end_ns - begin_ns,
            bytes: 0,
            block: self.block,
            count: 1,
            operation: 0,
        }
    }
}

/// A thread's own ring. Dropping it hands the ring in.
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
    /// A recorder for the calling thread, whose number in the node is `thread`.
    pub fn new(collector: &Arc<Collector>, thread: u16, room: usize) -> Self {
        let (collector, ring) = (Arc::clone(collector), Ring::new(room));
        Self { work: Some(Work { collector, thread, ring }) }
    }

    /// Whether anything is noted.
    pub fn is_on(&self) -> bool {
        self.work.is_some()
    }

    /// The time; 0 when nothing is noted.
    pub fn now(&self) -> u64 {
        if self.is_on() { clock::now_ns() } else { 0 }
    }

    /// CPU nanoseconds that the thread has used; 0 when nothing is noted.
    pub fn cpu_ns(&self) -> u64 {
        if self.is_on() { clock::thread_cpu_ns() } else { 0 }
    }

    /// The stage has taken the time since `begin_ns` for so many bytes; gives the time, when the
    /// next stage begins.
    pub fn took(&mut self, stage: Stage, at: At, begin_ns: u64, bytes: usize) -> u64 {
        let now = self.now();
        self.note(Span { bytes: bytes as u64, ..at.span(stage, begin_ns, now) });
        now
    }

    /// Notes a span of this thread.
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
