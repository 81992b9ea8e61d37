//! The critical path, backwards from the end.
//!
//! A thread that worked is followed back to where its work began. One that waited is left at the
//! moment its waiting ended, for the one that ended it: the writer for the lane that brought the
//! block, a lane without a buffer for the writer, a lane without bytes for the wire or, if nothing is
//! under way there, for the lane before it. What is passed over that way was hidden behind other
//! work, and cost nothing.

use super::cause::Cause;
use super::segment::{Place, Segment};
use super::weave::Piece;
use super::world::{Before, World};
use garland_core::trace::{NONE, Stage};

/// Shorter gaps in a record are what recording itself leaves out.
const GAP_NS: i64 = 200_000;

/// A wait shorter than this fraction (1/n) of the time around it counts as the cost of a handover.
const SMALL: i64 = 100;

/// What ends with something that another thread may have waited for.
const DELIVERY: [Stage; 6] =
    [Stage::Seal, Stage::Write, Stage::Open, Stage::Receive, Stage::Send, Stage::Relay];

/// What threads do.
const WORK: [Stage; 7] = [
    Stage::Read,
    Stage::Seal,
    Stage::Write,
    Stage::Open,
    Stage::Receive,
    Stage::Send,
    Stage::Relay,
];

pub(super) struct Walk<'a> {
    world: &'a World,
    /// It ends there.
    begin: i64,
    at: i64,
    segments: Vec<Segment>,
    /// The waits that were followed since the last step back in time: thread and begin of its wait.
    waiting: Vec<(usize, i64)>,
    /// The threads that still wait at this moment, the last one for the thread that is followed.
    callers: Vec<(usize, i64)>,
}

impl<'a> Walk<'a> {
    /// A walk back from `end` to `begin`.
    pub fn new(world: &'a World, begin: i64, end: i64) -> Self {
        Self {
            world,
            begin,
            at: end.max(begin),
            segments: Vec::new(),
            waiting: Vec::new(),
            callers: Vec::new(),
        }
    }

    /// Where it is.
    pub fn at(&self) -> i64 {
        self.at
    }

    /// The path, the last stretch first, and where it ends.
    pub fn end(self) -> (Vec<Segment>, i64) {
        (self.segments, self.at)
    }

    /// Goes back to `to`.
    pub fn pass(&mut self, to: i64, cause: Cause, place: Place) {
        self.pass_with(to, cause, place, None);
    }

    /// Goes back to `to`; the records of `thread` are the evidence.
    pub fn pass_with(&mut self, to: i64, cause: Cause, place: Place, thread: Option<usize>) {
        let to = to.clamp(self.begin, self.at);
        if to < self.at {
            let segment = Segment::new(to, self.at, cause, place);
            self.segments.push(Segment { thread, ..segment });
            self.at = to;
            self.waiting.clear();
        }
    }

    /// Follows `thread` back to its first piece, through the threads that it waited for.
    pub fn follow(&mut self, thread: usize) {
        let mut next = Some(thread);
        while let Some(thread) = next.filter(|_| self.at > self.begin) {
            next = self.step(thread);
        }
    }

    /// Follows a thread through its work at these stages alone, back to the first of it; what lies
    /// between is of the cause `between`.
    pub fn follow_work(&mut self, thread: usize, stages: &[Stage], between: Cause) {
        let world = self.world;
        let place = Place::node(world.threads[thread].node);
        while self.at > self.begin {
            match world.threads[thread].before(self.at) {
                Before::Piece(piece) if stages.contains(&piece.stage) => {
                    let cause = world.cause_of(piece.stage, world.threads[thread].node);
                    self.pass_with(piece.begin, cause, place, Some(thread));
                }
                _ => match world.threads[thread].done(stages, self.at) {
                    Some(end) => self.pass(end, between, place),
                    None => return,
                },
            }
        }
    }

