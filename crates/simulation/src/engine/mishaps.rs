//! Applies the mishaps of a schedule to a run.

use garland_core::plan::NodeId;
use garland_protocol::copy::HeadEvent;

use super::steps::{Engine, address};
use crate::agenda::Event;
use crate::link::{LinkId, NEVER, Side};
use crate::node::{Life, Stage};
use crate::schedule::What;

/// The interval at which a late node checks whether the others have begun, in nanoseconds.
const BEGIN_NS: u64 = 10_000_000;

impl Engine<'_> {
    pub(super) fn mishap(&mut self, number: u32) {
        match self.schedule.mishaps[number as usize].what {
            What::Crash(node) => self.crash(node),
            What::Cut(node) => {
                let place = node as usize;
                let now = self.now;
                self.nodes[place].cut = true;
                let ends = |near, far| near == place || far == place;
                let links = self.links.iter_mut();
                links.filter(|l| ends(l.near, l.far)).for_each(|link| link.freeze(now));
            }
            What::Stop(node) => {
                self.nodes[node as usize].life = Life::Stopped;
                self.delay(node as usize, NEVER);
            }
            What::Pause(node, how_long) => {
                let node = node as usize;
                if self.nodes[node].life == Life::Running {
                    self.nodes[node].life = Life::Paused(self.now + how_long);
                    self.delay(node, how_long);
                }
            }
            What::Break(lane, node) => {
                let up = self.nodes[node as usize].lanes[usize::from(lane)].up;
                if let Some(link) = up {
                    self.break_link(link);
                }
            }
            What::Flip { index, to } => self.flips.push((index, to)),
            What::Repeat(node) => self.nodes[node as usize].repeats = true,
            What::Hang(node) => self.nodes[node as usize].hangs = true,
            What::Late(node) if self.head.is_ready() => {
                // The head received none of the node's messages before.
                self.nodes[node as usize].complete_ns = None;
                self.news.push_back(HeadEvent::Joined(NodeId(node), vec![address()]));
            }
            What::Late(_) => self.agenda.add(self.now + BEGIN_NS, Event::Mishap(number)),
            What::Interrupt => self.news.push_back(HeadEvent::Interrupted),
        }
    }

    fn crash(&mut self, node: u32) {
        let place = node as usize;
        self.nodes[place].life = Life::Crashed;
        let soon = self.now + self.world.latency_ns;
        for number in 0..LinkId::try_from(self.links.len()).expect("links are few") {
            let link = &self.links[number as usize];
            if link.near == place && !link.near_closed {
                let reset = self.random.once_in(2);
                self.truncate(number);
                let link = &mut self.links[number as usize];
                link.near_closed = true;
                link.reset = reset;
                if !link.frozen {
                    self.agenda.add(soon, Event::Broken(number, Side::Far));
                }
            } else if link.far == place && !link.far_closed {
                let frozen = link.frozen;
                self.links[number as usize].far_closed = true;
                if !frozen {
                    self.agenda.add(soon, Event::Broken(number, Side::Near));
                }
            }
        }
        if !self.nodes[place].cut {
            self.agenda.add(self.now + self.world.control_ns, Event::Lost(node));
        }
    }

    /// Breaks a link between two live nodes.
    fn break_link(&mut self, number: LinkId) {
        let link = &self.links[number as usize];
        if link.frozen || link.near_closed || link.far_closed {
            return;
        }
        let soon = self.now + self.world.latency_ns;
        let reset = self.random.once_in(2);
        self.agenda.add(soon, Event::Broken(number, Side::Near));
        self.agenda.add(soon, Event::Broken(number, Side::Far));
        let link = &mut self.links[number as usize];
        link.freeze(self.now);
        link.reset = reset;
    }

    /// Delays the end of the blocks that a node is sending by `how_long` nanoseconds.
    fn delay(&mut self, place: usize, how_long: u64) {
        for lane in 0..self.nodes[place].lanes.len() {
            let Some(work) = &mut self.nodes[place].lanes[lane].work else { continue };
            if work.stage != Stage::Moving {
                continue;
            }
            work.sent = work.sent.saturating_add(how_long);
            for to in &work.to {
                let link = &mut self.links[*to as usize];
                let taken = !link.far_closed && !link.ended;
                if let Some(item) = link.items.back_mut().filter(|_| taken) {
                    item.last = item.last.saturating_add(how_long);
                    link.free = link.free.saturating_add(how_long);
                }
            }
        }
    }
}
