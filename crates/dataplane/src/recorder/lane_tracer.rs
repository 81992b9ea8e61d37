//! What a lane's thread notes: a handful of spans a block, however many slices it came in.

use std::cmp::Reverse;
use std::sync::Arc;

use garland_core::trace::{Exchange, NONE, Span, Stage};
use garland_protocol::Route;

use super::at::At;
use super::meter::Meter;
use super::thread::Recorder;
use crate::context::{Awaited, Flow};

/// A lane's recorder.
#[derive(Debug, Default)]
pub struct LaneTracer {
    recorder: Recorder,
    lane: u16,
    /// The upstream's place in the plan.
    up: u16,
    /// The downstreams', and nanoseconds that giving to each took since the last block.
    downs: Vec<(u16, u64)>,
    meter: Meter,
    /// Waiting since the last block: for the upstream, the downstream, a buffer, leave to go on.
    waits: [Wait; 4],
    /// The same for those who look meanwhile.
    flow: Arc<Flow>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Wait {
    begin_ns: u64,
    end_ns: u64,
    busy_ns: u64,
}

/// When something began: by the clock, and by the thread's CPU time.
#[derive(Clone, Copy, Debug)]
pub struct Began {
    now_ns: u64,
    cpu_ns: u64,
}

impl LaneTracer {
    /// The recorder of the calling thread, which moves the blocks of `lane`.
    pub fn new(recorder: Recorder, lane: u16, flow: Arc<Flow>) -> Self {
        let (meter, waits) = (Meter::default(), [Wait::default(); 4]);
        Self { recorder, lane, up: NONE, downs: Vec::new(), meter, waits, flow }
    }

    /// The lane's hops are these from now on.
    pub fn route(&mut self, route: &Route) {
        let place = |id: garland_core::plan::NodeId| u16::try_from(id.0).unwrap_or(NONE);
        self.up = route.upstream.map_or(NONE, |(id, ..)| place(id));
        self.downs = route.downstreams.iter().map(|down| (place(down.node), 0)).collect();
    }

    /// The lane and a neighbour.
    pub fn neighbor(&self, peer: u16) -> At {
        At { lane: self.lane, peer, ..At::HERE }
    }

    /// The downstream that took longest to take the last block.
    fn slowest(&self) -> u16 {
        let slowest = self.downs.iter().enumerate().max_by_key(|(at, (_, ns))| (*ns, Reverse(*at)));
        slowest.map_or(NONE, |(_, (peer, _))| *peer)
    }

    /// The thread's recorder, for what isn't a passage.
    pub fn recorder(&mut self) -> &mut Recorder {
        &mut self.recorder
    }

    /// The time; 0 when nothing is noted.
    pub fn now(&self) -> u64 {
        self.recorder.now()
    }

    /// Now.
    pub fn begin(&self) -> Began {
        Began { now_ns: self.recorder.now(), cpu_ns: self.recorder.cpu_ns() }
    }

    /// The lane waits for this from now on, or begins a call that may have to; gives the time.
    pub fn awaits(&self, what: Awaited) -> u64 {
        let now = self.recorder.now();
        if self.recorder.is_on() {
            self.flow.awaits(what, now);
        }
        now
    }

    /// What it awaited since then has come.
    fn got(&self, what: Awaited, since_ns: u64, now_ns: u64) {
        self.flow.waited(what, now_ns.saturating_sub(since_ns));
        self.flow.works(now_ns);
    }

    /// There was nothing to do since then.
    pub fn rested(&self, since_ns: u64) {
        if self.recorder.is_on() {
            self.got(Awaited::Rest, since_ns, self.recorder.now());
        }
    }

    /// A block of this node's own was asked for then, and is there: what the thread didn't work
    /// meanwhile it has waited for whoever reads.
    pub fn prepared(&self, began: Began) {
        if self.recorder.is_on() {
            let end = self.begin();
            let worked_ns = end.cpu_ns.saturating_sub(began.cpu_ns);
            self.got(Awaited::Disk, began.now_ns + worked_ns, end.now_ns);
        }
    }

    /// The lane has waited since `since_ns`, in which it had nothing else to do.
    pub fn waited(&mut self, stage: Stage, since_ns: u64) {
        if !self.recorder.is_on() {
            return;
        }
        let now = self.recorder.now();
        self.got(Awaited::of(stage), since_ns, now);
        let Some(wait) = slot(&mut self.waits, stage) else { return };
        if wait.busy_ns == 0 {
            wait.begin_ns = since_ns;
        }
        wait.end_ns = now;
        wait.busy_ns += now.saturating_sub(since_ns);
    }