    /// Goes one step back; returns the thread to follow.
    fn step(&mut self, thread: usize) -> Option<usize> {
        let world = self.world;
        let node = world.threads[thread].node;
        let piece = match world.threads[thread].before(self.at) {
            Before::Piece(piece) => piece,
            Before::Gap(since) => return Some(self.gap(thread, since)),
            Before::Nothing => return self.beginning(thread),
        };
        match piece.stage {
            Stage::WaitUpstream if piece.peer != NONE => Some(self.upstream(thread, piece)),
            Stage::WaitUpstream => Some(self.hand_over(thread, piece.begin, true)),
            Stage::WaitDownstream => Some(self.downstream(thread, piece)),
            Stage::WaitBuffer => Some(self.hand_over(thread, piece.begin, false)),
            Stage::Control if piece.peer != NONE => Some(self.leave(thread, piece)),
            stage => {
                let cause = world.cause_of(stage, node);
                self.pass_with(piece.begin, cause, Place::node(node), Some(thread));
                Some(thread)
            }
        }
    }

    /// Nothing was recorded since then.
    fn gap(&mut self, thread: usize, since: i64) -> usize {
        let world = self.world;
        let node = world.threads[thread].node;
        let long = self.at - since > GAP_NS;
        if world.is_store(thread) && long {
            // A reader rests when there is no room, a writer when there is nothing to write.
            return self.hand_over(thread, since, !world.is_source(node));
        }
        let caller = self.caller(thread);
        if let Some((waiter, since)) = caller.filter(|_| long)
            && !world.is_source(world.threads[waiter].node)
            && !world.is_store(waiter)
            && self.store_works(world.threads[waiter].node)
        {
            // It got no request: the requester waited for its own writer.
            return self.hand_over(waiter, since, false);
        }
        // A source always has something to send until it has sent all: that it did nothing is its own
        // doing.
        let cause = if long && world.is_source(node) && world.threads[thread].goes_on(self.at) {
            Cause::Pause
        } else {
            Cause::Unattributed
        };
        // The waiting thread did something else before it waited.
        let caller = caller.filter(|caller| caller.1 > since);
        let to = caller.map_or(since, |caller| caller.1);
        // One of the two may have lacked a processor.
        let lacked = |of: usize| world.threads[of].starved(to, self.at);
        let lacks =
            |waiter: &usize| cause == Cause::Unattributed && lacked(*waiter) > lacked(thread);
        let idle = caller.map(|caller| caller.0).filter(lacks).unwrap_or(thread);
        self.pass_with(to, cause, Place::node(world.threads[idle].node), Some(idle));
        caller.map_or(thread, |caller| caller.0)
    }

    /// A thread hadn't begun yet: one that reads or writes was begun when a lane wanted it.
    fn beginning(&mut self, thread: usize) -> Option<usize> {
        let world = self.world;
        let begin = self.begin;
        if let Some((waiter, since)) = self.caller(thread).filter(|caller| caller.1 > begin) {
            let node = world.threads[thread].node;
            self.pass_with(since, Cause::Unattributed, Place::node(node), Some(thread));
            return Some(waiter);
        }
        let source = world.is_source(world.threads[thread].node);
        world.is_store(thread).then(|| self.hand_over(thread, begin, !source))
    }

    /// The thread that waits for `thread` at this moment and began to last, and when it began.
    fn caller(&mut self, thread: usize) -> Option<(usize, i64)> {
        let at = self.at;
        self.callers.retain(|(waiter, since)| *since < at && *waiter != thread);
        self.callers.iter().copied().max_by_key(|(_, since)| *since)
    }

    /// What a thread was at that has waited since then for no more than the hand-over costs: the cause
    /// of its work before.
    fn small_change(&self, thread: usize, since: i64) -> Option<Cause> {
        let of = &self.world.threads[thread];
        let before = match of.before(since) {
            Before::Piece(before) => before,
            Before::Gap(end) if since - end < GAP_NS => match of.before(end) {
                Before::Piece(before) => before,
                _ => return None,
            },
            _ => return None,
        };
        let from = since.saturating_sub(self.at.saturating_sub(since).saturating_mul(SMALL));
        let waits = [Stage::WaitUpstream, Stage::WaitDownstream, Stage::WaitBuffer];
        let (waited, worked) = (of.spent(&waits, from, self.at), of.spent(&WORK, from, self.at));
        let small = waited.saturating_mul(SMALL / 2) <= self.at.saturating_sub(from);
        let busy = worked > since.saturating_sub(from) / 2;
        (small && busy && WORK.contains(&before.stage))
            .then(|| self.world.cause_of(before.stage, of.node))
    }

