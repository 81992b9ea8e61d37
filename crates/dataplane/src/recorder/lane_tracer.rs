//! Records the trace of a lane's thread: a few spans per block, regardless of the number of slices.

use std::cmp::Reverse;
use std::sync::Arc;

use garland_core::trace::{Exchange, NONE, Span, Stage};
use garland_protocol::copy::Route;

use super::at::{At, peer_index};
use super::meter::Meter;
use super::thread::Recorder;
use crate::context::{Awaited, Flow};

/// The stages in which a lane waits: for the upstream, the downstream, a buffer, or permission to
/// send.
const WAITS: [Stage; 4] =
    [Stage::WaitUpstream, Stage::WaitDownstream, Stage::WaitBuffer, Stage::Control];

/// Records the spans of a lane's thread, and counts its bytes and waits in a [`Flow`].
#[derive(Debug, Default)]
pub struct LaneTracer {
    recorder: Recorder,
    lane: u16,
    /// The index of the upstream in the plan, or `NONE`.
    up: u16,
    /// For each downstream, its index in the plan, and the time in nanoseconds of writes to it
    /// since the last block.
    downs: Vec<(u16, u64)>,
    meter: Meter,
    /// The waits since the last block, for each stage of [`WAITS`].
    waits: [Wait; 4],
    /// The bytes and waits of the lane so far, which other threads can read during the copy.
    flow: Arc<Flow>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Wait {
    begin_ns: u64,
    end_ns: u64,
    busy_ns: u64,
}

/// The beginning of a span: the time, and the CPU time that the thread had used by then.
#[derive(Clone, Copy, Debug)]
pub struct Began {
    now_ns: u64,
    cpu_ns: u64,
}

/// When a lane passed a block, and for how long its calls waited for its neighbours; all in
/// nanoseconds.
#[derive(Clone, Copy, Default)]
struct BlockTimes {
    begin_ns: u64,
    end_ns: u64,
    up_ns: u64,
    down_ns: u64,
}

impl LaneTracer {
    /// Returns a tracer for the calling thread, which moves the blocks of `lane`.
    pub fn new(recorder: Recorder, lane: u16, flow: Arc<Flow>) -> Self {
        let meter = Meter::default();
        let waits = [Wait::default(); 4];
        Self { recorder, lane, up: NONE, downs: Vec::new(), meter, waits, flow }
    }

    /// Sets the current route of the lane.
    pub fn route(&mut self, route: &Route) {
        self.up = route.upstream.map_or(NONE, |(id, ..)| peer_index(id));
        self.downs = route.downstreams.iter().map(|down| (peer_index(down.node), 0)).collect();
    }

    /// Returns the lane and the peer `peer` for a span that belongs to no block.
    pub fn neighbor(&self, peer: u16) -> At {
        At { lane: self.lane, peer, ..At::HERE }
    }

    /// Returns the index in the plan of the downstream to which writes took longest since the last
    /// block; `NONE` without a downstream.
    fn slowest(&self) -> u16 {
        let slowest = self.downs.iter().enumerate().max_by_key(|(at, (_, ns))| (*ns, Reverse(*at)));
        slowest.map_or(NONE, |(_, (peer, _))| *peer)
    }

    /// Returns the recorder of the thread, to record spans other than those of blocks and waits.
    pub fn recorder(&mut self) -> &mut Recorder {
        &mut self.recorder
    }

    /// Returns the monotonic time in nanoseconds; 0 if nothing is recorded.
    pub fn now(&self) -> u64 {
        self.recorder.now()
    }

    /// Returns the current time, as the beginning of a span.
    pub fn begin(&self) -> Began {
        Began { now_ns: self.recorder.now(), cpu_ns: self.recorder.cpu_ns() }
    }

    /// Records that the lane begins to wait for `what`, or begins a call that may block. Returns
    /// the current time.
    pub fn awaits(&self, what: Awaited) -> u64 {
        let now = self.recorder.now();
        if self.recorder.is_on() {
            self.flow.awaits(what, now);
        }
        now
    }

    /// Records a wait for `what` from `since_ns` to `now_ns`, after which the thread works.
    fn got(&self, what: Awaited, since_ns: u64, now_ns: u64) {
        self.flow.waited(what, now_ns.saturating_sub(since_ns));
        self.flow.works(now_ns);
    }

    /// Records that the lane had no work since `since_ns`.
    pub fn rested(&self, since_ns: u64) {
        if self.recorder.is_on() {
            self.got(Awaited::Rest, since_ns, self.recorder.now());
        }
    }

    /// Records that a block of this node's own source or store is ready, which was requested at
    /// `began`. The time during which the thread used no CPU counts as a wait for the disk.
    pub fn prepared(&self, began: Began) {
        if self.recorder.is_on() {
            let end = self.begin();
            let worked_ns = end.cpu_ns.saturating_sub(began.cpu_ns);
            self.got(Awaited::Disk, began.now_ns + worked_ns, end.now_ns);
        }
    }

    /// Records that the lane has waited in `stage` since `since_ns`.
    pub fn waited(&mut self, stage: Stage, since_ns: u64) {
        if !self.recorder.is_on() {
            return;
        }
        let now = self.recorder.now();
        self.got(Awaited::from_stage(stage), since_ns, now);
        let Some(at) = WAITS.iter().position(|other| *other == stage) else { return };
        let wait = &mut self.waits[at];
        if wait.busy_ns == 0 {
            wait.begin_ns = since_ns;
        }
        wait.end_ns = now;
        wait.busy_ns += now.saturating_sub(since_ns);
    }

