//! Rounds of meetings: in each meeting, two agents connect and measure. All pairs of a round run at
//! the same time.

use std::net::SocketAddr;
use std::time::Duration;

use super::interface::{AgentEvent, Operation, Orders};
use crate::copy::{CopyId, NodeAddress};
use crate::measure::{Complaint, Finding, Meeting, Task};
use crate::wire::Secret;
use crate::{FromAgent, ToAgent};

/// After the complaint of one agent, the head waits this long, in nanoseconds, before it ends the
/// meeting. The cause may be the loss of the other agent, which the head may notice later.
const COMPLAINT_NS: u64 = 500_000_000;

/// The time that a meeting may take beyond its time limit, in nanoseconds.
const GRACE_NS: u64 = 10_000_000_000;

/// The maximum number of a node's findings that belong to no point and no connection: conditions at
/// the beginning and the end, the clock, the fabric.
const FINDINGS_BESIDES_MAX: usize = 8;

/// Two agents that meet, by index in the list of nodes.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The agent that connects.
    pub from: usize,
    /// The agent that accepts.
    pub to: usize,
    /// The index of the accepting agent's address.
    pub rail: usize,
    /// The number of connections.
    pub streams: u16,
    /// The time limit of the meeting, without the grace period.
    pub limit: Duration,
    /// The CPUs to which the connecting and the accepting agent pin their threads; `None` leaves
    /// threads unpinned.
    pub pin: Option<(u16, u16)>,
    /// What to measure.
    pub task: Task,
}

/// The random values of one meeting, by which its two agents recognize each other.
#[derive(Debug)]
pub struct MeetingKeys {
    /// The id of the meeting.
    pub id: CopyId,
    /// The secret that both agents share.
    pub secret: Secret,
}

/// How the meeting of a pair, or a round of copies, ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PairEnd {
    /// The meeting or round was completed.
    Done,
    /// The meeting or round failed: the index of the node that is probably at fault, and the
    /// reason.
    Failed(usize, String),
    /// The user interrupted.
    Interrupted,
}

/// Meetings of several pairs at the same time.
pub struct MeetingRound {
    meetings: Vec<Underway>,
}

/// A meeting that is running.
struct Underway {
    pair: Pair,
    /// The address of the accepting agent; `None` if it has no address on this rail.
    address: Option<SocketAddr>,
    keys: MeetingKeys,
    done: [bool; 2],
    end: Option<PairEnd>,
    /// The first complaint: the index of the node, the complaint, and its time in monotonic
    /// nanoseconds. A complaint that only says that the peer left is replaced by the peer's own
    /// complaint, even if that arrives later.
    complaint: Option<(usize, Complaint, u64)>,
    /// The time at which the meeting is given up; `None` before it has begun.
    deadline_ns: Option<u64>,
    /// The findings so far, each with the index of the node.
    findings: Vec<(usize, Finding)>,
}

impl MeetingRound {
    /// Creates the meetings of pairs, each with its keys; `addresses` are those of all nodes.
    #[must_use]
    pub fn new(
        pairs: impl IntoIterator<Item = (Pair, MeetingKeys)>,
        addresses: &[NodeAddress],
    ) -> Self {
        let pairs = pairs.into_iter();
        let meeting = |(pair, keys): (Pair, _)| {
            let address = addresses[pair.to].get(pair.rail).copied();
            Underway::new(pair, address, keys)
        };
        Self { meetings: pairs.map(meeting).collect() }
    }

    /// Returns how each meeting ended, and its findings, each finding with the index of its node.
    /// Omits meetings that have not ended.
    pub fn into_ends(self) -> impl Iterator<Item = (PairEnd, Vec<(usize, Finding)>)> {
        self.meetings.into_iter().filter_map(|it| Some((it.end?, it.findings)))
    }
}

impl Operation for MeetingRound {
    fn begin(&mut self, now_ns: u64, orders: &mut Orders) {
        let open = self.meetings.iter_mut().filter(|meeting| meeting.end.is_none());
        open.for_each(|meeting| meeting.begin(now_ns, orders));
    }

    fn handle(&mut self, now_ns: u64, node: usize, event: AgentEvent, orders: &mut Orders) {
        let mut its = self.meetings.iter_mut().filter(|meeting| meeting.side(node).is_some());
        match event {
            AgentEvent::Message(FromAgent::Found(id, finding)) => {
                if let Some(meeting) = its.find(|meeting| meeting.keys.id == id) {
                    meeting.find(node, *finding);
                }
            }
            AgentEvent::Message(FromAgent::ProbeEnded(id, complaint)) => {
                if let Some(meeting) = its.find(|meeting| meeting.keys.id == id) {
                    meeting.end_side(now_ns, node, complaint);
                }
            }
            AgentEvent::Message(_) => {}
            AgentEvent::Lost(reason) => its.for_each(|meeting| {
                meeting.close(PairEnd::Failed(node, reason.clone()), orders);
            }),
        }
    }