    /// From a thread that waited since then to one of the same node: the one before it, or behind it.
    fn hand_over(&mut self, thread: usize, since: i64, before: bool) -> usize {
        let world = self.world;
        let node = world.threads[thread].node;
        if let Some(cause) = self.small_change(thread, since) {
            self.pass_with(since, cause, Place::node(node), Some(thread));
            return thread;
        }
        let is_lane = world.lanes.iter().any(|(key, &of)| key.0 == node && of == thread);
        let lanes = world.lanes.range((node, 0)..=(node, NONE)).map(|(_, &lane)| lane);
        let candidates: Vec<usize> = match (is_lane, before, world.is_source(node)) {
            // What a source's lane waits for are its readers; what others' wait for is the writer.
            (true, true, true) | (true, false, _) => {
                world.stores.get(&node).cloned().unwrap_or_default()
            }
            (true, true, false) => Vec::new(),
            (false, ..) => lanes.collect(),
        };
        let done = |&other: &usize| world.threads[other].done(&DELIVERY, self.at);
        let other = candidates.into_iter().filter(|&other| other != thread);
        match other.max_by_key(done) {
            Some(other) => self.wait_for(thread, since, other),
            None => {
                self.pass(since, Cause::Unattributed, Place::node(node));
                thread
            }
        }
    }

    /// From `thread`, which has waited since then, to `other`; unless all wait for each other.
    fn wait_for(&mut self, thread: usize, since: i64, other: usize) -> usize {
        self.waiting.push((thread, since));
        let at = self.at;
        self.callers.retain(|(_, since)| *since < at);
        self.callers.push((thread, since));
        if !self.waiting.iter().any(|(waiting, _)| *waiting == other) {
            return other;
        }
        // The one that began to wait last made it a ring.
        let (last, since) =
            self.waiting.iter().copied().max_by_key(|wait| wait.1).unwrap_or((thread, since));
        let node = self.world.threads[last].node;
        // Its own waits no longer matter.
        if let Some(place) = self.callers.iter().position(|(waiter, _)| *waiter == last) {
            self.callers.truncate(place);
        }
        self.pass_with(since, Cause::Bubble, Place::node(node), Some(last));
        self.waiting.clear();
        last
    }

    /// A lane got no bytes.
    fn upstream(&mut self, thread: usize, piece: &Piece) -> usize {
        let world = self.world;
        let (node, from) = (world.threads[thread].node, usize::from(piece.peer));
        let hop = Place::hop(from, node);
        let Some(&sender) = world.lanes.get(&(from, piece.lane)) else {
            self.pass(piece.begin, Cause::Undecided, Place::node(from));
            return thread;
        };
        let flow = world.hops.get(&(piece.lane, from, node));
        let is_wet = |at: i64| {
            // Behind the last byte, of all or of an operation, there is nothing that could be in the
            // ends' hands.
            let sender = &world.threads[sender];
            let leave = |p: &Piece| p.stage == Stage::Control;
            let waits = matches!(sender.before(at), Before::Piece(p) if leave(p));
            let over = waits || !sender.goes_on(at);
            flow.is_some_and(|flow| flow.is_wet(at, over))
        };
        let mut dry = self.at;
        while dry > piece.begin {
            let (gives, since) = match world.threads[sender].before(dry) {
                Before::Piece(p) => (is_giving(p, node), p.begin),
                Before::Gap(since) => (false, since),
                Before::Nothing => (false, piece.begin),
            };
            if !gives && !is_wet(dry) {
                break;
            }
            dry = since.max(piece.begin);
        }
        if dry <= piece.begin {
            self.pass(piece.begin, Cause::Wire, hop);
            return thread;
        }
        if dry < self.at {
            let unsure = world.error(from, node).min(self.at - dry);
            self.pass(dry + unsure, Cause::Wire, hop);
            self.pass(dry, Cause::ClockError, hop);
        }
        if self.is_idle(sender) && self.store_works(node) {
            // It got no request: the requester waited for its own writer.
            return self.hand_over(thread, piece.begin, false);
        }
        self.wait_for(thread, piece.begin, sender)
    }

