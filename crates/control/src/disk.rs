//! The head's side of disk tests, on all nodes at the same time or one by one.

use std::os::fd::AsFd;
use std::time::Duration;

use garland_protocol::{DiskEvent, DiskFigures, DiskOrder, DiskPlace, FromAgent, ToAgent};
use garland_sys::clock;
use garland_sys::signal::Interrupts;

use crate::agent_set::AgentEvent;
use crate::agents::{Agents, silence};
use crate::copy::Agent;

/// The rate in bytes per second below which a disk is considered to hang.
const SLOWEST: u64 = 2_000_000;

/// Time allowed for a measurement, in addition to the time for its bytes, in nanoseconds.
const GRACE_NS: u64 = 30_000_000_000;

/// How the test of a node ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskEnd {
    /// Everything was measured.
    Done,
    /// Something could not be measured.
    Failed(String),
    /// The user interrupted.
    Interrupted,
}

/// The test of one node: its results so far, and its end.
#[derive(Clone, Debug, Default)]
pub struct DiskNode {
    /// The tested disk, once the test has begun.
    pub place: Option<DiskPlace>,
    /// The results, in order.
    pub figures: Vec<DiskFigures>,
    /// How the test ended; none before its end.
    pub end: Option<DiskEnd>,
    /// Whether the order was sent to the node.
    begun: bool,
    /// The time of the node's last progress, in monotonic nanoseconds.
    moved_ns: u64,
}

/// The tests of all nodes, in the order of the agents.
#[derive(Debug)]
pub struct DiskCourse {
    /// The nodes.
    pub nodes: Vec<DiskNode>,
}

/// Tests the disks of `agents`; calls `observe` when results arrive.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn test_disks(
    agents: Vec<Result<Agent, String>>,
    order: &DiskOrder,
    one_by_one: bool,
    interrupts: Option<&Interrupts>,
    observe: &mut dyn FnMut(&DiskCourse),
) -> std::io::Result<DiskCourse> {
    let (mut agents, reasons) = Agents::split(agents);
    let nodes = reasons.into_iter().map(|reason| reason.map(DiskEnd::Failed));
    let nodes = nodes.map(|end| DiskNode { end, ..DiskNode::default() });
    let mut course = DiskCourse { nodes: nodes.collect() };
    while course.nodes.iter().any(|node| node.end.is_none()) {
        course.begin(&mut agents, order, one_by_one);
        for (node, event) in agents.wait(interrupts.map(AsFd::as_fd), Duration::from_millis(200))? {
            course.nodes[node].handle(event);
        }
        course.give_up(&agents, order);
        if interrupts.is_some_and(Interrupts::pending) {
            let open = course.nodes.iter_mut().filter(|node| node.end.is_none());
            open.for_each(|node| node.end = Some(DiskEnd::Interrupted));
        }
        observe(&course);
    }
    Ok(course)
}

impl DiskCourse {
    /// Sends the order to all nodes that have not begun, or with `one_by_one` to the next one.
    fn begin(&mut self, agents: &mut Agents, order: &DiskOrder, one_by_one: bool) {
        let now = clock::now_ns();
        for (at, node) in self.nodes.iter_mut().enumerate() {
            if node.end.is_some() {
                continue;
            }
            if !node.begun {
                agents.send(at, &ToAgent::Disk(order.clone()));
                (node.begun, node.moved_ns) = (true, now);
            }
            if one_by_one {
                return;
            }
        }
    }

    /// Ends tests whose agent is silent, and those that take too long because the disk hangs.
    fn give_up(&mut self, agents: &Agents, order: &DiskOrder) {
        let now = clock::now_ns();
        let bytes_ns = (order.size / SLOWEST).saturating_mul(1_000_000_000);
        let patience = GRACE_NS.saturating_add(order.time_ns).saturating_add(bytes_ns);
        let open = self.nodes.iter_mut().enumerate().filter(|(_, node)| node.end.is_none());
        for (at, node) in open {
            if agents.is_silent(at) {
                node.fail(silence());
            } else if node.begun && now.saturating_sub(node.moved_ns) > patience {
                let seconds = patience / 1_000_000_000;
                node.fail(format!("its disk hangs: no measurement completed within {seconds} s"));
            }
        }
    }
}

impl DiskNode {
    fn fail(&mut self, reason: String) {
        self.end = Some(DiskEnd::Failed(reason));
    }

    fn handle(&mut self, event: AgentEvent) {
        if self.end.is_some() {
            return;
        }
        let event = match event {
            AgentEvent::Message(FromAgent::Disk(event)) => event,
            AgentEvent::Message(_) => return,
            AgentEvent::Lost(reason) => return self.fail(reason),
        };
        self.moved_ns = clock::now_ns();
        match event {
            DiskEvent::Begun(place) => self.place = Some(*place),
            DiskEvent::Measured(figures) => self.figures.push(*figures),
            DiskEvent::Done => self.end = Some(DiskEnd::Done),
            DiskEvent::Failed(reason) => self.fail(reason),
        }
    }
}
