//! Follows the critical path backwards from the end.
//!
//! A thread that worked is followed back to the start of its work. For a thread that waited, the
//! walk continues with the thread that ended the wait: from the writer to the lane that received
//! the block, from a lane without a buffer to the writer, from a lane without bytes to the wire or,
//! if nothing was in flight, to the upstream lane. Work that is skipped this way was hidden behind
//! other work, and cost no time.

use garland_core::trace::{NONE, Stage};

use super::cause::Cause;
use super::segment::{Place, Segment};
use super::weave::Piece;
use super::world::{Before, World, is_giving};

/// The maximum length in nanoseconds of the gaps that recording itself causes in a thread's record.
const GAP_NS: i64 = 200_000;

/// A wait shorter than 1/`SMALL` of the time around it counts as the cost of a handover.
const SMALL: i64 = 100;

/// The stages whose end another thread can wait for.
const DELIVERY: [Stage; 6] =
    [Stage::Seal, Stage::Write, Stage::Open, Stage::Receive, Stage::Send, Stage::Relay];

/// The stages in which a thread works on blocks.
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
    /// The time at which the walk stops.
    begin: i64,
    at: i64,
    segments: Vec<Segment>,
    /// The waits followed since the last step back in time: thread, and start of the wait.
    waiting: Vec<(usize, i64)>,
    /// Threads that wait at the current time, and since when; the last one waits for this thread.
    callers: Vec<(usize, i64)>,
}

impl<'a> Walk<'a> {
    /// Starts a walk back from `end` to `begin`, in nanoseconds of the head's clock.
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

    /// Returns the time to which the walk has gone back.
    pub fn at(&self) -> i64 {
        self.at
    }

    /// Returns the path, last segment first, and the time at which the path begins.
    pub fn end(self) -> (Vec<Segment>, i64) {
        (self.segments, self.at)
    }

    /// Goes back in time to `to`, and attributes the time since `to` to `cause` at `place`.
    pub fn pass(&mut self, to: i64, cause: Cause, place: Place) {
        self.pass_with(to, cause, place, None);
    }

    /// Goes back in time to `to`, which follows from the clocks of both `nodes`. At most the error
    /// of the two clocks is attributed to [`Cause::ClockError`], the rest to `cause`.
    fn pass_between(&mut self, to: i64, cause: Cause, hop: Place, nodes: (usize, usize)) {
        let unsure = self.world.error(nodes.0, nodes.1).min(self.at - to);
        self.pass(to + unsure, cause, hop);
        self.pass(to, Cause::ClockError, hop);
    }