    /// Whether a thread did nothing just now, and not only between two blocks.
    fn is_idle(&self, thread: usize) -> bool {
        match self.world.threads[thread].before(self.at) {
            Before::Gap(since) => {
                self.at - since > GAP_NS || !self.world.threads[thread].goes_on(self.at)
            }
            Before::Nothing => true,
            Before::Piece(_) => false,
        }
    }

    /// Whether a node's writer was at work just now.
    fn store_works(&self, node: usize) -> bool {
        let stores = self.world.stores.get(&node).into_iter().flatten();
        stores.into_iter().any(|&store| {
            matches!(self.world.threads[store].before(self.at), Before::Piece(p) if !p.stage.is_wait())
        })
    }

    /// A sender had to wait until its downstream asked for more, or all had written what they had:
    /// what came behind the last one's writing is the answer's way.
    fn leave(&mut self, thread: usize, piece: &Piece) -> usize {
        let world = self.world;
        let (node, to) = (world.threads[thread].node, usize::from(piece.peer));
        let stores = world.stores.get(&to).and_then(|stores| stores.first());
        if let Some(&store) = stores.filter(|_| self.store_works(to)) {
            return self.wait_for(thread, piece.begin, store);
        }
        if !world.lanes.contains_key(&(to, piece.lane)) {
            self.unseen(thread, piece);
            return thread;
        }
        let (hop, last) = (Place::hop(node, to), world.last_landing(None, self.at));
        match last.filter(|(_, landed)| *landed > piece.begin) {
            Some((other, landed)) => {
                let unsure = world.error(node, world.threads[other].node).min(self.at - landed);
                self.pass(landed + unsure, Cause::Control, hop);
                self.pass(landed, Cause::ClockError, hop);
                self.wait_for(thread, piece.begin, other)
            }
            None => {
                self.pass(piece.begin, Cause::Control, hop);
                thread
            }
        }
    }

    /// The downstream has no trace. What it did with the bytes is unknown, but not how long the wire
    /// needs for them.
    fn unseen(&mut self, thread: usize, piece: &Piece) {
        let world = self.world;
        let (node, to) = (world.threads[thread].node, usize::from(piece.peer));
        let flow = world.hops.get(&(piece.lane, node, to)).zip(world.lane_limit);
        let through = flow.map_or(piece.begin, |(flow, rate)| flow.through(self.at, rate));
        let through = through.max(piece.begin);
        self.pass_with(through, Cause::Undecided, Place::node(to), Some(thread));
        self.pass(piece.begin, Cause::Wire, Place::hop(node, to));
    }

    /// A lane couldn't give its bytes away.
    fn downstream(&mut self, thread: usize, piece: &Piece) -> usize {
        let world = self.world;
        let (node, to) = (world.threads[thread].node, usize::from(piece.peer));
        let hop = Place::hop(node, to);
        let Some(&receiver) = world.lanes.get(&(to, piece.lane)) else {
            self.pass(piece.begin, Cause::Undecided, Place::node(to));
            return thread;
        };
        let mut taken = self.at;
        while taken > piece.begin {
            match world.threads[receiver].before(taken) {
                Before::Piece(p) if is_taking(p, node) => taken = p.begin.max(piece.begin),
                Before::Gap(since) => taken = since.max(piece.begin),
                Before::Nothing => taken = piece.begin,
                Before::Piece(_) => break,
            }
        }
        if taken <= piece.begin {
            self.pass(piece.begin, Cause::Wire, hop);
            return thread;
        }
        if taken < self.at {
            let unsure = world.error(node, to).min(self.at - taken);
            self.pass(taken + unsure, Cause::Wire, hop);
            self.pass(taken, Cause::ClockError, hop);
        }
        self.wait_for(thread, piece.begin, receiver)
    }
}

/// Whether a sender's piece gives bytes to `to`, or tries.
fn is_giving(piece: &Piece, to: usize) -> bool {
    let gives = matches!(piece.stage, Stage::Send | Stage::Relay | Stage::WaitDownstream);
    gives && usize::from(piece.peer) == to
}

/// Whether a receiver's piece takes bytes from `from`, or would.
fn is_taking(piece: &Piece, from: usize) -> bool {
    let takes = matches!(piece.stage, Stage::Receive | Stage::WaitUpstream);
    takes && usize::from(piece.peer) == from
}