    fn tick(&mut self, now_ns: u64, orders: &mut Orders) {
        self.meetings.iter_mut().for_each(|meeting| meeting.tick(now_ns, orders));
    }

    fn interrupt(&mut self, _: u64, orders: &mut Orders) -> bool {
        self.meetings.iter_mut().for_each(|meeting| meeting.close(PairEnd::Interrupted, orders));
        true
    }

    fn is_over(&self) -> bool {
        self.meetings.iter().all(|meeting| meeting.end.is_some())
    }
}

impl Underway {
    fn new(pair: Pair, address: Option<SocketAddr>, keys: MeetingKeys) -> Self {
        Self {
            pair,
            address,
            keys,
            done: [false; 2],
            end: None,
            complaint: None,
            deadline_ns: None,
            findings: Vec::new(),
        }
    }

    fn begin(&mut self, now_ns: u64, orders: &mut Orders) {
        let pair = &self.pair;
        let Some(address) = self.address else {
            let reason = format!("it has no address on rail {}", pair.rail);
            self.end = Some(PairEnd::Failed(pair.to, reason));
            return;
        };
        let limit_ns = u64::try_from(pair.limit.as_nanos()).unwrap_or(u64::MAX);
        self.deadline_ns = Some(now_ns.saturating_add(limit_ns).saturating_add(GRACE_NS));
        let meeting = |dial, pin| {
            ToAgent::Probe(Box::new(Meeting {
                id: self.keys.id,
                secret: self.keys.secret.clone(),
                dial,
                streams: pair.streams,
                limit_ms: u32::try_from(pair.limit.as_millis()).unwrap_or(u32::MAX),
                pin,
                task: pair.task.clone(),
            }))
        };
        orders.send(pair.to, meeting(None, pair.pin.map(|(_, to)| to)));
        orders.send(pair.from, meeting(Some(address), pair.pin.map(|(from, _)| from)));
    }

    /// Keeps a finding of a node, unless the node reports more than it was asked for.
    fn find(&mut self, node: usize, finding: Finding) {
        let points = match &self.pair.task {
            Task::Ping(task) => task.points.len(),
            Task::Stream(_) => 0,
        };
        let most = points + usize::from(self.pair.streams) + FINDINGS_BESIDES_MAX;
        if self.findings.iter().filter(|(by, _)| *by == node).count() < most {
            self.findings.push((node, finding));
        }
    }

    /// Ends the meeting early, on both nodes if it has begun, unless it has ended already.
    fn close(&mut self, end: PairEnd, orders: &mut Orders) {
        if self.end.is_some() {
            return;
        }
        if self.deadline_ns.is_some() {
            for side in self.sides() {
                orders.send(side, ToAgent::EndProbe(self.keys.id));
            }
        }
        self.end = Some(end);
    }

    /// Ends the meeting on one node.
    fn end_side(&mut self, now_ns: u64, node: usize, complaint: Option<Complaint>) {
        if let Some(side) = self.side(node) {
            self.done[side] = true;
        }
        match complaint {
            Some(complaint) => self.complain(now_ns, node, complaint),
            None if self.done == [true; 2] => {
                self.end.get_or_insert(PairEnd::Done);
            }
            None => {}
        }
    }

    fn complain(&mut self, now_ns: u64, node: usize, complaint: Complaint) {
        match &mut self.complaint {
            None => self.complaint = Some((node, complaint, now_ns)),
            Some((first, before, _)) if before.left_alone && !complaint.left_alone => {
                (*first, *before) = (node, complaint);
            }
            Some(_) => {}
        }
    }

    fn tick(&mut self, now_ns: u64, orders: &mut Orders) {
        let is_old = |since: u64| now_ns.saturating_sub(since) > COMPLAINT_NS;
        if let Some((side, complaint, _)) = self.complaint.take_if(|(.., since)| is_old(*since)) {
            self.close(PairEnd::Failed(side, complaint.reason), orders);
        } else if self.deadline_ns.is_some_and(|deadline_ns| now_ns > deadline_ns) {
            let side = self.sides()[usize::from(self.done[0])];
            let reason = "its agent did not end the measurement in time".to_owned();
            self.close(PairEnd::Failed(side, reason), orders);
        }
    }

    fn sides(&self) -> [usize; 2] {
        [self.pair.from, self.pair.to]
    }

    fn side(&self, node: usize) -> Option<usize> {
        self.sides().iter().position(|&side| side == node)
    }
}

#[cfg(test)]
mod tests;
