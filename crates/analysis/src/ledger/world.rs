//! The activities of all threads of all nodes on one clock.

use std::collections::{BTreeMap, BTreeSet};

use garland_core::trace::{Direction, Exchange, NONE, Record, Stage, Trace};

use super::cause::Cause;
use super::hop::Hop;
use super::run::Run;
use super::samples::Samples;
use super::weave::{Piece, Strand, weave};
use crate::clock::{Clocks, reading};

/// The block number that marks spans in which a sender waits for permission to continue.
const LEAVE: u32 = Exchange::Operation as u32;

/// The block number that marks the head's spans in which a node gets ready.
const BEGIN: u32 = Exchange::Begin as u32;

/// The most nanoseconds from the start of a thread to its first record.
const START_NS: i64 = 50_000_000;

/// A thread of a node.
#[derive(Debug)]
pub(super) struct Thread {
    pub node: usize,
    /// The thread's activities, in order and without overlaps.
    pub pieces: Vec<Piece>,
    /// Samples of the nanoseconds on a CPU and of those waiting for one.
    pub scheduled: Samples<2>,
}

/// The activity of a thread just before a moment.
#[derive(Debug)]
pub(super) enum Before<'a> {
    Piece(&'a Piece),
    /// Nothing was recorded since this time.
    Gap(i64),
    /// The thread had no record yet.
    Nothing,
}

/// A hop: lane, near node, far node.
pub(super) type HopKey = (u16, usize, usize);

#[derive(Debug, Default)]
pub(super) struct World {
    pub threads: Vec<Thread>,
    /// For each node and lane, the index of the thread that transfers the lane's bytes. Threads
    /// that only feed a node on the side are not among them.
    pub lanes: BTreeMap<(usize, u16), usize>,
    /// For each hop, the indices of the near node's threads that send over it: after a change of
    /// routes, another thread may feed the same node.
    senders: BTreeMap<HopKey, Vec<usize>>,
    /// For each node, the indices of the threads that read and encrypt (at a source), or decrypt
    /// and write.
    pub stores: BTreeMap<usize, Vec<usize>>,
    /// The nodes that read the source.
    pub sources: BTreeSet<usize>,
    /// Whether the head reads the source from none of its disks.
    off_disk: bool,
    /// The indices of the threads that flush and rename files.
    pub finishers: Vec<usize>,
    pub hops: BTreeMap<HopKey, Hop>,
    /// For each hop, samples of its connection: microseconds busy, limited by the receive window,
    /// limited by the send buffer; retransmitted segments; bytes.
    pub sockets: BTreeMap<HopKey, Samples<5>>,
    /// For each node, when it had opened its destination (`opened`) and when the head received its
    /// `Ready` (`ready`), on the head's clock.
    pub opened: BTreeMap<usize, i64>,
    pub ready: BTreeMap<usize, i64>,
    /// When the first node was ordered to begin, on the head's clock; `None` if unknown.
    pub begun: Option<i64>,
    /// For each node, the nanoseconds of its discarded spans, by stage.
    pub lost: BTreeMap<usize, BTreeMap<Stage, i64>>,
    /// The maximum rate of a lane in bytes per second; `None` if unknown.
    pub lane_limit: Option<f64>,
    /// The rate of a wire in bytes per second: the largest one that was measured, at least the
    /// limit of the run; `None` if unknown.
    pub wire_rate: Option<f64>,
    /// Whether several hops share a trunk that is slower than they are.
    pub has_slow_trunk: bool,
    /// The nodes to which the head's bytes went through ssh.
    by_ssh: BTreeSet<usize>,
    /// The nodes that died during the copy.
    pub dead: BTreeSet<usize>,
    /// For each node, the periods in which it was suspended.
    pub pauses: BTreeMap<usize, Vec<(i64, i64)>>,
    /// For each node, the error bound of its clock in nanoseconds; `None` if its times cannot be
    /// converted to the head's clock.
    pub errors: Vec<Option<u64>>,
}

impl World {
    pub fn from_run(run: &Run<'_>, clocks: &Clocks) -> Self {
        let mut world = Self { errors: vec![None; run.nodes.len()], ..Self::default() };
        for (node, trace) in run.known() {
            world.add(node, trace, clocks);
        }
        world.find_hops();
        world.has_slow_trunk = run.has_slow_trunk;
        world.off_disk = run.off_disk;
        world.by_ssh = run.by_ssh.iter().copied().collect();
        world.dead = run.dead.iter().copied().collect();
        world.wire_rate =
            [run.limit, run.hop_limit, world.fastest()].into_iter().flatten().reduce(f64::max);
        let lanes = world.lanes.keys().map(|(_, lane)| lane + 1).max().unwrap_or(1);
        world.lane_limit = run.limit.map(|limit| limit / f64::from(lanes));
        world
    }

    /// Returns whether the bytes from one node to another go through ssh. The head has index 0.
    pub fn goes_through_ssh(&self, from: usize, to: usize) -> bool {
        from == 0 && self.by_ssh.contains(&to)
    }

