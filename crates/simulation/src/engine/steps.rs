//! Simulates a run, event by event.

use std::collections::VecDeque;
use std::net::SocketAddr;

use garland_core::plan::{LaneBlocks, Layout, NodeId, Plan};
use garland_protocol::copy::{CopyId, Head, HeadEvent, HeadOrder, Policy, Sink, SlowNodes};
use garland_sys::clock;
use garland_sys::world::Random;

use crate::agenda::{Agenda, Event};
use crate::link::{Link, NEVER, Side};
use crate::node::{Life, Node, Order, id};
use crate::run::{NodeRun, Run};
use crate::schedule::{Schedule, What};
use crate::vault::Vault;
use crate::world::{NodeWorld, SinkKind, World};

/// The identity of every simulated copy.
pub(super) const COPY: CopyId = CopyId([0x51; 16]);

/// How long the head's machine has run when a copy begins, in nanoseconds: monotonic clocks do not
/// begin with the copy.
const UPTIME_NS: u64 = 1_000_000_000_000_000;

/// Simulates a copy of `plan` in `world` with the mishaps of `schedule`.
///
/// # Panics
/// If the world does not have as many receivers as the plan, or the latency of its links is 0.
#[must_use]
pub fn simulate(plan: &Plan, world: &World, schedule: &Schedule) -> Run {
    let mut engine = Engine::new(plan, world, schedule);
    engine.begin();
    while engine.finished.is_none() {
        let Some((at, event)) = engine.agenda.next() else { break };
        if at > world.limit_ns {
            break;
        }
        engine.now = at;
        engine.step(event);
    }
    engine.outcome()
}

/// A run in progress.
pub(super) struct Engine<'a> {
    pub(super) plan: &'a Plan,
    pub(super) world: &'a World,
    pub(super) schedule: &'a Schedule,
    pub(super) now: u64,
    pub(super) agenda: Agenda,
    pub(super) random: Random,
    pub(super) head: Head,
    /// Events that the head has not handled yet.
    pub(super) news: VecDeque<HeadEvent>,
    /// The time of the head's next deadline on the agenda, in nanoseconds.
    tick_at: u64,
    pub(super) source_read: bool,
    /// The index of the first block of a stream that the head still keeps.
    pub(super) released: u64,
    finished: Option<u64>,
    pub(super) nodes: Vec<Node>,
    pub(super) links: Vec<Link>,
    pub(super) vault: Option<Vault>,
    pub(super) contents: Vec<[u8; 32]>,
    /// Flips that have not taken effect yet: the block, and the node where it is to arrive changed.
    pub(super) flips: Vec<(u64, u32)>,
    pub(super) flipped: Vec<(u64, u32)>,
    pub(super) wasted: u64,
    /// The CPU time of the head's machine in real nanoseconds.
    head_ns: u64,
    pub(super) serial: u32,
}

impl<'a> Engine<'a> {
    fn new(plan: &'a Plan, world: &'a World, schedule: &'a Schedule) -> Self {
        let receivers = plan.nodes.len() - 1;
        assert_eq!(world.nodes.len(), receivers, "the world has one node for each receiver");
        assert!(world.latency_ns > 0, "a link needs some time");
        let addresses = vec![vec![address()]; plan.nodes.len()];
        let vault = schedule
            .checked
            .then(|| Vault::new(plan.layout, COPY, plan.nodes.len(), schedule.seed));
        let content = |index: u64| match &vault {
            Some(vault) => vault.content(index),
            None => {
                let mut content = [7; 32];
                content[..8].copy_from_slice(&index.to_le_bytes());
                content
            }
        };
        let contents = (0..plan.layout.blocks()).map(content).collect();
        let in_order = world.nodes.iter().any(|node| node.sink.is_ordered());
        let policy = Policy::for_nodes(receivers).with_order(in_order);
        // Blocks of a stream that a node drops could not be read again.
        let policy = if world.stream { policy.with_slow(SlowNodes::Wait, 0) } else { policy };
        let told = if world.stream { open_ended(plan) } else { plan.clone() };
        let source = NodeWorld { wire_rate: world.link_rate, ..NodeWorld::default() };
        let worlds = std::iter::once(&source).chain(&world.nodes).enumerate();
        let nodes = worlds.map(|(at, &node)| Node::new(&told, at, node, world.room));
        let mut engine = Self {
            plan,
            world,
            schedule,
            now: 0,
            agenda: Agenda::default(),
            random: Random::new(schedule.seed),
            head: Head::new(COPY, plan, addresses, policy, UPTIME_NS),
            news: VecDeque::new(),
            tick_at: NEVER,
            source_read: false,
            released: 0,
            finished: None,
            nodes: nodes.collect(),
            links: Vec::new(),
            vault,
            contents,
            flips: Vec::new(),
            flipped: Vec::new(),
            wasted: 0,
            head_ns: 0,
            serial: 0,
        };
        engine.give_holdings();
        engine
    }

