//! The thread of a lane on a node: feeds the relay machine and executes its orders.

use garland_protocol::FromAgent;
use garland_protocol::copy::{HeadEvent, Kind, LinkSide, RelayEvent, RelayOrder};

use super::steps::{COPY, Engine};
use crate::link::{LinkId, NEVER};

impl Engine<'_> {
    /// Queues an event of a lane; its relay handles it as soon as the thread is free.
    pub(super) fn happened(&mut self, place: usize, lane: usize, event: RelayEvent) {
        self.nodes[place].lanes[lane].events.push_back(event);
        self.pump(place, lane);
    }

    /// Handles the arrival of a frame's header.
    pub(super) fn arrived(&mut self, number: LinkId) {
        let link = &self.links[number as usize];
        let far = link.far;
        let lane = link.lane;
        self.pump(far, lane);
    }

    /// Runs a thread until it is busy or idle, then other threads of the node that may continue
    /// now.
    pub(super) fn pump(&mut self, place: usize, lane: usize) {
        self.run_thread(place, lane);
        let node = &mut self.nodes[place];
        node.note_held(lane, self.now);
        if std::mem::take(&mut node.front_moved) {
            let lanes = node.lanes.len();
            (0..lanes).filter(|&other| other != lane).for_each(|other| self.pump(place, other));
        }
        let node = &mut self.nodes[place];
        if std::mem::take(&mut node.landed) {
            let beside = self.plan.lanes.len()..node.lanes.len();
            beside.for_each(|other| self.pump(place, other));
        }
    }

    fn run_thread(&mut self, place: usize, lane: usize) {
        loop {
            let node = &mut self.nodes[place];
            if node.closed || node.lanes[lane].work.is_some() {
                return;
            }
            let thread = &mut node.lanes[lane];
            // Events that happened while a block was sent precede the next order to send one.
            let fed = std::mem::take(&mut thread.fed) && !thread.events.is_empty();
            let order = if fed { None } else { thread.relay.poll(&node.sink) };
            if let Some(order) = order {
                self.obey(place, lane, order);
            } else if let Some(event) = thread.events.pop_front() {
                let landed = matches!(event, RelayEvent::Landed(..));
                node.tell(lane, event);
                if landed {
                    self.nodes[place].landed = true;
                    self.check_complete(place);
                }
            } else if !self.read(place, lane) {
                return;
            }
        }
    }

    /// Reads the next frame from upstream, if the relay may read and the frame has arrived. Returns
    /// whether the relay got an event.
    fn read(&mut self, place: usize, lane: usize) -> bool {
        let node = &mut self.nodes[place];
        let thread = &mut node.lanes[lane];
        let Some(number) = thread.up.filter(|_| thread.relay.may_read(&node.sink)) else {
            return false;
        };
        let link = &mut self.links[number as usize];
        let next = link.items.front().filter(|item| item.first <= self.now);
        let more = link.items.front().is_some_and(|item| item.first != NEVER);
        let event = match next.map(|item| (item.kind, item.index)) {
            Some((Kind::Block, index)) => {
                link.reading = true;
                RelayEvent::Block(index, self.contents[index as usize])
            }
            Some((kind, index)) => {
                link.items.pop_front();
                if kind == Kind::Void { RelayEvent::Void(index) } else { RelayEvent::End(index) }
            }
            None if link.ended && !more => {
                link.far_closed = true;
                thread.up = None;
                RelayEvent::Lost(LinkSide::Up, link.epoch, "it ended".to_owned())
            }
            None => return false,
        };
        let near = link.near;
        let thread = link.thread;
        self.wake_blocked(near, thread, number);
        let ended = matches!(event, RelayEvent::End(_));
        self.nodes[place].tell(lane, event);
        if ended {
            self.nodes[place].landed = true;
            self.check_complete(place);
        }
        true
    }

    fn obey(&mut self, place: usize, lane: usize, order: RelayOrder) {
        let number = self.nodes[place].lanes[lane].number;
        match order {
            RelayOrder::Open(LinkSide::Down, node, epoch) => self.open(place, lane, node, epoch),
            // In the simulation, the upstream opens all links.
            RelayOrder::Open(LinkSide::Up, ..) => {}
            RelayOrder::Close(LinkSide::Down, epoch) => {
                if let Some(link) = self.down(place, lane, epoch) {
                    self.close_near(link);
                }
            }
            RelayOrder::Close(LinkSide::Up, epoch) => {
                let up = self.nodes[place].lanes[lane].up;
                // The control thread may have accepted the new upstream's link already.
                let old = up.filter(|&up| self.links[up as usize].epoch == epoch);
                if let Some(link) = old {
                    self.close_far(link);
                }
            }
            RelayOrder::SendUp(kind, index) => {
                self.ask_up(place, lane, |epoch| RelayEvent::Requested(epoch, kind, index));
            }
            RelayOrder::SendHave(first, bits) => {
                self.ask_up(place, lane, |epoch| RelayEvent::Have(epoch, first, bits));
            }
            RelayOrder::SendDown(epoch, kind, index) => {
                if let Some(link) = self.down(place, lane, epoch) {
                    self.send_down(link, kind, index);
                }
            }
            RelayOrder::Receive { index, store, forward } => {
                self.receive(place, lane, index, store, &forward);
            }
            RelayOrder::Feed { index, incarnation, to, .. } => {
                self.feed(place, lane, index, incarnation, &to);
            }
            RelayOrder::ReportBad(index) => self.send_head(place, FromAgent::Bad(COPY, index)),
            RelayOrder::ReportLost(_, epoch, reason) if place == 0 => {
                self.news.push_back(HeadEvent::LinkLost(number, epoch, reason));
            }
            RelayOrder::ReportLost(side, epoch, reason) => {
                let lost = FromAgent::LinkLost { copy: COPY, lane: number, epoch, side, reason };
                self.send_head(place, lost);
            }
            RelayOrder::Fail(error) => {
                self.send_head(place, FromAgent::Failed(COPY, error.to_string()));
            }
        }
    }
}