    /// Returns the thread that finished processing a block last before `before`, and when: of the
    /// threads of `node` or, if `None`, of all nodes that are not sources.
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
                        // Orders overlap, and are executed by many threads.
                        Stage::Control if span.block != LEAVE => {
                            if node == 0 && span.block == BEGIN {
                                self.ready.insert(usize::from(span.peer), end);
                                let begun = self.begun.unwrap_or(at.ns);
                                self.begun = Some(begun.min(at.ns));
                            }
                        }
                        Stage::SetUp => {
                            self.opened.insert(node, end);
                        }
                        Stage::Pause => {
                            self.pauses.entry(node).or_default().push((at.ns, end));
                        }
                        stage => {
                            let lane = span.lane;
                            let peer = span.peer;
                            let bytes = span.bytes as f64;
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
        let of_node = strands.values().map(Vec::len).sum();
        for (number, strands) in strands {
            let mut scheduled = scheduled.remove(&number).unwrap_or_default();
            let pieces = weave(strands, of_node);
            // A thread is sampled every 250 ms, and at its end: of a short copy that is all.
            pieces.iter().take(1).for_each(|first| scheduled.begin_at(first.begin, START_NS));
            self.add_thread(Thread { node, pieces, scheduled });
        }
    }

    /// Adds a thread, and determines its role from its activities.
    fn add_thread(&mut self, thread: Thread) {
        let node = thread.node;
        let at = self.threads.len();
        let has = |stages: &[Stage]| thread.pieces.iter().any(|p| stages.contains(&p.stage));
        let moves = thread.pieces.iter().filter(|piece| {
            piece.lane != NONE
                && (matches!(piece.stage, Stage::Send | Stage::Receive | Stage::Relay)
                    || piece.stage.is_wait() && piece.peer != NONE)
        });
        let moved: BTreeSet<u16> = moves.map(|piece| piece.lane).collect();
        for &lane in &moved {
            // Of several threads, the lane's own is the one that receives; a source's is the first.
            let receives = thread.pieces.iter().any(|p| p.stage == Stage::Receive);
            let own = self.lanes.entry((node, lane)).or_insert(at);
            *own = if receives { at } else { *own };
        }
        // A lane that sends blocks from the node's own copy reads and encrypts, too.
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
        let mut pieces: Vec<(usize, &Piece)> = Vec::new();
        for (at, thread) in self.threads.iter().enumerate() {
            let moves = |piece: &&Piece| piece.lane != NONE && piece.peer != NONE;
            pieces.extend(thread.pieces.iter().filter(moves).map(|piece| (at, piece)));
        }
        pieces.sort_by_key(|(_, piece)| piece.begin);
        for (at, piece) in pieces {
            let node = self.threads[at].node;
            let peer = usize::from(piece.peer);
            let down = (piece.lane, node, peer);
            match piece.stage {
                Stage::Send | Stage::Relay => self.hops.entry(down).or_default().sent.push(piece),
                Stage::Receive => {
                    self.hops.entry((piece.lane, peer, node)).or_default().received.push(piece);
                }
                _ => {}
            }
            if matches!(piece.stage, Stage::Send | Stage::Relay | Stage::WaitDownstream) {
                let threads = self.senders.entry(down).or_default();
                if !threads.contains(&at) {
                    threads.push(at);
                }
            }
        }
        self.hops.values_mut().for_each(Hop::settle);
    }

    /// Returns the thread that sent over a hop last before `before`; without any, the lane's own
    /// thread at the near end. `None` if neither is known.
    pub fn sender(&self, hop: HopKey, before: i64) -> Option<usize> {
        let (lane, near, far) = hop;
        let last = |thread: usize| {
            let pieces = &self.threads[thread].pieces;
            let begun = pieces.partition_point(|piece| piece.begin < before);
            let mut gave = pieces[..begun].iter().rev().filter(|piece| is_giving(piece, far));
            Some((gave.next()?.end, std::cmp::Reverse(thread)))
        };
        let threads = self.senders.get(&hop).into_iter().flatten();
        let found = threads.filter_map(|&thread| Some((last(thread)?, thread))).max();
        found.map(|(_, thread)| thread).or_else(|| self.lanes.get(&(near, lane)).copied())
    }

    /// Returns the lane's thread of the node that `thread` feeds on the side; `None` for a thread
    /// that has another task.
    pub fn fed_aside(&self, thread: usize) -> Option<usize> {
        let own = self.lanes.values().any(|&lane| lane == thread);
        let hop = self.senders.iter().find(|(_, threads)| threads.contains(&thread))?.0;
        let fed = self.lanes.get(&(hop.2, hop.0)).copied();
        fed.filter(|_| !own)
    }

    /// Returns whether any thread recorded that it sends over a hop.
    pub fn has_sender(&self, hop: HopKey) -> bool {
        self.senders.contains_key(&hop)
    }

