//! All threads of all nodes on one clock, and what they do.

use std::collections::{BTreeMap, BTreeSet};

use super::cause::Cause;
use super::hop::Hop;
use super::run::Run;
use super::samples::Samples;
use super::weave::{Piece, Strand, weave};
use crate::clock::{Clocks, reading};
use garland_core::trace::{Direction, Exchange, NONE, Record, Stage, Trace};

/// What a sender's waiting for leave to go on is noted as.
const LEAVE: u32 = Exchange::Operation as u32;

/// What a node's getting ready is noted as at the head.
const BEGIN: u32 = Exchange::Begin as u32;

/// One thread of one node.
#[derive(Debug)]
pub(super) struct Thread {
    pub node: usize,
    /// What it was at, in order and without overlaps.
    pub pieces: Vec<Piece>,
    /// Nanoseconds that it ran, and that it waited for a processor.
    pub scheduled: Samples<2>,
}

/// What a thread did just before a moment.
#[derive(Debug)]
pub(super) enum Before<'a> {
    Piece(&'a Piece),
    /// Nothing that was recorded, since then.
    Gap(i64),
    /// It had done nothing yet.
    Nothing,
}

/// A lane's hop between two nodes.
pub(super) type HopKey = (u16, usize, usize);

#[derive(Debug)]
pub(super) struct World {
    pub threads: Vec<Thread>,
    /// The thread that moves a lane's bytes at a node.
    pub lanes: BTreeMap<(usize, u16), usize>,
    /// The threads that read and seal (where the bytes come from), or open and write.
    pub stores: BTreeMap<usize, Vec<usize>>,
    /// Where the bytes come from.
    pub sources: BTreeSet<usize>,
    /// The threads that put files under their names.
    pub finishers: Vec<usize>,
    pub hops: BTreeMap<HopKey, Hop>,
    /// Microseconds busy, limited by the other's window, by the own buffer; segments sent again;
    /// bytes.
    pub sockets: BTreeMap<HopKey, Samples<5>>,
    /// When each node had opened its destination, and when the head knew.
    pub opened: BTreeMap<usize, i64>,
    pub ready: BTreeMap<usize, i64>,
    /// Nanoseconds that each node's threads were at a stage, of which the trace has no more than that.
    pub lost: BTreeMap<usize, BTreeMap<Stage, i64>>,
    /// Bytes per second that a lane's wires can carry.
    pub lane_limit: Option<f64>,
    /// When a node stood still.
    pub pauses: BTreeMap<usize, Vec<(i64, i64)>>,
    /// Nanoseconds that a node's clock may be off; none where it can't be put on the head's.
    pub errors: Vec<Option<u64>>,
}

impl World {
    pub fn of(run: &Run<'_>, clocks: &Clocks) -> Self {
        let mut world = Self {
            threads: Vec::new(),
            lanes: BTreeMap::new(),
            stores: BTreeMap::new(),
            sources: BTreeSet::new(),
            finishers: Vec::new(),
            hops: BTreeMap::new(),
            sockets: BTreeMap::new(),
            opened: BTreeMap::new(),
            ready: BTreeMap::new(),
            lost: BTreeMap::new(),
            lane_limit: None,
            pauses: BTreeMap::new(),
            errors: vec![None; run.nodes.len()],
        };
        for (node, trace) in run.known() {
            world.add(node, trace, clocks);
        }
        world.find_hops();
        let lanes = world.lanes.keys().map(|(_, lane)| lane + 1).max().unwrap_or(1);
        world.lane_limit = run.limit.map(|limit| limit / f64::from(lanes));
        world
    }

    /// The thread that had a block in hand last, of that node or of any that isn't a source, and until
    /// when.
    pub fn last_landing(&self, node: Option<usize>, before: i64) -> Option<(usize, i64)> {
        let stages = [Stage::Write, Stage::Open, Stage::Receive];
        let is_asked = |of: usize| node.map_or(!self.is_source(of), |node| node == of);
        let asked = self.threads.iter().enumerate().filter(|(_, thread)| is_asked(thread.node));
        let landing = |(at, thread): (usize, &Thread)| Some((thread.done(&stages, before)?, at));
        asked.filter_map(landing).max().map(|(end, thread)| (thread, end))
    }

