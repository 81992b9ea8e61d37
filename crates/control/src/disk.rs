//! The head's side of disk tests: all nodes at once or one by one, and what each of them told.

use std::os::fd::AsFd;
use std::time::Duration;

use garland_protocol::{DiskEvent, DiskFigures, DiskOrder, DiskPlace, FromAgent, ToAgent};
use garland_sys::clock;
use garland_sys::signal::Interrupts;

use crate::agent_set::{AgentEvent, AgentSet};
use crate::copy::Agent;

/// An agent that is silent for so long is gone.
const SILENCE_NS: u64 = 5_000_000_000;

/// A disk that moves fewer bytes a second than this hangs.
const SLOWEST: u64 = 2_000_000;

/// What a measurement may take beside its bytes and its time.
const GRACE_NS: u64 = 30_000_000_000;

/// How a node's test ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskEnd {
    /// All was measured.
    Done,
    /// The rest couldn't be.
    Failed(String),
    /// The user gave up before its end.
    Interrupted,
}

/// What is known of one node's disk.
#[derive(Clone, Debug, Default)]
pub struct DiskNode {
    /// Where it was tested, once that has begun.
    pub place: Option<DiskPlace>,
    /// What was measured, in order.
    pub figures: Vec<DiskFigures>,
    /// How it ended; nothing while it runs, or waits for its turn.
    pub end: Option<DiskEnd>,
    begun: bool,
    heard_ns: u64,
    moved_ns: u64,
}

/// The tests of all nodes, in the agents' order.
#[derive(Debug)]
pub struct DiskCourse {
    /// The nodes.
    pub nodes: Vec<DiskNode>,
}

/// Tests the disks of `agents`; `observe` is called as figures come in.
///
/// # Errors
/// When this host can't wait for them.
pub fn test_disks(
    agents: Vec<Result<Agent, String>>,
    order: &DiskOrder,
    one_by_one: bool,
    interrupts: Option<&Interrupts>,
    observe: &mut dyn FnMut(&DiskCourse),
) -> std::io::Result<DiskCourse> {
    let mut course = DiskCourse { nodes: Vec::new() };
    let mut connections = Vec::new();
    for agent in agents {
        let end = agent.as_ref().err().cloned().map(DiskEnd::Failed);
        course.nodes.push(DiskNode { end, ..DiskNode::default() });
        connections.push(agent.ok().map(|agent| agent.connection));
    }
    let mut board = AgentSet::new(connections.into_iter());
    let now = clock::now_ns();
    course.nodes.iter_mut().for_each(|node| node.heard_ns = now);
    while course.nodes.iter().any(|node| node.end.is_none()) {
        course.begin(&mut board, order, one_by_one);
        let others: Vec<_> = interrupts.iter().map(|fd| fd.as_fd()).collect();
        for (id, call) in board.wait(&others, Duration::from_millis(200))? {
            course.nodes[id.index() - 1].hear(call);
        }
        course.give_up(order);
        if interrupts.is_some_and(Interrupts::pending) {
            let open = course.nodes.iter_mut().filter(|node| node.end.is_none());
            open.for_each(|node| node.end = Some(DiskEnd::Interrupted));
        }
        observe(&course);
    }
    Ok(course)
}

impl DiskCourse {
    /// Starts all tests, or the next.
    fn begin(&mut self, board: &mut AgentSet, order: &DiskOrder, one_by_one: bool) {
        let now = clock::now_ns();
        for (id, node) in board.ids().zip(&mut self.nodes) {
            if node.end.is_some() {
                continue;
            }
            if !node.begun {
                board.send(id, &ToAgent::Disk(order.clone()));
                (node.begun, node.moved_ns) = (true, now);
            }
            if one_by_one {
                return;
            }
        }
    }

    /// No test may take for ever: neither one of an agent that is gone, nor of a disk that hangs.
    fn give_up(&mut self, order: &DiskOrder) {
        let now = clock::now_ns();
        let bytes_ns = (order.size / SLOWEST).saturating_mul(1_000_000_000);
        let patience = GRACE_NS.saturating_add(order.time_ns).saturating_add(bytes_ns);
        for node in self.nodes.iter_mut().filter(|node| node.end.is_none()) {
            if now.saturating_sub(node.heard_ns) > SILENCE_NS {
                let seconds = SILENCE_NS / 1_000_000_000;
                node.fail(format!("no word from its agent for {seconds} s"));
            } else if node.begun && now.saturating_sub(node.moved_ns) > patience {
                let seconds = patience / 1_000_000_000;
                node.fail(format!("its disk hangs: no measurement ended for {seconds} s"));
            }
        }
    }
}

impl DiskNode {
    fn fail(&mut self, reason: String) {
        self.end = Some(DiskEnd::Failed(reason));
    }

    fn hear(&mut self, call: AgentEvent) {
        self.heard_ns = clock::now_ns();
        if self.end.is_some() {
            return;
        }
        let event = match call {
            AgentEvent::Message(FromAgent::Disk(event)) => event,
            AgentEvent::Message(_) => return,
            AgentEvent::Lost(reason) => return self.fail(reason),
        };
        self.moved_ns = self.heard_ns;
        match event {
            DiskEvent::Begun(place) => self.place = Some(*place),
            DiskEvent::Measured(figures) => self.figures.push(*figures),
            DiskEvent::Done => self.end = Some(DiskEnd::Done),
            DiskEvent::Failed(reason) => self.fail(reason),
        }
    }
}
