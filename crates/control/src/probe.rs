//! The head's side of meetings: in each, two agents connect and measure. All pairs of a round run
//! at the same time.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use garland_dataplane::leaving::after;
use garland_protocol::{Complaint, CopyId, Finding, FromAgent, Meeting, Secret, Task, ToAgent};
use garland_sys::signal::Interrupts;
use garland_sys::{clock, random};

use crate::agent_set::AgentEvent;
use crate::agents::{Agents, gone, silence};
use crate::copy::Agent;

/// After the complaint of one agent, the head waits this long, in nanoseconds, before it ends the
/// meeting. The cause may be the loss of the other agent, which the head may notice later.
const COMPLAINT_NS: u64 = 500_000_000;

/// The time that a meeting may take beyond its time limit.
const GRACE: Duration = Duration::from_secs(10);

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
    /// The time limit of the meeting.
    pub limit: Duration,
    /// The CPUs to which the connecting and the accepting agent pin their threads.
    pub pin: Option<(u16, u16)>,
    /// The measurement.
    pub task: Task,
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

/// Agents that can connect to each other.
pub struct Party {
    agents: Agents,
}

/// A meeting that is running.
struct Underway {
    id: CopyId,
    sides: [usize; 2],
    done: [bool; 2],
    end: Option<PairEnd>,
    /// The first complaint: the index of the node, the complaint, and its time. If a node complains
    /// that its peer left, the peer's own complaint replaces that, even if it arrives later.
    complaint: Option<(usize, Complaint, u64)>,
    deadline_ns: u64,
}

impl Party {
    /// Creates the set of agents, in the order of the list of nodes; `None` for nodes that cannot
    /// be reached.
    pub fn new(agents: Vec<Option<Agent>>) -> Self {
        Self { agents: Agents::new(agents) }
    }

    /// Returns whether the channel of a node's agent is open.
    #[must_use]
    pub fn has(&self, node: usize) -> bool {
        self.agents.has(node)
    }

    /// Runs the meetings of all `pairs` at the same time; calls `found` with the index of the pair,
    /// the index of the node, and the finding. Returns how each meeting ended, in order.
    ///
    /// # Errors
    /// When this host cannot wait for the agents.
    pub fn round(
        &mut self,
        pairs: &[Pair],
        interrupts: Option<&Interrupts>,
        found: &mut dyn FnMut(usize, usize, Finding),
    ) -> io::Result<Vec<PairEnd>> {
        self.agents.nodes().for_each(|node| self.agents.reset_silence(node));
        let mut meetings: Vec<Underway> = pairs.iter().map(|pair| self.begin(pair)).collect();
        while meetings.iter().any(|meeting| meeting.end.is_none()) {
            let others = interrupts.map(AsFd::as_fd);
            for (node, event) in self.agents.wait(others, Duration::from_millis(200))? {
                handle(&mut meetings, node, event, found);
            }
            if interrupts.is_some_and(Interrupts::pending) {
                meetings.iter_mut().for_each(|m| m.close(PairEnd::Interrupted));
            }
            self.give_up(&mut meetings);
        }
        for meeting in meetings.iter().filter(|m| m.end != Some(PairEnd::Done)) {
            for side in meeting.sides {
                self.agents.send(side, &ToAgent::EndProbe(meeting.id));
            }
        }
        Ok(meetings.into_iter().filter_map(|meeting| meeting.end).collect())
    }

    fn begin(&mut self, pair: &Pair) -> Underway {
        let (id, secret) = (CopyId(random::bytes()), Secret(random::bytes()));
        let mut underway = Underway {
            id,
            sides: [pair.from, pair.to],
            done: [false; 2],
            end: None,
            complaint: None,
            deadline_ns: after(pair.limit + GRACE),
        };
        for side in [pair.from, pair.to] {
            if !self.agents.has(side) {
                underway.close(PairEnd::Failed(side, gone()));
                return underway;
            }
        }
        let Some(&address) = self.agents.addresses()[pair.to].get(pair.rail) else {
            let reason = format!("it has no address on rail {}", pair.rail);
            underway.close(PairEnd::Failed(pair.to, reason));
            return underway;
        };
        let meeting = |dial, pin| Meeting {
            id,
            secret: secret.clone(),
            dial,
            streams: pair.streams,
            limit_ms: u32::try_from(pair.limit.as_millis()).unwrap_or(u32::MAX),
            pin,
            task: pair.task.clone(),
        };
        let target = meeting(None, pair.pin.map(|(_, to)| to));
        self.agents.send(pair.to, &ToAgent::Probe(Box::new(target)));
        let initiator = meeting(Some(address), pair.pin.map(|(from, _)| from));
        self.agents.send(pair.from, &ToAgent::Probe(Box::new(initiator)));
        underway
    }

