//! A model of a small pipeline with known answers: a head that reads and encrypts, wires, and nodes
//! that receive, forward, decrypt and write one block after another.

use std::ops::Range;

use garland_core::trace::{
    Exchange, NO_BLOCK, NONE, Origin, Probe, Record, Role, Span, Stage, Trace,
};

use crate::ledger::{CompareWork, Ledger, Run, explain};

pub(super) const MS: i64 = 1_000_000;
const BLOCK: u64 = 1 << 20;
/// The time of passing a block to the kernel or taking it from there.
const COPY: i64 = 200_000;
/// The number of blocks in a connection's buffers.
const SOCKET: usize = 2;
/// The start of the head's clock, and the duration of the set-up.
const START: i64 = 5_000 * MS;
const SET_UP: i64 = 30 * MS;
const TEARDOWN: i64 = 4 * MS;

/// The nanoseconds of a stage for each block.
pub(super) type Cost = Box<dyn Fn(usize) -> i64>;

pub(super) fn every(ns: i64) -> Cost {
    Box::new(move |_| ns)
}

/// Returns a cost of `ns`, plus `stall` at every `nth` block.
pub(super) fn stalling(ns: i64, nth: usize, stall: i64) -> Cost {
    Box::new(move |block| if block % nth == nth - 1 { ns + stall } else { ns })
}

pub(super) struct Model {
    pub blocks: usize,
    pub read: Cost,
    pub seal: Cost,
    /// The transfer time of each hop.
    pub wires: Vec<Cost>,
    /// The write time of each node.
    pub writes: Vec<Cost>,
    pub open: Cost,
    pub fsync: Vec<i64>,
    /// The time from the last write to the begin of fsync, and from its end to its arrival at the
    /// head.
    pub control: i64,
    pub ahead: usize,
    pub buffers: usize,
    /// The time that a writer records as waiting for a block that has arrived already.
    pub hand_over: i64,
    /// The time in which the head's sender is idle after a block.
    pub pause: Cost,
    /// The block from which on another thread of the head reads and encrypts.
    pub second_reader: usize,
    /// The time from the end of fsync to the rename, which takes 1 ms.
    pub between: i64,
    /// The offset of each node's clock from the head's.
    pub clocks: Vec<i64>,
    pub limit: Option<f64>,
    /// The number of blocks per operation; the next one begins when all nodes have reported the
    /// last as written.
    pub operation: Option<usize>,
    /// The time of that report.
    pub answer: i64,
}

impl Model {
    /// Returns a healthy chain of `nodes` nodes with wires of 8 ms per block.
    pub fn healthy(nodes: usize) -> Self {
        Self {
            blocks: 200,
            read: every(MS),
            seal: every(MS / 2),
            wires: (0..nodes).map(|_| every(8 * MS)).collect(),
            writes: (0..nodes).map(|_| every(MS)).collect(),
            open: every(MS / 2),
            fsync: vec![5 * MS; nodes],
            control: MS / 5,
            ahead: 8,
            buffers: 24,
            hand_over: 0,
            pause: every(0),
            second_reader: usize::MAX,
            between: 0,
            clocks: vec![0; nodes],
            limit: Some(BLOCK as f64 / 0.008),
            operation: None,
            answer: MS / 10,
        }
    }

    pub fn run(&self) -> Made {
        Maker::new(self).make()
    }
}

/// The result of a run of the model.
pub(super) struct Made {
    pub nodes: Vec<String>,
    pub traces: Vec<Option<Trace>>,
    pub phases: Vec<(String, u64)>,
    pub bytes: u64,
    pub limit: Option<f64>,
    pub processors: Vec<(Option<usize>, f64)>,
    pub by_ssh: Vec<usize>,
    pub dead: Vec<usize>,
    pub off_disk: bool,
    pub comparison: Vec<CompareWork>,
    pub agents_started: Option<bool>,
    pub has_failed: bool,
    pub is_unsent: bool,
}

impl Made {
    pub fn explain(&self) -> Ledger {
        let run = Run {
            nodes: &self.nodes,
            traces: &self.traces,
            phases: &self.phases,
            bytes: self.bytes,
            comparison: &self.comparison,
            agents_started: self.agents_started,
            has_failed: self.has_failed,
            is_unsent: self.is_unsent,
            limit: self.limit,
            processors: &self.processors,
            by_ssh: &self.by_ssh,
            dead: &self.dead,
            off_disk: self.off_disk,
            hop_limit: None,
            has_slow_trunk: false,
        };
        let ledger = explain(&run, &run.clocks());
        assert_eq!(ledger.rows.iter().map(|row| row.ns).sum::<u64>(), ledger.wall_ns);
        ledger
    }

    /// Adds records to a node's trace.
    pub fn add(&mut self, node: usize, records: impl IntoIterator<Item = Record>) {
        let trace = self.traces[node].as_mut().unwrap();
        trace.records.extend(records);
        trace.records.sort_by_key(|record| record.at_ns());
    }