    /// Records a call that began at `since_ns` and read `bytes` bytes from the upstream. Returns
    /// the current time.
    pub fn received(&mut self, since_ns: u64, bytes: usize) -> u64 {
        let now = self.recorder.now();
        let spent_ns = now.saturating_sub(since_ns);
        self.meter.received(spent_ns, bytes);
        self.flow.came(bytes);
        if self.recorder.is_on() {
            self.flow.called(Awaited::Up, spent_ns);
            self.flow.awaits(if self.downs.is_empty() { Awaited::Up } else { Awaited::Down }, now);
        }
        now
    }

    /// Records a call that began at `since_ns` and wrote `bytes` bytes to the downstream `peer`.
    /// Returns the current time.
    pub fn sent(&mut self, since_ns: u64, peer: u16, bytes: usize) -> u64 {
        let now = self.recorder.now();
        let spent_ns = now.saturating_sub(since_ns);
        self.meter.sent(spent_ns, bytes);
        let down = self.downs.iter_mut().find(|(down, _)| *down == peer);
        down.into_iter().for_each(|(_, ns)| *ns += spent_ns);
        self.flow.went(bytes);
        if self.recorder.is_on() {
            self.flow.called(Awaited::Down, spent_ns);
            // A slice is written to one downstream after another; then the next one is read.
            let is_last = self.downs.last().is_none_or(|(last, _)| *last == peer);
            self.flow.awaits(if is_last { Awaited::Up } else { Awaited::Down }, now);
        }
        now
    }

    /// Records that block `index`, of `bytes` bytes on the wire, was received since `began` and
    /// forwarded to the nodes `to`, given by their indexes in the plan.
    pub fn passed(&mut self, began: Began, index: u64, bytes: usize, to: &[u16]) {
        if !self.recorder.is_on() {
            return;
        }
        let end = self.begin();
        let parts = self.meter.part(end.cpu_ns.saturating_sub(began.cpu_ns));
        self.flow.passed(parts.wait_up_ns, parts.wait_down_ns);
        self.flow.works(end.now_ns);
        let at = At::block(self.lane, index);
        let up = at.with(self.up);
        let bytes = bytes as u64;
        let times = BlockTimes {
            begin_ns: began.now_ns,
            end_ns: end.now_ns,
            up_ns: parts.wait_up_ns,
            down_ns: parts.wait_down_ns,
        };
        self.note_waits(at, times);
        let whole = |stage, at: At, busy_ns: u64| {
            let span = at.span(stage, began.now_ns, end.now_ns);
            Span { busy_ns: busy_ns.min(span.busy_ns), bytes, ..span }
        };
        self.recorder.note(whole(Stage::Receive, up, parts.receive_ns));
        for &peer in to {
            let busy_ns = parts.relay_ns / to.len() as u64;
            self.recorder.note(whole(Stage::Relay, at.with(peer), busy_ns));
        }
    }

    /// Records that block `index` of this node's own source or store, of `bytes` bytes on the wire,
    /// was sent since `began` to the nodes `to`, given by their indexes in the plan.
    pub fn fed(&mut self, began: Began, index: u64, bytes: usize, to: &[u16]) {
        if to.len() == 1 {
            // With several downstreams `sent` counts the bytes.
            self.flow.went(bytes);
        }
        if !self.recorder.is_on() {
            return;
        }
        let end = self.begin();
        let spent_ns = end.now_ns.saturating_sub(began.now_ns);
        let busy_ns = end.cpu_ns.saturating_sub(began.cpu_ns).min(spent_ns);
        let at = At::block(self.lane, index);
        self.flow.passed(0, spent_ns - busy_ns);
        self.flow.works(end.now_ns);
        let times = BlockTimes {
            begin_ns: began.now_ns,
            end_ns: end.now_ns,
            up_ns: 0,
            down_ns: spent_ns - busy_ns,
        };
        self.note_waits(at, times);
        for &peer in to {
            let span = at.with(peer).span(Stage::Send, began.now_ns, end.now_ns);
            let busy_ns = busy_ns / to.len() as u64;
            self.recorder.note(Span { busy_ns, bytes: bytes as u64, ..span });
        }
        // Discard the sums of the meter, which are for relayed blocks.
        self.meter.part(0);
    }

    /// Records the waits since the last block, together with the waits during this block.
    fn note_waits(&mut self, at: At, block: BlockTimes) {
        let up = at.with(self.up);
        let down = at.with(self.slowest());
        self.downs.iter_mut().for_each(|(_, ns)| *ns = 0);
        let operation = At { block: Exchange::Operation.number(), ..down };
        let within = [(up, block.up_ns), (down, block.down_ns), (at, 0), (operation, 0)];
        let waits = std::mem::take(&mut self.waits);
        for ((stage, wait), (at, within_ns)) in WAITS.into_iter().zip(waits).zip(within) {
            if wait.busy_ns + within_ns == 0 {
                continue;
            }
            // Waits that ended before the block are not part of its stages.
            let begin_ns = if wait.busy_ns > 0 { wait.begin_ns } else { block.begin_ns };
            let end_ns = if within_ns > 0 { block.end_ns } else { wait.end_ns };
            let span = at.span(stage, begin_ns, end_ns);
            let busy_ns = (wait.busy_ns + within_ns).min(span.busy_ns);
            self.recorder.note(Span { busy_ns, ..span });
        }
    }
}

impl Drop for LaneTracer {
    /// Records the waits after the last block.
    fn drop(&mut self) {
        if self.recorder.is_on() {
            self.note_waits(At { lane: self.lane, ..At::HERE }, BlockTimes::default());
        }
    }
}