    fn add(&mut self, node: usize, trace: &Trace, clocks: &Clocks) {
        let head_ns = |ns: u64| clocks.to_head(node, reading(ns)).map(|moment| moment.ns);
        let mut strands: BTreeMap<u16, Vec<Strand>> = BTreeMap::new();
        let mut scheduled: BTreeMap<u16, Samples<2>> = BTreeMap::new();
        for record in &trace.records {
            if let Record::Lost(lost) = record {
                let ns = self.lost.entry(node).or_default().entry(lost.stage).or_default();
                *ns = ns.saturating_add(reading(lost.busy_ns));
            }
            let Some(at) = record.at_ns().and_then(|ns| clocks.to_head(node, reading(ns))) else {
                continue;
            };
            let error = &mut self.errors[node];
            *error = Some(error.unwrap_or(0).max(at.error_ns));
            match record {
                Record::Span(span) => {
                    let Some(end) = head_ns(span.end_ns) else { continue };
                    match span.stage {
                        // An order lasts while others are obeyed, and by many threads.
                        Stage::Control if span.block != LEAVE => {
                            if node == 0 && span.block == BEGIN {
                                self.ready.insert(usize::from(span.peer), end);
                            }
                        }
                        Stage::SetUp => {
                            self.opened.insert(node, end);
                        }
                        Stage::Pause => {
                            self.pauses.entry(node).or_default().push((at.ns, end));
                        }
                        stage => {
                            let (lane, peer, bytes) = (span.lane, span.peer, span.bytes as f64);
                            let piece = Piece { begin: at.ns, end, stage, lane, peer, bytes };
                            let strand =
                                Strand { piece, busy: reading(span.busy_ns), count: span.count };
                            strands.entry(span.thread).or_default().push(strand);
                        }
                    }
                }
                Record::Socket(socket) if socket.direction == Direction::Down => {
                    let key = (socket.lane, node, usize::from(socket.peer));
                    let values = [
                        socket.busy_us as f64,
                        socket.rwnd_limited_us as f64,
                        socket.sndbuf_limited_us as f64,
                        f64::from(socket.retransmitted),
                        socket.bytes as f64,
                    ];
                    self.sockets.entry(key).or_default().push(at.ns, values);
                }
                Record::Thread(thread) => {
                    let values = [thread.running_ns as f64, thread.waiting_ns as f64];
                    scheduled.entry(thread.thread).or_default().push(at.ns, values);
                }
                _ => {}
            }
        }
        for (number, strands) in strands {
            let scheduled = scheduled.remove(&number).unwrap_or_default();
            self.cast(Thread { node, pieces: weave(strands), scheduled });
        }
    }

    /// Finds out what a thread is there for.
    fn cast(&mut self, thread: Thread) {
        let (node, at) = (thread.node, self.threads.len());
        let has = |stages: &[Stage]| thread.pieces.iter().any(|p| stages.contains(&p.stage));
        let moves = thread.pieces.iter().filter(|piece| {
            piece.lane != NONE
                && (matches!(piece.stage, Stage::Send | Stage::Receive | Stage::Relay)
                    || piece.stage.is_wait() && piece.peer != NONE)
        });
        let moved: BTreeMap<u16, ()> = moves.map(|piece| (piece.lane, ())).collect();
        for lane in moved.keys() {
            self.lanes.insert((node, *lane), at);
        }
        // A lane that feeds from what its node holds reads and seals, too.
        let reads = moved.is_empty() && has(&[Stage::Read, Stage::Seal]);
        if reads {
            self.sources.insert(node);
        }
        if reads || moved.is_empty() && has(&[Stage::Open, Stage::Write]) {
            self.stores.entry(node).or_default().push(at);
        }
        if has(&[Stage::Fsync, Stage::Commit]) {
            self.finishers.push(at);
        }
        self.threads.push(thread);
    }