    /// Gives each receiver the blocks that it has before the copy, a different set for each, and
    /// the digests of blocks that it reads itself.
    fn give_holdings(&mut self) {
        // The contents of a stream are not known beforehand.
        if self.world.stream {
            return;
        }
        let layout = self.plan.layout;
        let known = |sink: Sink, contents: &[[u8; 32]]| sink.with_digests(contents.to_vec());
        for place in 1..self.nodes.len() {
            let NodeWorld { has, sink, .. } = self.nodes[place].world;
            let id = NodeId(id(place));
            let part = self.plan.part_read_by(id).filter(|_| sink == SinkKind::File);
            let has_some = has > 0 && matches!(sink, SinkKind::File | SinkKind::Tree);
            if !has_some && part.is_none() {
                continue;
            }
            let reads = |index| part.is_some_and(|part| part.ordinal(index).is_some());
            self.nodes[0].sink = known(Sink::source(layout), &self.contents);
            let own = match sink {
                SinkKind::Tree => Sink::in_order(layout, self.world.room).held_readable(),
                _ => Sink::new(layout, true),
            };
            self.nodes[place].sink = known(own, &self.contents);
            let mut random = Random::new(self.schedule.seed ^ place as u64);
            let mut is_there = |index| random.below(1000) < u64::from(has) || reads(index);
            for index in (0..layout.blocks()).filter(|&index| is_there(index)) {
                let own = &mut self.nodes[place].sink;
                if sink == SinkKind::Tree {
                    own.bring(index)
                } else {
                    own.hold(index)
                }
                self.vault.iter_mut().for_each(|vault| vault.give(place, index));
            }
            self.take_turns(place);
        }
    }

    fn begin(&mut self) {
        for (number, mishap) in (0..).zip(&self.schedule.mishaps) {
            self.agenda.add(mishap.at, Event::Mishap(number));
            if let What::Late(node) = mishap.what {
                let reason = "it cannot be reached".to_owned();
                self.news.push_back(HeadEvent::Unavailable(NodeId(node), reason));
            }
        }
        self.agenda.add(self.world.heartbeat_ns, Event::Heartbeat(0));
        self.news.push_back(HeadEvent::Begin);
        self.read_source();
        self.tell_head();
        self.set_tick();
    }

    fn step(&mut self, event: Event) {
        let owner = self.owner(event);
        match self.nodes[owner].life {
            Life::Paused(until) if self.now < until => return self.agenda.add(until, event),
            Life::Paused(_) => self.nodes[owner].life = Life::Running,
            Life::Running => {}
            Life::Stopped | Life::Crashed => return,
        }
        match event {
            Event::Arrive(link) => self.arrived(link),
            Event::Asked(link) => self.asked(link),
            Event::Accept(link) => self.reach_far_end(link),
            Event::Expire(link) => self.expire(link),
            Event::Opened(link) => self.opened(link),
            Event::Overdue(link) => self.overdue(link),
            Event::Broken(link, Side::Near) => self.broken_down(link),
            Event::Broken(link, Side::Far) => self.broken_up(link),
            Event::Done { node, lane, serial } => self.done(node as usize, lane.into(), serial),
            Event::Landed(node) => self.landed(node as usize),
            Event::ToNode(node) => self.reach_node(node as usize),
            Event::FromNode(node) => self.hear_node(node as usize),
            Event::Again(node) => self.hear_again(node as usize),
            Event::Lost(node) => {
                self.news.push_back(HeadEvent::Lost(NodeId(node), "it hung up".to_owned()));
            }
            Event::Heartbeat(node) => self.heartbeat(node as usize),
            Event::Committed(node) => self.committed(node as usize),
            Event::Tick => self.tick(),
            Event::Mishap(number) => self.mishap(number),
        }
        let quiet = self.news.iter().all(is_heartbeat);
        self.tell_head();
        if !quiet || matches!(event, Event::Tick) {
            self.set_tick();
        }
    }

    /// Returns the node that must be running to handle an event.
    fn owner(&self, event: Event) -> usize {
        match event {
            Event::Arrive(link) | Event::Expire(link) | Event::Broken(link, Side::Far) => {
                self.links[link as usize].far
            }
            Event::Asked(link)
            | Event::Opened(link)
            | Event::Overdue(link)
            | Event::Broken(link, Side::Near) => self.links[link as usize].near,
            Event::Done { node, .. }
            | Event::Landed(node)
            | Event::ToNode(node)
            | Event::Heartbeat(node)
            | Event::Committed(node) => node as usize,
            // The kernel accepts links at any time, and the head is always running.
            Event::Accept(_)
            | Event::FromNode(_)
            | Event::Again(_)
            | Event::Lost(_)
            | Event::Tick
            | Event::Mishap(_) => 0,
        }
    }

