//! Blocks on the move: received, passed on while they arrive, fed, written.

use garland_core::proto::{FRAME_LEN, FromAgent, Kind, Landing, RelayEvent, Store, TAG_LEN};

use super::control::id;
use super::steps::{COPY, Engine};
use crate::agenda::Event;
use crate::link::{Item, LinkId, NEVER};
use crate::node::{Stage, Work, Written};
use crate::world::{SinkKind, nanoseconds};

impl Engine<'_> {
    /// Receives the block whose header was read.
    pub(super) fn receive(
        &mut self,
        place: usize,
        lane: usize,
        index: u64,
        store: Store,
        forward: bool,
    ) {
        let thread = &self.nodes[place].lanes[lane];
        let from = thread.up.expect("a header came from upstream just now");
        let to = thread.down.filter(|_| forward);
        let link = &self.links[from as usize];
        let over = link.ended && link.items.front().is_some_and(|item| item.last == NEVER);
        let work = Work { from: Some(from), store, ..self.work(index, to) };
        let work = Work { cut_off: over.then_some(self.now), ..work };
        self.nodes[place].lanes[lane].work = Some(work);
        self.progress(place, lane);
    }

    /// Reads a block from the sink, seals it and sends it.
    pub(super) fn feed(&mut self, place: usize, lane: usize, index: u64, incarnation: u32) {
        let to = self.nodes[place].lanes[lane].down;
        let stage = Stage::Window;
        let work = Work { incarnation, stage, ..self.work(index, to) };
        self.nodes[place].lanes[lane].work = Some(work);
        if place == 0 {
            let learnt = self.nodes[0].sink.learn(index, self.contents[index as usize]);
            learnt.expect("the simulated source doesn't change");
            self.read_source();
        }
        self.progress(place, lane);
    }

    fn work(&mut self, index: u64, to: Option<LinkId>) -> Work {
        self.serial = self.serial.wrapping_add(1);
        Work {
            serial: self.serial,
            index,
            stage: Stage::Room,
            from: None,
            to,
            incarnation: 0,
            store: Store::No,
            placed: false,
            since: self.now,
            sent: self.now,
            cut_off: None,
            lost: None,
        }
    }

    pub(super) fn done(&mut self, place: usize, lane: usize, serial: u32) {
        let work = self.nodes[place].lanes[lane].work.as_ref();
        if work.is_some_and(|work| work.serial == serial) {
            self.progress(place, lane);
        }
    }

    /// Takes a thread's work as far as it goes now.
    fn progress(&mut self, place: usize, lane: usize) {
        let room = self.world.room;
        let node = &mut self.nodes[place];
        let Some(work) = node.lanes[lane].work.as_mut() else { return };
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
            if work.from.is_none() && work.to.is_none() {
                return self.finish(place, lane);
            }
            if let Some(to) = work.to.filter(|_| work.cut_off.is_none()) {
                if self.links[to as usize].backlog() >= self.world.window {
                    return;
                }
                self.send(place, lane, to);
            }
            if let Some(work) = self.nodes[place].lanes[lane].work.as_mut() {
                work.stage = Stage::Moving;
                if work.cut_off.is_some() {
                    work.to = None;
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

    /// Puts the block that a thread is at on its way downstream.
    fn send(&mut self, place: usize, lane: usize, to: LinkId) {
        let work = self.nodes[place].lanes[lane].work.as_ref().expect("only work sends");
        let (index, incarnation, fed) = (work.index, work.incarnation, work.from.is_none());
        let wire = self.wire(index);
        let slice = self.world.slice_ns().min(wire);
        let latency = self.world.latency_ns;
        let link = &mut self.links[to as usize];
        let start = link.free.max(self.now);
        let first = start.saturating_add(slice + latency);
        link.free = start.saturating_add(wire);
        let sent = link.free;
        let last = sent.saturating_add(latency);
        let number = u16::try_from(lane).expect("lanes are few");
        let vault = self.vault.as_mut().filter(|_| fed);
        let sealed = vault.map(|vault| Box::new(vault.seal(place, number, index, incarnation)));
        let item = Item { kind: Kind::Block, index, first, last, garbled: false, sealed };
        self.put(to, item);
        if let Some(work) = self.nodes[place].lanes[lane].work.as_mut() {
            work.sent = sent;
        }
    }

    /// When all of a thread's block is here and with the kernel of the next link.
    fn ready(&mut self, place: usize, lane: usize) -> u64 {
        let work = self.nodes[place].lanes[lane].work.as_ref().expect("only work gets ready");
        let slice = self.world.slice_ns().min(self.wire(work.index));
        let here = match (work.cut_off, work.from) {
            (Some(cut_off), _) => cut_off,
            (None, Some(from)) => {
                let item = self.links[from as usize].items.front();
                item.expect("what is being received is first").last
            }
            (None, None) => self.now,
        };
        let Some(to) = work.to else { return here };
        let end = work.sent.max(if work.from.is_some() { here.saturating_add(slice) } else { 0 });
        let link = &mut self.links[to as usize];
        // Into the void, until this end learns of it; or to a wire that was cut.
        if !link.is_dead() {
            if link.frozen {
                return NEVER;
            }
            let (far, lane) = (link.far, link.lane);
            link.free = end;
            let item = link.items.back_mut().expect("what is being sent is last");
            let last = end.saturating_add(self.world.latency_ns);
            if std::mem::replace(&mut item.last, last) == NEVER && last != NEVER {
                self.wake(far, lane);
            }
        }
        here.max(end.saturating_sub(slice))
    }

    /// A thread's block is done with.
    fn finish(&mut self, place: usize, lane: usize) {
        let work = self.nodes[place].lanes[lane].work.take();
        let work = work.expect("only work is finished");
        let event = match work.from {
            Some(from) => Some(self.finish_receiving(place, lane, &work, from)),
            None => {
                self.nodes[place].lanes[lane].fed = true;
                work.lost.is_none().then_some(RelayEvent::Fed)
            }
        };
        let lost = work.lost.map(|epoch| RelayEvent::DownLost(epoch, "it broke".to_owned()));
        let node = &mut self.nodes[place];
        for event in event.into_iter().chain(lost) {
            node.tell(lane, event);
        }
        self.pump(place, lane);
    }

    fn finish_receiving(
        &mut self,
        place: usize,
        lane: usize,
        work: &Work,
        from: LinkId,
    ) -> RelayEvent {
        let link = &mut self.links[from as usize];
        link.reading = false;
        let mut item = link.items.pop_front().expect("what is being received is first");
        if work.cut_off.is_some() {
            item.garbled = true;
            item.sealed.iter_mut().for_each(|sealed| sealed.pad());
        } else {
            self.flip(place, &mut item);
        }
        if let Some(to) = work.to.filter(|&to| !self.links[to as usize].is_dead()) {
            let next = self.links[to as usize].items.back_mut().expect("it is being sent");
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
            self.hand_over(place, Written { lane, index, garbled, sealed });
        }
        RelayEvent::Received { stored: work.placed }
    }

    fn flip(&mut self, place: usize, item: &mut Item) {
        let this = (item.index, id(place));
        if let Some(at) = self.flips.iter().position(|&flip| flip == this) {
            self.flips.remove(at);
            // A block that came in changed already can't be told from one that was changed here.
            if !item.garbled {
                self.flipped.push(this);
            }
            item.garbled = true;
            item.sealed.iter_mut().for_each(|sealed| sealed.flip(place));
        }
    }

    /// Hands a block to a node's writer. A stream's is opened at once, and written when its turn
    /// comes. (Its relay hears of that when it knows that the block has come.)
    fn hand_over(&mut self, place: usize, block: Written) {
        if self.nodes[place].world.sink != SinkKind::Stream {
            return self.enqueue(place, block);
        }
        let whole = self.opens(place, &block);
        let landing = if whole { Landing::Opened } else { Landing::Changed };
        let landed = RelayEvent::Landed(block.index, landing);
        let node = &mut self.nodes[place];
        node.lanes[block.lane].events.push_back(landed);
        if !whole {
            node.places -= 1;
            return self.wake_waiting(place);
        }
        node.early.insert(block.index, block);
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

    /// Opens a block; says whether it is what was sealed.
    fn opens(&mut self, place: usize, block: &Written) -> bool {
        let whole = match (&block.sealed, self.vault.as_mut()) {
            (Some(sealed), Some(vault)) => vault.open(place, &mut sealed.clone()),
            _ => !block.garbled,
        };
        assert_eq!(whole, !block.garbled, "block {} on node {place}", block.index);
        whole
    }

    /// Starts writing the next block.
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

    /// A node's writer is done with a block.
    pub(super) fn landed(&mut self, place: usize) {
        let node = &mut self.nodes[place];
        let Some(block) = node.writing.pop_front() else { return };
        node.blocked_ns += node.asleep(self.now);
        node.disk = None;
        node.places -= 1;
        if node.world.sink == SinkKind::Stream {
            assert_eq!(block.index, node.streamed, "node {place} writes out of order");
            node.streamed += 1;
        }
        let whole = self.opens(place, &block);
        let landing = if whole { Landing::Written } else { Landing::Changed };
        self.write(place);
        self.happened(place, block.lane, RelayEvent::Landed(block.index, landing));
        self.wake_waiting(place);
    }

    fn wake_waiting(&mut self, place: usize) {
        for lane in 0..self.nodes[place].lanes.len() {
            let work = self.nodes[place].lanes[lane].work.as_ref();
            if work.is_some_and(|work| work.stage == Stage::Room) {
                self.wake(place, lane);
            }
        }
    }

    fn wire(&self, index: u64) -> u64 {
        let bytes = u64::from(self.plan.layout.block_length(index));
        self.world.wire_ns(bytes + (FRAME_LEN + TAG_LEN) as u64)
    }
}