    fn find_hops(&mut self) {
        for (&(node, lane), &thread) in &self.lanes {
            for piece in &self.threads[thread].pieces {
                if piece.lane != lane || piece.peer == NONE {
                    continue;
                }
                let peer = usize::from(piece.peer);
                match piece.stage {
                    Stage::Send | Stage::Relay => {
                        self.hops.entry((lane, node, peer)).or_default().sent.push(piece);
                    }
                    Stage::Receive => {
                        self.hops.entry((lane, peer, node)).or_default().received.push(piece);
                    }
                    _ => {}
                }
            }
        }
    }

    /// The node that was ready last for the head, when it was ready, and when the head knew.
    pub fn last_ready(&self) -> Option<(usize, i64, i64)> {
        let (&node, &heard) = self.ready.iter().max_by_key(|(_, heard)| **heard)?;
        Some((node, *self.opened.get(&node)?, heard))
    }

    /// Whether a thread reads and seals, or opens and writes.
    pub fn is_store(&self, thread: usize) -> bool {
        let node = self.threads[thread].node;
        self.stores.get(&node).is_some_and(|of| of.contains(&thread))
    }

    /// Whether the bytes come from this node.
    pub fn is_source(&self, node: usize) -> bool {
        self.sources.contains(&node)
    }

    /// What a thread's work at a stage is called in the ledger.
    pub fn cause_of(&self, stage: Stage, node: usize) -> Cause {
        Cause::of(stage, self.is_source(node))
    }

    /// How far two nodes' clocks may be apart from what is taken to be.
    pub fn error(&self, one: usize, other: usize) -> i64 {
        let of = |node: usize| match node {
            0 => 0,
            _ => self.errors.get(node).copied().flatten().unwrap_or(0),
        };
        reading(of(one) + of(other))
    }
}

impl Thread {
    /// What it was at just before `at`.
    pub fn before(&self, at: i64) -> Before<'_> {
        let begun = self.pieces.partition_point(|piece| piece.begin < at);
        match begun.checked_sub(1).map(|last| &self.pieces[last]) {
            Some(piece) if piece.end < at => Before::Gap(piece.end),
            Some(piece) => Before::Piece(piece),
            None => Before::Nothing,
        }
    }

    /// Whether it did anything from `at` on.
    pub fn goes_on(&self, at: i64) -> bool {
        self.pieces.last().is_some_and(|last| last.begin >= at)
    }

    /// When a piece of one of these stages ended last, no later than `at`.
    pub fn done(&self, stages: &[Stage], at: i64) -> Option<i64> {
        let begun = self.pieces.partition_point(|piece| piece.begin < at);
        let pieces = self.pieces[..begun].iter().rev();
        let of_stage = |piece: &&Piece| stages.contains(&piece.stage) && piece.end <= at;
        pieces.into_iter().find(of_stage).map(|piece| piece.end)
    }

    /// Nanoseconds between two moments at one of these stages.
    pub fn spent(&self, stages: &[Stage], begin: i64, end: i64) -> i64 {
        let of_stage = |(piece, ns): (&Piece, i64)| stages.contains(&piece.stage).then_some(ns);
        self.within(begin, end).filter_map(of_stage).sum()
    }

    /// Nanoseconds between two moments of which there is a record.
    pub fn recorded(&self, begin: i64, end: i64) -> i64 {
        self.within(begin, end).map(|(_, ns)| ns).sum()
    }

    /// What it was at between two moments, and for how many nanoseconds of that time.
    fn within(&self, begin: i64, end: i64) -> impl Iterator<Item = (&Piece, i64)> {
        let first = self.pieces.partition_point(|piece| piece.end <= begin);
        let inside = self.pieces[first..].iter().take_while(move |piece| piece.begin < end);
        inside.map(move |piece| (piece, piece.end.min(end) - piece.begin.max(begin)))
    }

    /// The share of the time between two moments that it could have run and had no processor.
    pub fn starved(&self, begin: i64, end: i64) -> f64 {
        let length = (end - begin).max(1) as f64;
        self.scheduled.between(begin, end).map_or(0.0, |[_, waiting]| waiting / length)
    }
}
