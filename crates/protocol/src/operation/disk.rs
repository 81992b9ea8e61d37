//! Disk tests, on all nodes at the same time or one by one.

use super::interface::{AgentEvent, Operation, Orders};
use crate::measure::{DiskEvent, DiskFigures, DiskJob, DiskOrder, DiskPlace};
use crate::{FromAgent, ToAgent};

/// The rate in bytes per second below which a disk is considered to hang.
const HANGING_DISK_RATE: u64 = 2_000_000;

/// Time allowed for a measurement, in addition to the time for its bytes, in nanoseconds.
const GRACE_NS: u64 = 30_000_000_000;

/// The maximum number of results of a node: the kinds of measurements, and those of random
/// operations with 1, 2, 4, ... in flight.
const FIGURES_MAX: usize = 64;

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
    /// How the test ended; `None` before its end.
    pub end: Option<DiskEnd>,
    /// The time of the node's last progress in monotonic nanoseconds; `None` before the node was
    /// ordered to begin.
    moved_ns: Option<u64>,
}

/// The disk tests of all nodes.
#[derive(Debug)]
pub struct DiskCourse {
    /// The test of each node, by index.
    nodes: Vec<DiskNode>,
    order: DiskOrder,
    one_by_one: bool,
}

impl DiskCourse {
    /// Creates the tests of `count` nodes, at the same time or one by one.
    #[must_use]
    pub fn new(count: usize, order: DiskOrder, one_by_one: bool) -> Self {
        Self { nodes: vec![DiskNode::default(); count], order, one_by_one }
    }

    /// Returns the test of each node, by index.
    #[must_use]
    pub fn nodes(&self) -> &[DiskNode] {
        &self.nodes
    }
}

impl Operation for DiskCourse {
    fn handle(&mut self, now_ns: u64, node: usize, event: AgentEvent, _: &mut Orders) {
        self.nodes[node].handle(now_ns, event);
    }

    /// Sends the order to the nodes that have not begun (one by one: to the first of them, once
    /// those before it have ended). Fails tests without progress for too long: the disk hangs.
    fn tick(&mut self, now_ns: u64, orders: &mut Orders) {
        let bytes_ns = (self.order.size / HANGING_DISK_RATE).saturating_mul(1_000_000_000);
        let patience = GRACE_NS.saturating_add(self.order.time_ns).saturating_add(bytes_ns);
        for (at, node) in self.nodes.iter_mut().enumerate().filter(|(_, it)| it.end.is_none()) {
            let moved_ns = *node.moved_ns.get_or_insert_with(|| {
                orders.send(at, ToAgent::Disk(self.order.clone()));
                now_ns
            });
            if now_ns.saturating_sub(moved_ns) > patience {
                let seconds = patience / 1_000_000_000;
                node.fail(format!("its disk hangs: no measurement completed within {seconds} s"));
                continue;
            }
            if self.one_by_one {
                return;
            }
        }
    }

    fn interrupt(&mut self, _: u64, _: &mut Orders) -> bool {
        for node in &mut self.nodes {
            node.end.get_or_insert(DiskEnd::Interrupted);
        }
        true
    }

    fn is_over(&self) -> bool {
        self.nodes.iter().all(|node| node.end.is_some())
    }
}

impl DiskNode {
    fn fail(&mut self, reason: String) {
        self.end = Some(DiskEnd::Failed(reason));
    }

    /// Whether the result of a measurement of this kind is new, and there is room for it.
    fn awaits(&self, job: &DiskJob) -> bool {
        self.figures.len() < FIGURES_MAX && self.figures.iter().all(|figures| figures.job != *job)
    }

    fn handle(&mut self, now_ns: u64, event: AgentEvent) {
        if self.end.is_some() {
            return;
        }
        let event = match event {
            AgentEvent::Message(FromAgent::Disk(event)) => event,
            AgentEvent::Message(_) => return,
            AgentEvent::Lost(reason) => return self.fail(reason),
        };
        match event {
            DiskEvent::Begun(place) if self.place.is_none() => {
                self.moved_ns = Some(now_ns);
                self.place = Some(*place);
            }
            DiskEvent::Measured(figures) if self.awaits(&figures.job) => {
                self.moved_ns = Some(now_ns);
                self.figures.push(*figures);
            }
            // What is reported again is no progress.
            DiskEvent::Begun(_) | DiskEvent::Measured(_) => {}
            DiskEvent::Done => self.end = Some(DiskEnd::Done),
            DiskEvent::Failed(reason) => self.fail(reason),
        }
    }
}

#[cfg(test)]
mod tests;