    /// Goes back in time to `to`; the counters of `thread` are evidence of the cause.
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
        let mut at = self.at;
        let mut still = 0;
        while let Some(thread) = next.filter(|_| self.at > self.begin) {
            next = self.step(thread);
            still = if self.at < at { 0 } else { still + 1 };
            at = self.at;
            // Threads that lead to each other without a step back in time explain nothing.
            if still > 4 * self.world.threads.len() + 4 {
                return;
            }
        }
    }

    /// Follows a thread back through its work at `stages` only; the time between two pieces of work
    /// is attributed to the cause `between`.
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

    /// Goes one step back; returns the thread to follow, or `None` at the end of the path.
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
            Stage::Control if piece.peer != NONE => Some(self.permission(thread, piece)),
            stage => {
                let cause = world.cause_of(stage, node);
                self.pass_with(piece.begin, cause, Place::node(node), Some(thread));
                Some(thread)
            }
        }
    }

    /// Handles a gap in a thread's record from `since` on; returns the thread to follow.
    fn gap(&mut self, thread: usize, since: i64) -> usize {
        let world = self.world;
        let node = world.threads[thread].node;
        let long = self.at - since > GAP_NS;
        if world.is_store(thread) && long {
            // A reader idles without free buffers, a writer without blocks.
            return self.hand_over(thread, since, !world.is_source(node));
        }
        let caller = self.caller(thread);
        if let Some((waiter, since)) = caller.filter(|_| long)
            && !world.is_source(world.threads[waiter].node)
            && !world.is_store(waiter)
            && self.store_works(world.threads[waiter].node)
        {
            // The thread got no request: the requester waited for its own writer.
            return self.hand_over(waiter, since, false);
        }
        // A source has something to send until it has sent all, so its idling is its own fault.
        let cause = if long && world.is_source(node) && world.threads[thread].goes_on(self.at) {
            Cause::Pause
        } else {
            Cause::Unattributed
        };
        // The waiting thread did something else before it waited.
        let caller = caller.filter(|caller| caller.1 > since);
        let to = caller.map_or(since, |caller| caller.1);
        // One of the two threads may have had no CPU.
        let lacked = |of: usize| world.threads[of].starved(to, self.at);
        let lacks =
            |waiter: &usize| cause == Cause::Unattributed && lacked(*waiter) > lacked(thread);
        let idle = caller.map(|caller| caller.0).filter(lacks).unwrap_or(thread);
        self.pass_with(to, cause, Place::node(world.threads[idle].node), Some(idle));
        caller.map_or(thread, |caller| caller.0)
    }

    /// Handles the time before a thread's first record; returns the thread to follow. A reader or
    /// writer is started when a lane needs it.
    fn beginning(&mut self, thread: usize) -> Option<usize> {
        let world = self.world;
        let begin = self.begin;
        if let Some((waiter, since)) = self.caller(thread).filter(|caller| caller.1 > begin) {
            let node = world.threads[thread].node;
            self.pass_with(since, Cause::Unattributed, Place::node(node), Some(thread));
            return Some(waiter);
        }
        if let Some(fed) = world.fed_aside(thread) {
            // What happened to the node before it was fed on the side is its own story.
            return Some(fed);
        }
        let source = world.is_source(world.threads[thread].node);
        world.is_store(thread).then(|| self.hand_over(thread, begin, !source))
    }

    /// Returns the thread that waits for `thread` at the current time, and when its wait began. If
    /// several wait, returns the one that began to wait last.
    fn caller(&mut self, thread: usize) -> Option<(usize, i64)> {
        let at = self.at;
        self.callers.retain(|(waiter, since)| *since < at && *waiter != thread);
        self.callers.iter().copied().max_by_key(|(_, since)| *since)
    }

    /// Returns the cause of the work that a thread did before it began to wait at `since`; `None`
    /// if the wait is too long to be the cost of a handover.
    fn handover_cause(&self, thread: usize, since: i64) -> Option<Cause> {
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
        let waited = of.spent(&waits, from, self.at);
        let worked = of.spent(&WORK, from, self.at);
        let small = waited.saturating_mul(SMALL / 2) <= self.at.saturating_sub(from);
        let busy = worked > since.saturating_sub(from) / 2;
        (small && busy && WORK.contains(&before.stage))
            .then(|| self.world.cause_of(before.stage, of.node))
    }

    /// Handles a thread that has waited since `since` for another stage on its node: the previous
    /// one if `before`, otherwise the next one. Returns the thread to follow.
    fn hand_over(&mut self, thread: usize, since: i64, before: bool) -> usize {
        let world = self.world;
        let node = world.threads[thread].node;
        if let Some(cause) = self.handover_cause(thread, since) {
            self.pass_with(since, cause, Place::node(node), Some(thread));
            return thread;
        }
        let is_lane = world.lanes.iter().any(|(key, &of)| key.0 == node && of == thread);
        let lanes = world.lanes.range((node, 0)..=(node, NONE)).map(|(_, &lane)| lane);
        let candidates: Vec<usize> = match (is_lane, before, world.is_source(node)) {
            // A source's lane waits for its readers, other lanes wait for the writer.
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

    /// Handles a wait of `thread` for `other` since `since`; returns the thread to follow: `other`,
    /// unless threads wait for each other in a cycle. That time is a bubble, and the last thread to
    /// wait is followed.
    fn wait_for(&mut self, thread: usize, since: i64, other: usize) -> usize {
        self.waiting.push((thread, since));
        let at = self.at;
        self.callers.retain(|(_, since)| *since < at);
        self.callers.push((thread, since));
        if !self.waiting.iter().any(|(waiting, _)| *waiting == other) {
            return other;
        }
        // The thread that began to wait last closed the cycle.
        let (last, since) =
            self.waiting.iter().copied().max_by_key(|wait| wait.1).unwrap_or((thread, since));
        let node = self.world.threads[last].node;
        // The waits of `last` and of later callers no longer matter.
        if let Some(place) = self.callers.iter().position(|(waiter, _)| *waiter == last) {
            self.callers.truncate(place);
        }
        self.pass_with(since, Cause::Bubble, Place::node(node), Some(last));
        self.waiting.clear();
        last
    }

    /// Handles a lane that received no bytes during `piece`; returns the thread to follow.
    fn upstream(&mut self, thread: usize, piece: &Piece) -> usize {
        let world = self.world;
        let node = world.threads[thread].node;
        let peer = usize::from(piece.peer);
        let place = Place::hop(peer, node);
        let key = (piece.lane, peer, node);
        let Some(sender) = world.sender(key, self.at) else {
            self.pass(piece.begin, Cause::Undecided, Place::node(peer));
            return thread;
        };
        if !world.has_sender(key) {
            // What feeds this node is not recorded there.
            self.pass(piece.begin, Cause::Wire, place);
            return thread;
        }
        let flow = world.hops.get(&key);
        let has_in_flight = |at: i64| {
            // After the last byte of the copy or of an operation, the ends hold no slices.
            let sender = &world.threads[sender];
            let leave = |p: &Piece| p.stage == Stage::Control;
            let waits = matches!(sender.before(at), Before::Piece(p) if leave(p));
            let over = waits || !sender.goes_on(at);
            flow.is_some_and(|flow| flow.has_in_flight(at, over))
        };
        let mut idle_since = self.at;
        while idle_since > piece.begin {
            let (gives, since) = match world.threads[sender].before(idle_since) {
                Before::Piece(p) => (is_giving(p, node), p.begin),
                Before::Gap(since) => (false, since),
                Before::Nothing => (false, piece.begin),
            };
            if !gives && !has_in_flight(idle_since) {
                break;
            }
            idle_since = since.max(piece.begin);
        }
        if idle_since <= piece.begin {
            self.pass(piece.begin, Cause::Wire, place);
            return thread;
        }
        self.pass_between(idle_since, Cause::Wire, place, (peer, node));
        if self.is_idle(sender) && self.store_works(node) {
            // The thread got no request: the requester waited for its own writer.
            return self.hand_over(thread, piece.begin, false);
        }
        self.wait_for(thread, piece.begin, sender)
    }

    /// Returns whether a thread was idle at the current time, and not only between two blocks.
    fn is_idle(&self, thread: usize) -> bool {
        match self.world.threads[thread].before(self.at) {
            Before::Gap(since) => {
                self.at - since > GAP_NS || !self.world.threads[thread].goes_on(self.at)
            }
            Before::Nothing => true,
            Before::Piece(_) => false,
        }
    }

    /// Returns whether a node's writer was busy at the current time.
    fn store_works(&self, node: usize) -> bool {
        let stores = self.world.stores.get(&node).into_iter().flatten();
        stores.into_iter().any(|&store| {
            matches!(self.world.threads[store].before(self.at), Before::Piece(p) if !p.stage.is_wait())
        })
    }

    /// Handles a sender that waited until its downstream requested more blocks, or until all nodes
    /// had written their blocks; returns the thread to follow. The time after the last write is
    /// attributed to the answer's transfer.
    fn permission(&mut self, thread: usize, piece: &Piece) -> usize {
        let world = self.world;
        let node = world.threads[thread].node;
        let to = usize::from(piece.peer);
        let stores = world.stores.get(&to).and_then(|stores| stores.first());
        if let Some(&store) = stores.filter(|_| self.store_works(to)) {
            return self.wait_for(thread, piece.begin, store);
        }
        if !world.lanes.contains_key(&(to, piece.lane)) {
            self.untraced(thread, piece);
            return thread;
        }
        // A node that feeds from what it holds waits for its own blocks; others for those of all.
        let of = (!world.is_source(node)).then_some(node);
        let place = Place::hop(node, to);
        let last = world.last_landing(of, self.at);
        match last.filter(|(_, landed)| *landed > piece.begin) {
            Some((other, landed)) => {
                let nodes = (node, world.threads[other].node);
                self.pass_between(landed, Cause::Control, place, nodes);
                self.wait_for(thread, piece.begin, other)
            }
            None => {
                self.pass(piece.begin, Cause::Control, place);
                thread
            }
        }
    }

    /// Handles a wait for a downstream without a trace. The minimum time of the wire is attributed
    /// to the wire, and the rest to the downstream, as unknown.
    fn untraced(&mut self, thread: usize, piece: &Piece) {
        let world = self.world;
        let node = world.threads[thread].node;
        let to = usize::from(piece.peer);
        let flow = world.hops.get(&(piece.lane, node, to)).zip(world.lane_limit);
        let through = flow.map_or(piece.begin, |(flow, rate)| flow.through(self.at, rate));
        let through = through.max(piece.begin);
        self.pass_with(through, Cause::Undecided, Place::node(to), Some(thread));
        self.pass(piece.begin, Cause::Wire, Place::hop(node, to));
    }

    /// Handles a lane that could not send its bytes during `piece`; returns the thread to follow.
    fn downstream(&mut self, thread: usize, piece: &Piece) -> usize {
        let world = self.world;
        let node = world.threads[thread].node;
        // Without a peer, the downstream was taken away while it was waited for.
        let peer = match piece.peer {
            NONE => world.threads[thread].downstream(piece.begin),
            peer => Some(peer),
        };
        let Some(to) = peer.map(usize::from) else {
            self.pass_with(piece.begin, Cause::Unattributed, Place::node(node), Some(thread));
            return thread;
        };
        let place = Place::hop(node, to);
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
            self.pass(piece.begin, Cause::Wire, place);
            return thread;
        }
        self.pass_between(taken, Cause::Wire, place, (node, to));
        self.wait_for(thread, piece.begin, receiver)
    }
}

/// Returns whether a piece of a receiver receives bytes from `from`, or tries to.
fn is_taking(piece: &Piece, from: usize) -> bool {
    let takes = matches!(piece.stage, Stage::Receive | Stage::WaitUpstream);
    takes && usize::from(piece.peer) == from
}
