//! Control messages, and the control thread of a node.

use garland_core::plan::NodeId;
use garland_protocol::copy::{HeadEvent, LaneReport, Relay, RelayEvent, Report, Route};
use garland_protocol::{FromAgent, ToAgent};

use super::steps::{COPY, Engine};
use crate::agenda::Event;
use crate::link::LinkId;
use crate::node::{LaneThread, Order, Stage, id};
use crate::world::SinkKind;

/// The time within which a repeated message reaches the head again, in nanoseconds.
const REPEAT_NS: u64 = 1_000_000_000;

impl Engine<'_> {
    pub(super) fn send_node(&mut self, place: usize, order: Order) {
        let due = self.control_due();
        let node = &mut self.nodes[place];
        if node.cut {
            return;
        }
        node.inbox_last = due.max(node.inbox_last);
        node.inbox.push_back(order);
        self.agenda.add(node.inbox_last, Event::ToNode(id(place)));
    }

    pub(super) fn send_head(&mut self, place: usize, message: FromAgent) {
        let due = self.control_due();
        let node = &mut self.nodes[place];
        if node.cut || node.closed {
            return;
        }
        node.outbox_last = due.max(node.outbox_last);
        node.outbox.push_back(message);
        self.agenda.add(node.outbox_last, Event::FromNode(id(place)));
    }

    fn control_due(&mut self) -> u64 {
        let jitter = match self.world.control_jitter_ns {
            0 => 0,
            // Most delays are short, a few are as long as permitted.
            most => self.random.below(most) >> self.random.below(8),
        };
        self.now + self.world.control_ns + jitter
    }

    pub(super) fn hear_node(&mut self, place: usize) {
        let node = &mut self.nodes[place];
        if let Some(message) = node.outbox.pop_front().filter(|_| !node.cut) {
            if node.repeats {
                node.repeated.push(message.clone());
                let at = self.now + self.random.below(REPEAT_NS);
                self.agenda.add(at, Event::Again(id(place)));
            }
            self.news.push_back(HeadEvent::From(NodeId(id(place)), message));
        }
    }

    /// Lets the head hear one of the messages again that it has heard.
    pub(super) fn hear_again(&mut self, place: usize) {
        let repeated = &mut self.nodes[place].repeated;
        let at = self.random.below(repeated.len() as u64) as usize;
        let message = repeated.swap_remove(at);
        self.news.push_back(HeadEvent::From(NodeId(id(place)), message));
    }

    pub(super) fn reach_node(&mut self, place: usize) {
        let node = &mut self.nodes[place];
        let Some(order) = node.inbox.pop_front().filter(|_| !node.cut && !node.closed) else {
            return;
        };
        match order {
            Order::Begin(routes) => {
                for route in routes {
                    self.set_route(place, route);
                }
                self.send_head(place, FromAgent::Ready(COPY));
                self.agenda.add(self.now + self.world.heartbeat_ns, Event::Heartbeat(id(place)));
                self.check_complete(place);
            }
            Order::Say(ToAgent::Route(_, route)) => self.set_route(place, route),
            Order::Say(ToAgent::Detach(_)) => {
                for lane in 0..self.plan.lanes.len() {
                    self.give_up_place(place, lane);
                    self.happened(place, lane, RelayEvent::Detached);
                }
            }
            Order::Say(ToAgent::Commit(_, root)) => {
                let known = self.nodes[place].sink.root();
                assert_eq!(known, Some(root), "node {place} commits another digest than its own");
                let due = self.now + self.world.commit_ns;
                self.nodes[place].commits = Some(self.now);
                self.agenda.add(due, Event::Committed(id(place)));
            }
            Order::Say(ToAgent::Close(_)) => self.close_node(place),
            Order::Say(_) => {}
        }
    }

    fn close_node(&mut self, place: usize) {
        self.send_head(place, FromAgent::Closed(COPY));
        self.nodes[place].closed = true;
        for lane in 0..self.nodes[place].lanes.len() {
            for link in self.nodes[place].lanes[lane].downs.clone() {
                self.close_near(link);
            }
            if let Some(link) = self.nodes[place].lanes[lane].up {
                self.close_far(link);
            }
            self.nodes[place].lanes[lane].work = None;
        }
    }

    /// Handles a route that reaches the control thread: sockets of old links are closed at once,
    /// whatever the lane's own thread is doing.
    pub(super) fn set_route(&mut self, place: usize, route: Route) {
        let lane = usize::from(route.lane);
        self.route_thread(place, lane, route.without_side_feeds());
        let beside: Vec<Route> = route.side_feeds().collect();
        for thread in self.plan.lanes.len()..self.nodes[place].lanes.len() {
            let known = &self.nodes[place].lanes[thread];
            let now = known.route.as_ref().filter(|now| now.lane == route.lane);
            let Some(now) = now.filter(|now| !now.downstreams.is_empty()) else { continue };
            if !beside.contains(now) {
                let none = Route { downstreams: Vec::new(), ..now.clone() };
                self.route_thread(place, thread, none);
            }
        }
        let blocks = self.told_blocks(lane);
        for route in beside {
            let threads = &mut self.nodes[place].lanes;
            if threads.iter().any(|thread| thread.route.as_ref() == Some(&route)) {
                continue;
            }
            let epoch = route.downstreams[0].epoch;
            let number = route.lane;
            let relay = Relay::side_feed(blocks, epoch);
            threads.push(LaneThread { number, relay, ..LaneThread::default() });
            let thread = threads.len() - 1;
            self.route_thread(place, thread, route);
        }
    }

    fn route_thread(&mut self, place: usize, lane: usize, route: Route) {
        let thread = &mut self.nodes[place].lanes[lane];
        let up = thread.up;
        let downs = thread.downs.clone();
        thread.route = Some(route.clone());
        let epoch = |link: LinkId| self.links[link as usize].epoch;
        let up = up.filter(|&up| Some(epoch(up)) != route.epoch_up());
        let stays = |&down: &LinkId| route.epochs_down().any(|other| other == epoch(down));
        let downs: Vec<LinkId> = downs.into_iter().filter(|down| !stays(down)).collect();
        up.into_iter().for_each(|link| self.close_far(link));
        downs.into_iter().for_each(|link| self.close_near(link));
        self.give_up_place(place, lane);
        self.happened(place, lane, RelayEvent::Route(route));
        for link in std::mem::take(&mut self.nodes[place].lanes[lane].early) {
            self.admit(link);
        }
    }

    pub(super) fn heartbeat(&mut self, place: usize) {
        if self.nodes[place].closed {
            return;
        }
        self.agenda.add(self.now + self.world.heartbeat_ns, Event::Heartbeat(id(place)));
        let mut report = self.report(place);
        self.note_taking(place, &mut report);
        if place == 0 {
            return self.news.push_back(HeadEvent::Own(report));
        }
        self.send_head(place, FromAgent::Heartbeat(vec![(COPY, report)]));
    }

    /// Adds to a report over which links nothing is taken.
    fn note_taking(&mut self, place: usize, report: &mut Report) {
        for (lane, report) in self.nodes[place].lanes.iter_mut().zip(&mut report.lanes) {
            let since = lane.work.as_ref().and_then(|work| work.waits_since);
            for &link in &lane.downs {
                let hop = self.links[link as usize].report(self.now, since);
                if lane.taking.entry(hop.epoch).or_default().note(self.now, &hop) {
                    report.untaken = Some(hop.epoch);
                }
            }
        }
    }

    fn report(&self, place: usize) -> Report {
        let node = &self.nodes[place];
        // Blocks that wait for a slot count as well; otherwise a very slow disk would never be
        // noticed.
        let waiting = node.lanes.iter().filter_map(|lane| lane.work.as_ref());
        let waiting = waiting.filter(|work| work.stage == Stage::Room);
        let held = node.lanes.iter().filter_map(|lane| lane.held_since);
        let waiting: u64 = waiting.map(|work| work.since).chain(held).map(|s| self.now - s).sum();
        let lanes = node.lanes.iter().take(self.plan.lanes.len());
        let lane_report = |lane: &LaneThread| {
            let since = lane.work.as_ref().and_then(|work| work.waits_since);
            let hop = |&link: &LinkId| self.links[link as usize].report(self.now, since);
            let hop = lane.downs.first().filter(|_| lane.downs.len() == 1).map(hop);
            LaneReport { received: lane.relay.received(), hop, untaken: None }
        };
        Report {
            lanes: lanes.map(lane_report).collect(),
            holder: node.world.sink == SinkKind::File,
            held: node.sink.held(),
            whole: node.sink.whole(),
            stalled_ns: node.stalled_ns + waiting,
            blocked_ns: node.blocked_ns + node.asleep(self.now),
            pending: node.pending(self.now),
            ..Report::default()
        }
    }

    pub(super) fn check_complete(&mut self, place: usize) {
        let node = &mut self.nodes[place];
        if place == 0 || node.complete_ns.is_some() || !node.sink.is_complete() {
            return;
        }
        node.complete_ns = Some(self.now);
        let root = node.sink.root().expect("the digest of every held block is known");
        let report = self.report(place);
        self.send_head(place, FromAgent::Complete(COPY, root, Box::new(report)));
    }

    pub(super) fn committed(&mut self, place: usize) {
        if self.nodes[place].closed || self.nodes[place].hangs {
            return;
        }
        self.nodes[place].commits = None;
        self.nodes[place].committed_ns = Some(self.now);
        let report = self.report(place);
        self.send_head(place, FromAgent::Committed(COPY, Box::new(report)));
    }
}