    fn give_up(&self, meetings: &mut [Underway]) {
        let now = clock::now_ns();
        for meeting in meetings.iter_mut().filter(|meeting| meeting.end.is_none()) {
            let silent = |&side: &usize| self.agents.is_silent(side);
            if let Some(side) = meeting.sides.into_iter().find(silent) {
                meeting.close(PairEnd::Failed(side, silence()));
            } else if let Some((side, complaint, _)) =
                meeting.complaint.take_if(|(.., since)| now.saturating_sub(*since) > COMPLAINT_NS)
            {
                meeting.close(PairEnd::Failed(side, complaint.reason));
            } else if now > meeting.deadline_ns {
                let side = meeting.sides[usize::from(meeting.done[0])];
                meeting.close(PairEnd::Failed(
                    side,
                    "its agent did not end the measurement in time".to_owned(),
                ));
            }
        }
    }
}

impl Underway {
    /// Sets the end, unless the meeting has ended already.
    fn close(&mut self, end: PairEnd) {
        self.end.get_or_insert(end);
    }

    fn complain(&mut self, node: usize, complaint: Complaint) {
        match &mut self.complaint {
            None => self.complaint = Some((node, complaint, clock::now_ns())),
            Some((first, before, _)) if before.left_alone && !complaint.left_alone => {
                (*first, *before) = (node, complaint);
            }
            Some(_) => {}
        }
    }

    fn side(&self, node: usize) -> Option<usize> {
        self.sides.iter().position(|&side| side == node)
    }
}

fn handle(
    meetings: &mut [Underway],
    node: usize,
    event: AgentEvent,
    found: &mut dyn FnMut(usize, usize, Finding),
) {
    match event {
        AgentEvent::Message(FromAgent::Found(id, finding)) => {
            if let Some(at) = meetings.iter().position(|m| m.id == id && m.side(node).is_some()) {
                found(at, node, *finding);
            }
        }
        AgentEvent::Message(FromAgent::ProbeEnded(id, complaint)) => {
            let Some(meeting) = meetings.iter_mut().find(|meeting| meeting.id == id) else {
                return;
            };
            let Some(side) = meeting.side(node) else { return };
            meeting.done[side] = true;
            match complaint {
                Some(complaint) => meeting.complain(node, complaint),
                None if meeting.done == [true; 2] => meeting.close(PairEnd::Done),
                None => {}
            }
        }
        AgentEvent::Message(_) => {}
        AgentEvent::Lost(reason) => {
            let its = meetings.iter_mut().filter(|meeting| meeting.side(node).is_some());
            its.for_each(|meeting| meeting.close(PairEnd::Failed(node, reason.clone())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_node_that_left_first_is_at_fault_even_if_its_complaint_arrives_last() {
        let blamed = |complaints: [(usize, bool); 2]| {
            let mut meeting = Underway {
                id: CopyId([0; 16]),
                sides: [0, 1],
                done: [false; 2],
                end: None,
                complaint: None,
                deadline_ns: 0,
            };
            for (node, left_alone) in complaints {
                meeting.complain(node, Complaint { reason: node.to_string(), left_alone });
            }
            meeting.complaint.map(|(node, complaint, _)| (node, complaint.reason))
        };
        assert_eq!(blamed([(0, true), (1, false)]), Some((1, "1".to_owned())));
        assert_eq!(blamed([(1, false), (0, true)]), Some((1, "1".to_owned())));
        assert_eq!(blamed([(0, false), (1, false)]), Some((0, "0".to_owned())));
    }
}
