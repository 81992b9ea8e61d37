//! Moves blocks: receives, forwards, sends and writes them.

use garland_protocol::FromAgent;
use garland_protocol::copy::{FRAME_LEN, Kind, Landing, LinkSide, RelayEvent, Store, TAG_LEN};

use super::steps::{COPY, Engine};
use crate::agenda::Event;
use crate::link::{Item, LinkId, NEVER};
use crate::node::{Stage, Work, Written, id};
use crate::world::nanoseconds;

impl Engine<'_> {
    /// Starts to receive the block whose header was read.
    pub(super) fn receive(
        &mut self,
        place: usize,
        lane: usize,
        index: u64,
        store: Store,
        forward: &[u32],
    ) {
        let thread = &self.nodes[place].lanes[lane];
        let from = thread.up.expect("a header was just read from upstream");
        let link = &self.links[from as usize];
        let over = link.ended && link.items.front().is_some_and(|item| item.last == NEVER);
        let from = Some(from);
        let cut_off = over.then_some(self.now);
        let work = Work { from, store, cut_off, ..self.work(place, lane, index, forward) };
        self.nodes[place].lanes[lane].work = Some(work);
        self.progress(place, lane);
    }

    /// Starts to read a block from the sink, and to seal and send it.
    pub(super) fn feed(
        &mut self,
        place: usize,
        lane: usize,
        index: u64,
        incarnation: u64,
        to: &[u32],
    ) {
        let blocks = self.plan.layout.blocks();
        if place == 0 && (index >= blocks || index < self.released) {
            let ended = RelayEvent::Ended(blocks);
            self.nodes[0].tell(lane, if index < blocks { RelayEvent::Gone } else { ended });
            return self.read_source();
        }
        let stage = Stage::Window;
        let work = Work { incarnation, stage, ..self.work(place, lane, index, to) };
        self.nodes[place].lanes[lane].work = Some(work);
        if place == 0 {
            let learnt = self.nodes[0].sink.learn(index, self.contents[index as usize]);
            learnt.expect("the simulated source doesn't change");
            self.read_source();
        }
        self.progress(place, lane);
    }

    fn work(&mut self, place: usize, lane: usize, index: u64, to: &[u32]) -> Work {
        let to = to.iter().filter_map(|&epoch| self.down(place, lane, epoch)).collect();
        self.serial = self.serial.wrapping_add(1);
        let serial = self.serial;
        let since = self.now;
        let sent = self.now;
        Work { serial, index, to, since, sent, ..Work::default() }
    }

    pub(super) fn done(&mut self, place: usize, lane: usize, serial: u32) {
        let work = self.nodes[place].lanes[lane].work.as_ref();
        if work.is_some_and(|work| work.serial == serial) {
            self.progress(place, lane);
        }
    }

    /// Advances the work of a thread as far as possible now.
    fn progress(&mut self, place: usize, lane: usize) {
        let room = self.world.room;
        let node = &mut self.nodes[place];
        let Some(work) = node.lanes[lane].work.as_mut() else { return };
        // A disk that hangs does not return the block to send.
        if node.hangs && work.from.is_none() && work.stage != Stage::Moving {
            return;
        }
        if work.stage == Stage::Room && work.cut_off.is_none() {
            let free = node.places < room;
            if work.store == Store::Yes && !free {
                return;
            }
            work.placed = work.store != Store::No && free;
            node.places += usize::from(work.placed);
            node.stalled_ns += self.now - work.since;
            work.stage = Stage::Window;
        }
        if work.stage != Stage::Moving {
            if work.from.is_none() && work.to.is_empty() {
                return self.finish(place, lane);
            }
            if work.cut_off.is_none() {
                let window = self.world.window;
                let links = &self.links;
                if work.to.iter().any(|&to| links[to as usize].backlog() >= window) {
                    work.waits_since.get_or_insert(self.now);
                    return;
                }
                if let Some(since) = work.waits_since.take() {
                    for to in &work.to {
                        let link = &mut self.links[*to as usize];
                        link.blocked_ns += link.idle(since, self.now);
                    }
                }
                self.send(place, lane);
            }
            if let Some(work) = self.nodes[place].lanes[lane].work.as_mut() {
                work.stage = Stage::Moving;
                if work.cut_off.is_some() {
                    work.to.clear();
                }
            }
        }
        match self.ready(place, lane) {
            NEVER => {}
            ready if ready > self.now => {
                let work = self.nodes[place].lanes[lane].work.as_ref();
                let serial = work.expect("the work isn't finished").serial;
                let lane = u16::try_from(lane).expect("lanes are few");
                self.agenda.add(ready, Event::Done { node: id(place), lane, serial });
            }
            _ => self.finish(place, lane),
        }
    }

    /// Sends the present block of a thread on all its links, slice by slice in turn: the links
    /// share the node's wire.
    fn send(&mut self, place: usize, lane: usize) {
        let thread = &self.nodes[place].lanes[lane];
        let work = thread.work.as_ref().expect("only work sends");
        let index = work.index;
        let incarnation = work.incarnation;
        let fed = work.from.is_none();
        let number = thread.number;
        let to = work.to.clone();
        let bytes = self.block_bytes(index);
        let slice = u64::from(self.world.slice).min(bytes);
        let latency = self.world.latency_ns;
        let rate = self.wire_rate(place);
        let wire_free = &mut self.nodes[place].sent[usize::from(number)];
        let start = (*wire_free).max(self.now);
        let turns = u64::try_from(to.len()).expect("links are few");
        *wire_free = start.saturating_add(nanoseconds(turns * bytes, rate));
        // The slowest link delays the others, because the thread waits for each in turn.
        let sent = to.iter().fold(*wire_free, |sent, &to| {
            let link = &self.links[to as usize];
            sent.max(start.max(link.free).saturating_add(link.wire_ns(bytes)))
        });
        let last = sent.saturating_add(latency);
        let vault = self.vault.as_mut().filter(|_| fed);
        let sealed = vault.map(|vault| vault.seal(place, number, index, incarnation));
        for (turn, &to) in (0..).zip(&to) {
            let link = &mut self.links[to as usize];
            let begin = start.max(link.free);
            let turns_before = nanoseconds(turn * slice, rate);
            let first = begin.saturating_add(turns_before + link.wire_ns(slice) + latency);
            link.free = sent;
            link.sends(bytes, begin);
            let sealed = sealed.clone().map(Box::new);
            let item = Item { kind: Kind::Block, index, first, last, garbled: false, sealed };
            self.put(to, item);
        }
        if let Some(work) = self.nodes[place].lanes[lane].work.as_mut() {
            work.sent = sent;
        }
    }

    /// Returns the time at which a thread's block has arrived and has been passed to the kernel for
    /// all links on which it is sent; [`NEVER`] if a cut wire blocks the thread.
    fn ready(&mut self, place: usize, lane: usize) -> u64 {
        let work = self.nodes[place].lanes[lane].work.as_ref().expect("only work gets ready");
        let received = work.from.is_some();
        let to = work.to.clone();
        let slice = u64::from(self.world.slice).min(self.block_bytes(work.index));
        let here = match (work.cut_off, work.from) {
            (Some(cut_off), _) => cut_off,
            (None, Some(from)) => {
                let item = self.links[from as usize].items.front();
                item.expect("the item being received is the first").last
            }
            (None, None) => self.now,
        };
        let slices = to.iter().map(|&to| self.links[to as usize].wire_ns(slice));
        let turns = slices.clone().sum::<u64>();
        let slowest = slices.max().unwrap_or(0);
        if to.is_empty() {
            return here;
        }
        let mut end = work.sent.max(if received { here.saturating_add(turns) } else { 0 });
        // Dead links are ignored: bytes sent on them are lost until this end learns of it. A wire
        // that was cut blocks the thread, so the other links get no more bytes.
        let alive: Vec<LinkId> =
            to.into_iter().filter(|&to| !self.links[to as usize].is_dead()).collect();
        let is_stuck = alive.iter().any(|&to| self.links[to as usize].frozen);
        for to in alive {
            let link = &mut self.links[to as usize];
            let far = link.far;
            let lane = link.lane;
            let item = link.items.back_mut().expect("the item being sent is the last");
            if is_stuck {
                item.last = NEVER;
                continue;
            }
            if item.last == NEVER {
                end = end.max(self.now);
            }
            link.free = end;
            let last = end.saturating_add(self.world.latency_ns);
            if std::mem::replace(&mut item.last, last) == NEVER && last != NEVER {
                self.wake(far, lane);
            }
        }
        if is_stuck { NEVER } else { here.max(end.saturating_sub(slowest)) }
    }

    /// Ends the work on a thread's block.
    fn finish(&mut self, place: usize, lane: usize) {
        let work = self.nodes[place].lanes[lane].work.take();
        let work = work.expect("only work is finished");
        let event = match work.from {
            Some(from) => self.finish_receiving(place, &work, from),
            None => {
                self.nodes[place].lanes[lane].fed = true;
                RelayEvent::Fed(self.block_bytes(work.index))
            }
        };
        self.nodes[place].tell(lane, event);
        for epoch in work.lost {
            self.nodes[place]
                .tell(lane, RelayEvent::Lost(LinkSide::Down, epoch, "it broke".to_owned()));
        }
        self.pump(place, lane);
    }

    fn finish_receiving(&mut self, place: usize, work: &Work, from: LinkId) -> RelayEvent {
        let link = &mut self.links[from as usize];
        link.reading = false;
        let mut item = link.items.pop_front().expect("the item being received is the first");
        if work.cut_off.is_some() {
            item.garbled = true;
            item.sealed.iter_mut().for_each(|sealed| sealed.pad());
        } else {
            self.flip(place, &mut item);
        }
        for &to in &work.to {
            let link = &mut self.links[to as usize];
            if link.is_dead() {
                continue;
            }
            let next = link.items.back_mut().expect("it is being sent");
            next.garbled = item.garbled;
            next.sealed = item.sealed.clone();
        }
        self.wasted += u64::from(item.garbled || !work.placed);
        let node = &mut self.nodes[place];
        if work.cut_off.is_some() {
            node.places -= usize::from(work.placed);
            if work.placed {
                self.wake_waiting(place);
            }
            return RelayEvent::CutOff;
        }
        if node.first_ns.is_none() {
            node.first_ns = Some(self.now);
            self.send_head(place, FromAgent::First(COPY));
        }
        if work.placed {
            let Item { index, garbled, sealed, .. } = item;
            self.hand_over(place, Written { index, garbled, sealed, brought: false });
        }
        RelayEvent::Received { stored: work.placed }
    }

    fn flip(&mut self, place: usize, item: &mut Item) {
        let this = (item.index, id(place));
        if let Some(at) = self.flips.iter().position(|&flip| flip == this) {
            self.flips.remove(at);
            // A block that arrived changed cannot be told from one that was changed here.
            if !item.garbled {
                self.flipped.push(this);
            }
            item.garbled = true;
            item.sealed.iter_mut().for_each(|sealed| sealed.flip(place));
        }
    }

    /// Passes a block to a node's writer. A stream's block is opened at once, and written when its
    /// turn comes. The relay learns of the arrival first, then of the opening.
    fn hand_over(&mut self, place: usize, block: Written) {
        if !self.nodes[place].world.sink.is_ordered() {
            return self.enqueue(place, block);
        }
        let whole = self.opens(place, &block);
        let landing = if whole { Landing::Opened } else { Landing::Changed };
        let lane = self.lane_of(block.index);
        let node = &mut self.nodes[place];
        node.land(lane, block.index, landing);
        if !whole {
            node.places -= 1;
            return self.wake_waiting(place);
        }
        node.early.insert(block.index, block);
        self.take_turns(place);
    }

    /// Passes to the node's writer the blocks of a stream whose turn has come.
    pub(super) fn take_turns(&mut self, place: usize) {
        while let Some(block) = self.nodes[place].in_turn() {
            self.enqueue(place, block);
        }
    }

    fn enqueue(&mut self, place: usize, block: Written) {
        let writing = &mut self.nodes[place].writing;
        writing.push_back(block);
        if writing.len() == 1 {
            self.write(place);
        }
    }

    /// Opens a block. Returns whether its bytes are those that were sealed.
    fn opens(&mut self, place: usize, block: &Written) -> bool {
        let whole = match (&block.sealed, self.vault.as_mut()) {
            (Some(sealed), Some(vault)) => vault.open(place, &mut sealed.clone()),
            _ => !block.garbled,
        };
        assert_eq!(whole, !block.garbled, "block {} on node {place}", block.index);
        whole
    }

    /// Starts to write the next block.
    fn write(&mut self, place: usize) {
        let node = &mut self.nodes[place];
        if let Some(block) = node.writing.front() {
            let bytes = self.plan.layout.block_length(block.index).into();
            let begin = self.now + nanoseconds(bytes, node.world.cpu_rate);
            let due = begin + nanoseconds(bytes, node.world.disk_rate);
            node.disk = Some((begin, due));
            self.agenda.add(due, Event::Landed(id(place)));
        }
    }

    /// Handles a completed write of a block.
    pub(super) fn landed(&mut self, place: usize) {
        let node = &mut self.nodes[place];
        if node.hangs {
            return;
        }
        let Some(block) = node.writing.pop_front() else { return };
        node.blocked_ns += node.asleep(self.now);
        node.disk = None;
        node.places -= usize::from(!block.brought);
        if node.world.sink.is_ordered() {
            assert_eq!(block.index, node.streamed, "node {place} writes out of order");
            node.streamed += 1;
        }
        if block.brought {
            return self.landed_old(place, block.index);
        }
        let whole = self.opens(place, &block);
        let landing = if whole { Landing::Written } else { Landing::Changed };
        self.write(place);
        let lane = self.lane_of(block.index);
        self.nodes[place].land(lane, block.index, landing);
        self.pump(place, lane);
        self.wake_waiting(place);
    }

    /// Handles a completed write of a block that the node had before the copy: all lanes check
    /// whether they may continue.
    fn landed_old(&mut self, place: usize, index: u64) {
        self.nodes[place].sink.landed(index, Landing::Written);
        self.nodes[place].landed = true;
        self.write(place);
        (0..self.nodes[place].lanes.len()).for_each(|lane| self.pump(place, lane));
        self.check_complete(place);
        self.wake_waiting(place);
    }

    /// Returns the number of the lane of block `index`.
    fn lane_of(&self, index: u64) -> usize {
        let lane = self.plan.lanes.iter().position(|lane| lane.blocks.ordinal(index).is_some());
        lane.expect("each block has a lane")
    }

    /// Lets a lane's block continue without being written, instead of waiting for a slot of the
    /// writer.
    pub(super) fn give_up_place(&mut self, place: usize, lane: usize) {
        let work = self.nodes[place].lanes[lane].work.as_mut();
        let Some(work) = work.filter(|work| work.stage == Stage::Room) else { return };
        if work.store == Store::Yes {
            work.store = Store::IfRoom;
            self.wake(place, lane);
        }
    }

    fn wake_waiting(&mut self, place: usize) {
        for lane in 0..self.nodes[place].lanes.len() {
            let work = self.nodes[place].lanes[lane].work.as_ref();
            if work.is_some_and(|work| work.stage == Stage::Room) {
                self.wake(place, lane);
            }
        }
    }

    /// Returns the length of a block on the wire in bytes.
    fn block_bytes(&self, index: u64) -> u64 {
        u64::from(self.plan.layout.block_length(index)) + (FRAME_LEN + TAG_LEN) as u64
    }
}