    /// Returns the start and the end of the command, on the head's clock.
    pub fn span(&self) -> (i64, i64) {
        let wall: u64 = self.phases.iter().map(|(_, ns)| ns).sum();
        (START, START + i64::try_from(wall).unwrap())
    }
}

/// Returns a span of one of the model's threads: 1 reads, 2 is the lane, 3 finishes, 4 writes. A
/// span that transfers bytes is of a whole block.
pub(super) fn span_of(stage: Stage, peer: u16, thread: u16, times: Range<u64>) -> Span {
    let moves = matches!(stage, Stage::Send | Stage::Relay | Stage::Receive);
    Span {
        stage,
        lane: if thread == 2 { 0 } else { NONE },
        peer,
        thread,
        begin_ns: times.start,
        end_ns: times.end,
        busy_ns: times.end - times.start,
        bytes: if moves { BLOCK } else { 0 },
        block: NO_BLOCK,
        count: 1,
        operation: 0,
    }
}

struct Maker<'a> {
    model: &'a Model,
    traces: Vec<Trace>,
    sealed: Vec<i64>,
    sent: Vec<i64>,
    /// By node, by block.
    received: Vec<Vec<i64>>,
    /// The times when each node's lane and writer, and each hop's wire, become free.
    lanes: Vec<i64>,
    written: Vec<Vec<i64>>,
    wires: Vec<i64>,
}

impl<'a> Maker<'a> {
    fn new(model: &'a Model) -> Self {
        let nodes = model.wires.len();
        let ready = START + SET_UP;
        let trace = |index: usize| {
            let name = if index == 0 { "head".to_owned() } else { format!("n{index}") };
            let origin = Origin {
                node: name,
                index: u16::try_from(index).unwrap(),
                role: if index == 0 { Role::Head } else { Role::Agent },
                processors: 2,
                started_ns: u64::try_from(START).unwrap(),
                wall_ns: 0,
                copy: [7; 16],
                emulated: false,
            };
            Trace { origin, records: Vec::new() }
        };
        Self {
            model,
            traces: (0..=nodes).map(trace).collect(),
            sealed: Vec::new(),
            sent: Vec::new(),
            received: vec![Vec::new(); nodes],
            lanes: vec![ready; nodes],
            written: vec![Vec::new(); nodes],
            wires: vec![ready; nodes],
        }
    }

    fn make(mut self) -> Made {
        let ready = START + SET_UP;
        for block in 0..self.model.blocks {
            let came = self.head(block);
            self.chain(block, came);
        }
        let sent = self.sent[self.sent.len() - 1];
        let first = self.received.iter().map(|received| received[0]).max();
        let held = self.written.iter().map(|written| written[written.len() - 1]).max().unwrap();
        let mut committed = held;
        for node in 1..self.traces.len() {
            let written = &self.written[node - 1];
            let asked = written[written.len() - 1].max(sent) + self.model.control;
            let mut done = asked + self.model.fsync[node - 1];
            self.note(node, Stage::Fsync, NONE, 3, asked..done, None);
            if self.model.between > 0 {
                done += self.model.between + MS;
                self.note(node, Stage::Commit, NONE, 3, done - MS..done, None);
            }
            committed = committed.max(done + self.model.control);
        }
        self.probe(committed);
        let ends = [ready, first.unwrap(), sent, held, committed, committed + TEARDOWN];
        let names = ["set-up", "first byte", "stream", "drain", "fsync", "teardown"];
        let mut last = START;
        let phase = |(name, end): (&str, i64)| {
            let ns = u64::try_from((end - last).max(0)).unwrap();
            last = last.max(end);
            (name.to_owned(), ns)
        };
        let phases = names.into_iter().zip(ends).map(phase).collect();
        for trace in &mut self.traces {
            trace.records.sort_by_key(Record::at_ns);
        }
        Made {
            nodes: self.traces.iter().map(|trace| trace.origin.node.clone()).collect(),
            traces: self.traces.into_iter().map(Some).collect(),
            phases,
            bytes: self.model.blocks as u64 * BLOCK,
            limit: self.model.limit,
            processors: Vec::new(),
            by_ssh: Vec::new(),
            dead: Vec::new(),
            off_disk: false,
            comparison: Vec::new(),
            agents_started: Some(true),
            has_failed: false,
            is_unsent: false,
        }
    }

