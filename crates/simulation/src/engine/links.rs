//! Opens, accepts, refuses, closes and breaks links.

use garland_core::plan::NodeId;
use garland_protocol::copy::{FRAME_LEN, Kind, LinkSide, RESUME_WITHIN_NS, RelayEvent};

use super::steps::Engine;
use crate::agenda::Event;
use crate::link::{Item, Link, LinkId, NEVER, Side};
use crate::node::{Life, Stage, id};

impl Engine<'_> {
    /// Opens a link from the thread with index `thread` of the node at `place` to `node`, the next
    /// node of the lane.
    pub(super) fn open(&mut self, place: usize, thread: usize, node: NodeId, epoch: u32) {
        let far = node.index();
        let number = LinkId::try_from(self.links.len()).expect("links are few");
        let lane = usize::from(self.nodes[place].lanes[thread].number);
        let rate = self.wire_rate(place).min(self.wire_rate(far));
        let frozen = self.nodes[place].cut || self.nodes[far].cut;
        if !frozen {
            let due = self.now + self.world.connect_ns + self.world.latency_ns;
            self.agenda.add(due, Event::Accept(number));
        }
        let near = place;
        self.links.push(Link { lane, thread, epoch, rate, near, far, frozen, ..Link::default() });
        self.nodes[place].lanes[thread].downs.push(number);
    }

    /// Returns the rate of a node's wire in bytes per second.
    pub(super) fn wire_rate(&self, place: usize) -> u64 {
        place.checked_sub(1).map_or(self.world.link_rate, |at| self.world.nodes[at].wire_rate)
    }

    /// Returns the link with this epoch on which a thread sends.
    pub(super) fn down(&self, place: usize, thread: usize, epoch: u32) -> Option<LinkId> {
        let mut downs = self.nodes[place].lanes[thread].downs.iter().copied();
        downs.find(|&link| self.links[link as usize].epoch == epoch)
    }

    /// Handles the arrival of a new link at the kernel of the far end.
    pub(super) fn reach_far_end(&mut self, number: LinkId) {
        let link = &self.links[number as usize];
        if link.near_closed || link.frozen {
            return;
        }
        let soon = self.now + self.world.latency_ns;
        match self.nodes[link.far].life {
            Life::Paused(until) if until > self.now => {
                self.agenda.add(until, Event::Accept(number));
            }
            Life::Crashed => self.refuse(number),
            Life::Stopped => self.agenda.add(soon, Event::Opened(number)),
            Life::Running | Life::Paused(_) => {
                self.agenda.add(soon, Event::Opened(number));
                self.admit(number);
            }
        }
    }

    /// Accepts, refuses or keeps a new link, depending on the route of the node at the far end.
    pub(super) fn admit(&mut self, number: LinkId) {
        let Link { far, lane, epoch, near_closed, far_closed, .. } = self.links[number as usize];
        if near_closed || far_closed {
            return;
        }
        if self.nodes[far].closed {
            return self.refuse(number);
        }
        let thread = &mut self.nodes[far].lanes[lane];
        let expected = thread.route.as_ref().and_then(|route| route.upstream);
        match expected.map_or(0, |(_, expected, _)| expected) {
            expected if expected == epoch => {
                let before = thread.up.replace(number);
                self.links[number as usize].accepted = true;
                if let Some(before) = before {
                    self.close_far(before);
                }
                self.nodes[far].lanes[lane].up = Some(number);
                self.happened(far, lane, RelayEvent::Opened(LinkSide::Up, epoch));
            }
            expected if expected < epoch => {
                thread.early.push(number);
                self.agenda.add(self.now + self.world.accept_ns, Event::Expire(number));
            }
            _ => self.refuse(number),
        }
    }

    pub(super) fn expire(&mut self, number: LinkId) {
        let Link { far, lane, .. } = self.links[number as usize];
        let early = &mut self.nodes[far].lanes[lane].early;
        if let Some(at) = early.iter().position(|&link| link == number) {
            early.remove(at);
            self.refuse(number);
        }
    }

    fn refuse(&mut self, number: LinkId) {
        let link = &mut self.links[number as usize];
        link.far_closed = true;
        if !link.frozen {
            self.agenda.add(self.now + self.world.latency_ns, Event::Broken(number, Side::Near));
        }
    }

    pub(super) fn opened(&mut self, number: LinkId) {
        let Link { near, thread, epoch, near_closed, .. } = self.links[number as usize];
        if !near_closed {
            self.agenda.add(self.now + RESUME_WITHIN_NS, Event::Overdue(number));
            self.happened(near, thread, RelayEvent::Opened(LinkSide::Down, epoch));
        }
    }

    pub(super) fn overdue(&mut self, number: LinkId) {
        let Link { near, thread, epoch, near_closed, .. } = self.links[number as usize];
        if !near_closed {
            self.happened(near, thread, RelayEvent::Overdue(epoch));
        }
    }

    /// Sends a request upstream. `asked` returns the request for the epoch of the link.
    pub(super) fn ask_up(
        &mut self,
        place: usize,
        lane: usize,
        asked: impl FnOnce(u32) -> RelayEvent,
    ) {
        let thread = &self.nodes[place].lanes[lane];
        let Some(number) = thread.up else { return };
        // A thread that was busy for long speaks of an earlier link first, which is closed.
        let is_meant = thread.relay.route().epoch_up() == Some(self.links[number as usize].epoch);
        let link = &mut self.links[number as usize];
        if is_meant && !link.far_closed && !link.frozen {
            link.asks.push_back(asked(link.epoch));
            self.agenda.add(self.now + self.world.latency_ns, Event::Asked(number));
        }
    }

    pub(super) fn asked(&mut self, number: LinkId) {
        let link = &mut self.links[number as usize];
        let Some(asked) = link.asks.pop_front() else { return };
        if !link.near_closed && !link.frozen {
            let near = link.near;
            let thread = link.thread;
            self.happened(near, thread, asked);
        }
    }

    /// Sends a frame without a block downstream.
    pub(super) fn send_down(&mut self, number: LinkId, kind: Kind, index: u64) {
        let link = &mut self.links[number as usize];
        let wire = link.wire_ns(FRAME_LEN as u64);
        if link.near_closed {
            return;
        }
        link.free = link.free.max(self.now).saturating_add(wire);
        let last = link.free.saturating_add(self.world.latency_ns);
        let item = Item { kind, index, first: last, last, garbled: false, sealed: None };
        self.put(number, item);
    }

    /// Puts a frame in transit.
    pub(super) fn put(&mut self, number: LinkId, mut item: Item) {
        let link = &mut self.links[number as usize];
        if link.frozen {
            (item.first, item.last) = (NEVER, NEVER);
        } else {
            self.agenda.add(item.first, Event::Arrive(number));
        }
        link.items.push_back(item);
    }

    /// Closes a link at its near end.
    pub(super) fn close_near(&mut self, number: LinkId) {
        let reset = self.random.once_in(2);
        let soon = self.now + self.world.latency_ns;
        self.truncate(number);
        let link = &mut self.links[number as usize];
        if std::mem::replace(&mut link.near_closed, true) {
            return;
        }
        link.reset = reset;
        if !link.far_closed && !link.frozen {
            self.agenda.add(soon, Event::Broken(number, Side::Far));
        }
        self.let_go_down(number);
    }

    /// Closes a link at its far end.
    pub(super) fn close_far(&mut self, number: LinkId) {
        let soon = self.now + self.world.latency_ns;
        let link = &mut self.links[number as usize];
        if std::mem::replace(&mut link.far_closed, true) {
            return;
        }
        link.discard();
        if !link.near_closed && !link.frozen {
            self.agenda.add(soon, Event::Broken(number, Side::Near));
        }
        let far = link.far;
        let lane = link.lane;
        let arrived = link.items.front().is_some_and(|item| item.last <= self.now);
        if self.nodes[far].lanes[lane].up == Some(number) {
            self.nodes[far].lanes[lane].up = None;
        }
        if !arrived {
            self.cut_off(number);
        }
    }

    /// Notifies the near end that a link is broken.
    pub(super) fn broken_down(&mut self, number: LinkId) {
        let link = &mut self.links[number as usize];
        if std::mem::replace(&mut link.near_closed, true) {
            return;
        }
        let near = link.near;
        let thread = link.thread;
        let epoch = link.epoch;
        if !self.let_go_down(number) {
            let reason = "it broke".to_owned();
            self.happened(near, thread, RelayEvent::Lost(LinkSide::Down, epoch, reason));
        }
    }

    /// Notifies the far end that a link is broken.
    pub(super) fn broken_up(&mut self, number: LinkId) {
        let link = &mut self.links[number as usize];
        if link.far_closed {
            return;
        }
        link.ended = true;
        let far = link.far;
        let lane = link.lane;
        let epoch = link.epoch;
        if !link.accepted {
            link.far_closed = true;
            self.nodes[far].lanes[lane].early.retain(|&early| early != number);
            return;
        }
        let reset = link.reset;
        let last = link.items.front().filter(|_| link.reading).map(|item| item.last);
        if last.is_some_and(|last| last == NEVER || reset && last > self.now) {
            self.cut_off(number);
        }
        if reset {
            let link = &mut self.links[number as usize];
            link.discard();
            link.far_closed = true;
            self.nodes[far].lanes[lane].up = None;
            let reason = "it broke".to_owned();
            self.happened(far, lane, RelayEvent::Lost(LinkSide::Up, epoch, reason));
        } else {
            self.pump(far, lane);
        }
    }

    /// If only a part of the last frame on the link has been sent, marks the frame as never
    /// complete.
    pub(super) fn truncate(&mut self, number: LinkId) {
        let latency = self.world.latency_ns;
        let now = self.now;
        let link = &mut self.links[number as usize];
        let work = self.nodes[link.near].lanes[link.thread].work.as_ref();
        let sending = work.is_some_and(|w| w.to.contains(&number) && w.stage == Stage::Moving);
        if let Some(item) = link.items.back_mut().filter(|_| sending)
            && item.last > now + latency
        {
            item.last = NEVER;
        }
    }

    /// Makes the thread at the near end stop sending on a link. Returns whether it was sending a
    /// block on the link.
    fn let_go_down(&mut self, number: LinkId) -> bool {
        let Link { near, thread: at, epoch, .. } = self.links[number as usize];
        let thread = &mut self.nodes[near].lanes[at];
        thread.downs.retain(|&down| down != number);
        // Requests from the link's other end are dropped with the link.
        let asked = |event: &RelayEvent| match event {
            RelayEvent::Requested(of, ..) | RelayEvent::Have(of, ..) => *of == epoch,
            _ => false,
        };
        thread.events.retain(|event| !asked(event));
        let Some(work) = thread.work.as_mut().filter(|work| work.to.contains(&number)) else {
            return false;
        };
        work.to.retain(|&to| to != number);
        work.lost.push(epoch);
        self.wake(near, at);
        true
    }

    /// Cuts off the block that the thread of the far end is receiving from a link.
    fn cut_off(&mut self, number: LinkId) {
        let Link { far, lane, .. } = self.links[number as usize];
        let now = self.now;
        let work = self.nodes[far].lanes[lane].work.as_mut();
        if let Some(work) = work.filter(|work| work.from == Some(number) && work.cut_off.is_none())
        {
            work.cut_off = Some(now);
            self.wake(far, lane);
        }
    }

    /// If a thread waits until a link takes bytes, makes it check the link again.
    pub(super) fn wake_blocked(&mut self, place: usize, lane: usize, number: LinkId) {
        let work = self.nodes[place].lanes[lane].work.as_ref();
        if work.is_some_and(|work| work.to.contains(&number) && work.stage == Stage::Window) {
            self.wake(place, lane);
        }
    }

    /// Makes a busy thread check its work again.
    pub(super) fn wake(&mut self, place: usize, lane: usize) {
        if let Some(work) = &self.nodes[place].lanes[lane].work {
            let lane = u16::try_from(lane).expect("lanes are few");
            let event = Event::Done { node: id(place), lane, serial: work.serial };
            self.agenda.add(self.now, event);
        }
    }
}