    /// Passes all events to the head, and executes its orders.
    fn tell_head(&mut self) {
        while let Some(event) = self.news.pop_front() {
            let now = UPTIME_NS + self.now;
            self.work_of_head(|head| head.handle(now, event));
            while let Some(order) = self.work_of_head(Head::poll) {
                match order {
                    HeadOrder::Send(node, message) => {
                        self.send_node(node.index(), Order::Say(message));
                    }
                    HeadOrder::Begin(node) => {
                        let routes = self.head.routes(node);
                        self.send_node(node.index(), Order::Begin(routes));
                    }
                    HeadOrder::Route(route) => self.set_route(0, route),
                    // The head's lanes always run, and no agent is busy.
                    HeadOrder::Start
                    | HeadOrder::Queue(_)
                    | HeadOrder::BeginAgain
                    | HeadOrder::Attach(_)
                    | HeadOrder::Commit => {}
                    HeadOrder::Finished => self.finished = Some(self.now),
                }
            }
        }
        if self.world.stream {
            self.released = self.head.held_by_all();
        }
    }

    /// Runs `work`, and adds its CPU time to that of the head.
    fn work_of_head<T>(&mut self, work: impl FnOnce(&mut Head) -> T) -> T {
        let began_ns = clock::thread_cpu_ns();
        let result = work(&mut self.head);
        self.head_ns += clock::thread_cpu_ns() - began_ns;
        result
    }

    fn tick(&mut self) {
        self.tick_at = NEVER;
        if self.deadline().is_some_and(|deadline| deadline <= self.now) {
            self.news.push_back(HeadEvent::Tick);
        }
    }

    /// Returns when the head must be told the time, on the simulation's clock.
    fn deadline(&self) -> Option<u64> {
        Some(self.head.deadline()?.saturating_sub(UPTIME_NS))
    }

    fn set_tick(&mut self) {
        let Some(deadline) = self.deadline() else { return };
        if deadline < self.tick_at {
            self.tick_at = deadline.max(self.now);
            self.agenda.add(self.tick_at, Event::Tick);
        }
    }

    /// Returns the blocks of a lane as nodes know them before the copy.
    pub(super) fn told_blocks(&self, lane: usize) -> LaneBlocks {
        let blocks = self.plan.lanes[lane].blocks;
        let end = if self.world.stream { open_layout(self.plan).blocks() } else { blocks.end };
        LaneBlocks { end, ..blocks }
    }

    /// Reports the source's digest to the head after all blocks were read.
    pub(super) fn read_source(&mut self) {
        if !self.source_read
            && let Some(root) = self.nodes[0].sink.root()
        {
            self.source_read = true;
            self.news.push_back(HeadEvent::SourceRead(root));
        }
    }

    fn outcome(self) -> Run {
        let node_run = |place: usize| {
            let node = &self.nodes[place];
            let id = NodeId(id(place));
            NodeRun {
                verdict: self.head.verdict(id),
                first_ns: node.first_ns,
                complete_ns: node.complete_ns,
                committed_ns: node.committed_ns,
                detached: self.head.is_detached(id),
                slow: self.head.slow(id),
                held: node.sink.held(),
                identical: self.vault.as_ref().map(|vault| vault.identical(place)),
            }
        };
        Run {
            finished_ns: self.finished,
            nodes: (1..self.nodes.len()).map(node_run).collect(),
            faults: self.head.faults(),
            wasted: self.wasted,
            reused: self.vault.as_ref().map_or_else(Vec::new, |vault| vault.reused().to_vec()),
            events: self.agenda.added(),
            head_ns: self.head_ns,
            flipped: self.flipped,
        }
    }
}

/// Returns the address of every simulated agent.
pub(super) fn address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 1))
}

/// Returns the plan as it is sent while the end of its stream is unknown.
fn open_ended(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    plan.layout = open_layout(&plan);
    plan.lanes.iter_mut().for_each(|lane| lane.blocks.end = plan.layout.blocks());
    plan
}

fn open_layout(plan: &Plan) -> Layout {
    Layout::open_ended(plan.layout.block_size).expect("the plan has this size")
}

fn is_heartbeat(event: &HeadEvent) -> bool {
    use garland_protocol::FromAgent;
    matches!(event, HeadEvent::From(_, FromAgent::Heartbeat(_)) | HeadEvent::Own(_))
}