    /// Returns the node whose `Ready` reached the head last, the time when that node was ready, and
    /// the time when the head received the message; `None` if unknown.
    pub fn last_ready(&self) -> Option<(usize, i64, i64)> {
        let (&node, &heard) = self.ready.iter().max_by_key(|(_, heard)| **heard)?;
        Some((node, *self.opened.get(&node)?, heard))
    }

    /// Returns whether a thread reads and encrypts, or decrypts and writes.
    pub fn is_store(&self, thread: usize) -> bool {
        let node = self.threads[thread].node;
        self.stores.get(&node).is_some_and(|of| of.contains(&thread))
    }

    /// Returns the nanoseconds that a node's busiest thread spent at a stage.
    pub fn longest(&self, node: usize, stage: Stage) -> i64 {
        let threads = self.threads.iter().filter(|thread| thread.node == node);
        threads.map(|thread| thread.spent(&[stage], i64::MIN, i64::MAX)).max().unwrap_or(0)
    }

    /// Returns whether a node reads the source.
    pub fn is_source(&self, node: usize) -> bool {
        self.sources.contains(&node)
    }

    /// Returns the cause of work at a stage on a node.
    pub fn cause_of(&self, stage: Stage, node: usize) -> Cause {
        match Cause::from_stage(stage, self.is_source(node)) {
            Cause::SourceDisk if self.off_disk && node == 0 => Cause::Source,
            cause => cause,
        }
    }

    /// Returns the maximum error of the difference between two nodes' clocks, in nanoseconds.
    pub fn error(&self, one: usize, other: usize) -> i64 {
        let of = |node: usize| match node {
            0 => 0,
            _ => self.errors.get(node).copied().flatten().unwrap_or(0),
        };
        reading(of(one) + of(other))
    }
}

impl Thread {
    /// Returns the thread's activity just before `at`.
    pub fn before(&self, at: i64) -> Before<'_> {
        let begun = self.pieces.partition_point(|piece| piece.begin < at);
        match begun.checked_sub(1).map(|last| &self.pieces[last]) {
            Some(piece) if piece.end < at => Before::Gap(piece.end),
            Some(piece) => Before::Piece(piece),
            None => Before::Nothing,
        }
    }

    /// Returns the last node that the thread sent to before `at`.
    pub fn downstream(&self, at: i64) -> Option<u16> {
        let begun = self.pieces.partition_point(|piece| piece.begin < at);
        let gives = |piece: &&Piece| {
            let stages = [Stage::Send, Stage::Relay, Stage::WaitDownstream];
            stages.contains(&piece.stage) && piece.peer != NONE
        };
        self.pieces[..begun].iter().rev().find(gives).map(|piece| piece.peer)
    }

    /// Returns whether the thread has activities from `at` on.
    pub fn goes_on(&self, at: i64) -> bool {
        self.pieces.last().is_some_and(|last| last.begin >= at)
    }

    /// Returns the end of the last piece at one of `stages` that ended at or before `at`.
    pub fn done(&self, stages: &[Stage], at: i64) -> Option<i64> {
        let begun = self.pieces.partition_point(|piece| piece.begin < at);
        let pieces = self.pieces[..begun].iter().rev();
        let of_stage = |piece: &&Piece| stages.contains(&piece.stage) && piece.end <= at;
        pieces.into_iter().find(of_stage).map(|piece| piece.end)
    }

    /// Returns the nanoseconds that the thread spent at these stages between two moments.
    pub fn spent(&self, stages: &[Stage], begin: i64, end: i64) -> i64 {
        let of_stage = |(piece, ns): (&Piece, i64)| stages.contains(&piece.stage).then_some(ns);
        self.within(begin, end).filter_map(of_stage).sum()
    }

    /// Returns the nanoseconds between two moments for which the thread has records.
    pub fn recorded(&self, begin: i64, end: i64) -> i64 {
        self.within(begin, end).map(|(_, ns)| ns).sum()
    }

    /// Iterates over the activities between two moments, with their nanoseconds in that time.
    fn within(&self, begin: i64, end: i64) -> impl Iterator<Item = (&Piece, i64)> {
        let first = self.pieces.partition_point(|piece| piece.end <= begin);
        let inside = self.pieces[first..].iter().take_while(move |piece| piece.begin < end);
        inside.map(move |piece| (piece, piece.end.min(end) - piece.begin.max(begin)))
    }

    /// Returns the fraction of the time between two moments in which the thread was runnable but
    /// had no CPU; 0 if unknown.
    pub fn starved(&self, begin: i64, end: i64) -> f64 {
        let length = (end - begin).max(1) as f64;
        self.scheduled.between(begin, end).map_or(0.0, |[_, waiting]| waiting / length)
    }
}

/// Returns whether a piece of a sender sends bytes to `to`, or tries to.
pub(super) fn is_giving(piece: &Piece, to: usize) -> bool {
    let gives = matches!(piece.stage, Stage::Send | Stage::Relay | Stage::WaitDownstream);
    gives && usize::from(piece.peer) == to
}