    /// A call took so many bytes from the upstream, since then; gives the time.
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

    /// A call gave so many bytes to a downstream, since then; gives the time.
    pub fn sent(&mut self, since_ns: u64, peer: u16, bytes: usize) -> u64 {
        let now = self.recorder.now();
        let spent_ns = now.saturating_sub(since_ns);
        self.meter.sent(spent_ns, bytes);
        let down = self.downs.iter_mut().find(|(down, _)| *down == peer);
        down.into_iter().for_each(|(_, ns)| *ns += spent_ns);
        self.flow.went(bytes);
        if self.recorder.is_on() {
            self.flow.called(Awaited::Down, spent_ns);
            // Bytes go to one after the other, and then come again.
            let is_last = self.downs.last().is_none_or(|(last, _)| *last == peer);
            self.flow.awaits(if is_last { Awaited::Up } else { Awaited::Down }, now);
        }
        now
    }

    /// A block has come in (and gone on to these) since then.
    pub fn passed(&mut self, began: Began, index: u64, bytes: usize, onward: &[u16]) {
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
        self.note_waits(at, (began.now_ns, end.now_ns), (parts.wait_up_ns, parts.wait_down_ns));
        let whole = |stage, at: At, busy_ns: u64| {
            let span = at.span(stage, began.now_ns, end.now_ns);
            Span { busy_ns: busy_ns.min(span.busy_ns), bytes, ..span }
        };
        self.recorder.note(whole(Stage::Receive, up, parts.receive_ns));
        for &peer in onward {
            let busy_ns = parts.relay_ns / onward.len() as u64;
            self.recorder.note(whole(Stage::Relay, at.with(peer), busy_ns));
        }
    }

    /// A block of this node's own has gone to these since then.
    pub fn fed(&mut self, began: Began, index: u64, bytes: usize, to: &[u16]) {
        if to.len() == 1 {
            // What goes to several is counted as it goes.
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
        self.note_waits(at, (began.now_ns, end.now_ns), (0, spent_ns - busy_ns));
        for &peer in to {
            let span = at.with(peer).span(Stage::Send, began.now_ns, end.now_ns);
            let busy_ns = busy_ns / to.len() as u64;
            self.recorder.note(Span { busy_ns, bytes: bytes as u64, ..span });
        }
        // The relay's meter has no part in it.
        self.meter.part(0);
    }

    /// Notes the waiting since the last block, and that within this one.
    fn note_waits(&mut self, at: At, (begin_ns, end_ns): (u64, u64), (up_ns, down_ns): (u64, u64)) {
        let (up, down) = (at.with(self.up), at.with(self.slowest()));
        self.downs.iter_mut().for_each(|(_, ns)| *ns = 0);
        let within = [
            (Stage::WaitUpstream, up, up_ns),
            (Stage::WaitDownstream, down, down_ns),
            (Stage::WaitBuffer, at, 0),
            (Stage::Control, At { block: Exchange::Operation.number(), ..down }, 0),
        ];
        for (stage, at, within_ns) in within {
            let Some(wait) = slot(&mut self.waits, stage).map(std::mem::take) else { continue };
            if wait.busy_ns + within_ns == 0 {
                continue;
            }
            // What was over before the block began isn't mixed with the block's own stages.
            let begin_ns = if wait.busy_ns > 0 { wait.begin_ns } else { begin_ns };
            let end_ns = if within_ns > 0 { end_ns } else { wait.end_ns };
            let span = at.span(stage, begin_ns, end_ns);
            let busy_ns = (wait.busy_ns + within_ns).min(span.busy_ns);
            self.recorder.note(Span { busy_ns, ..span });
        }
    }
}

impl Drop for LaneTracer {
    /// What was waited for after the last block is noted, too.
    fn drop(&mut self) {
        if self.recorder.is_on() {
            self.note_waits(At { lane: self.lane, ..At::HERE }, (0, 0), (0, 0));
        }
    }
}

fn slot(waits: &mut [Wait; 4], stage: Stage) -> Option<&mut Wait> {
    match stage {
        Stage::WaitUpstream => waits.first_mut(),
        Stage::WaitDownstream => waits.get_mut(1),
        Stage::WaitBuffer => waits.get_mut(2),
        Stage::Control => waits.get_mut(3),
        _ => None,
    }
}