    /// The head reads, encrypts and sends a block; returns the time when its last byte leaves the
    /// first wire.
    fn head(&mut self, block: usize) -> i64 {
        let ready = START + SET_UP;
        let before = self.sealed.last().copied().unwrap_or(ready);
        let room = block.checked_sub(self.model.ahead).map_or(ready, |old| self.sent[old]);
        let left = self.leave(block);
        let begin = before.max(room).max(left);
        let reader = if block < self.model.second_reader { 1 } else { 5 };
        self.note(0, Stage::WaitBuffer, NONE, reader, before..begin, None);
        let read = begin + (self.model.read)(block);
        let sealed = read + (self.model.seal)(block);
        self.note(0, Stage::Read, NONE, reader, begin..read, Some(block));
        self.note(0, Stage::Seal, NONE, reader, read..sealed, Some(block));
        self.sealed.push(sealed);
        let pause = block.checked_sub(1).map_or(0, |last| (self.model.pause)(last));
        let idle = self.sent.last().copied().unwrap_or(ready).max(left) + pause;
        let have = idle.max(sealed);
        self.note(0, Stage::WaitUpstream, NONE, 2, idle..have, Some(block));
        let (given, came) = self.give(0, Stage::Send, have, block);
        self.sent.push(given);
        came
    }

    /// Returns the time from which on the head may send a block.
    fn leave(&mut self, block: usize) -> i64 {
        let ends = |every: usize| block > 0 && block.is_multiple_of(every);
        let Some(&sent) = self.sent.last().filter(|_| self.model.operation.is_some_and(ends))
        else {
            return START + SET_UP;
        };
        let written = self.written.iter().map(|written| written[block - 1]).max();
        let answered = written.unwrap_or(sent) + self.model.answer;
        let about = Exchange::Operation as usize;
        self.note(0, Stage::Control, 1, 2, sent..answered, Some(about));
        answered
    }

    /// Sends a block into the wire after `from`; returns when it is sent, and when it leaves the
    /// wire.
    fn give(&mut self, from: usize, stage: Stage, have: i64, block: usize) -> (i64, i64) {
        let taken = block.checked_sub(SOCKET).map_or(have, |old| self.received[from][old]);
        let room = have.max(taken);
        let peer = u16::try_from(from + 1).unwrap();
        self.note(from, Stage::WaitDownstream, peer, 2, have..room, Some(block));
        let given = room + COPY;
        self.note(from, stage, peer, 2, room..given, Some(block));
        let came = self.wires[from].max(room) + (self.model.wires[from])(block);
        self.wires[from] = came;
        (given, came)
    }

    fn chain(&mut self, block: usize, mut came: i64) {
        for node in 1..self.traces.len() {
            let at = node - 1;
            let free = self.lanes[at];
            let old = block.checked_sub(self.model.buffers);
            let room = old.map_or(free, |old| self.written[at][old].max(free));
            self.note(node, Stage::WaitBuffer, NONE, 2, free..room, Some(block));
            let here = room.max(came);
            let up = u16::try_from(at).unwrap();
            self.note(node, Stage::WaitUpstream, up, 2, room..here, Some(block));
            let received = here + COPY;
            self.note(node, Stage::Receive, up, 2, here..received, Some(block));
            self.received[at].push(received);
            self.lanes[at] = received;
            if node + 1 < self.traces.len() {
                let (given, out) = self.give(node, Stage::Relay, received, block);
                self.lanes[at] = given;
                came = out;
            }
            let last = self.written[at].last().copied().unwrap_or(received);
            let there = last.max(received);
            let begin = there + self.model.hand_over;
            self.note(node, Stage::WaitUpstream, NONE, 4, there..begin, Some(block));
            let opened = begin + (self.model.open)(block);
            let written = opened + (self.model.writes[at])(block);
            self.note(node, Stage::Open, NONE, 4, begin..opened, Some(block));
            self.note(node, Stage::Write, NONE, 4, opened..written, Some(block));
            self.written[at].push(written);
        }
    }

    fn note(
        &mut self,
        node: usize,
        stage: Stage,
        peer: u16,
        thread: u16,
        span: Range<i64>,
        block: Option<usize>,
    ) {
        let times = self.shown(node, span.start)..self.shown(node, span.end);
        if !times.is_empty() {
            let mut span = span_of(stage, peer, thread, times);
            span.block = block.map_or(NO_BLOCK, |block| u32::try_from(block).unwrap());
            self.traces[node].records.push(Record::Span(span));
        }
    }

    /// Returns the reading of a node's clock at a moment of the head's.
    fn shown(&self, node: usize, at: i64) -> u64 {
        let ahead = node.checked_sub(1).map_or(0, |node| self.model.clocks[node]);
        u64::try_from(at + ahead).unwrap()
    }

    /// Round trips of 60 µs every 100 ms.
    fn probe(&mut self, until: i64) {
        for node in 1..self.traces.len() {
            let mut at = START + SET_UP;
            while at < until {
                let [received_ns, answered_ns] =
                    [25_000, 30_000].map(|ns| self.shown(node, at + ns));
                let [sent_ns, back_ns] = [0, 60_000].map(|ns| self.shown(0, at + ns));
                let peer = u16::try_from(node).unwrap();
                let probe = Probe { peer, sent_ns, received_ns, answered_ns, back_ns };
                self.traces[0].records.push(Record::Probe(probe));
                at += 100 * MS;
            }
        }
    }
}
