//! What a liar says to the head in place of its agent.

use garland_protocol::copy::{
    Absence, Absent, Begin, CopyId, DiskCall, HopReport, LaneReport, LinkSide, PendingCall, Report,
    Route,
};
use garland_protocol::{FromAgent, Message, ToAgent};
use garland_sys::world::Random;

use crate::liar::Lie;

/// Speaks in place of an agent.
pub struct Tongue {
    lie: Lie,
    random: Random,
    copy: Option<CopyId>,
    /// The agent's links, as the head has ordered them.
    routes: Vec<Route>,
    /// Messages of the agent that are said later, or again.
    late: Vec<Vec<u8>>,
}

impl Tongue {
    pub fn new(lie: Lie, seed: u64) -> Self {
        let random = Random::new(seed ^ 0x11e5);
        Self { lie, random, copy: None, routes: Vec::new(), late: Vec::new() }
    }

    /// Listens to an order. Returns whether the agent is to obey it.
    pub fn hear(&mut self, order: &ToAgent) -> bool {
        match order {
            ToAgent::Begin(begin) => {
                let Begin { copy, routes, .. } = &**begin;
                (self.copy, self.routes) = (Some(*copy), routes.clone());
            }
            ToAgent::Route(_, route) => {
                self.routes.retain(|known| known.lane != route.lane);
                self.routes.push(route.clone());
            }
            // It says that it has committed, but doesn't.
            ToAgent::Commit(copy, _) if self.lie == Lie::Success => {
                self.late.push(FromAgent::Committed(*copy, Box::default()).to_bytes());
                return false;
            }
            _ => {}
        }
        true
    }

    /// Returns what is said in place of a message.
    pub fn say(&mut self, message: FromAgent) -> Vec<Vec<u8>> {
        let bytes = message.to_bytes();
        match (self.lie, message) {
            (Lie::Success, FromAgent::Heartbeat(mut reports)) => {
                let all = if self.random.once_in(2) { 16 } else { u64::MAX };
                reports.iter_mut().for_each(|(_, report)| *report = boasted(all));
                vec![FromAgent::Heartbeat(reports).to_bytes()]
            }
            (Lie::Blame, FromAgent::Heartbeat(mut reports)) => {
                reports.iter_mut().for_each(|(_, report)| self.blame(report));
                vec![FromAgent::Heartbeat(reports).to_bytes()]
            }
            (Lie::Messages, _) => match self.random.below(8) {
                0 => Vec::new(),
                1 => vec![bytes.clone(), bytes],
                2 => {
                    self.late.push(bytes);
                    Vec::new()
                }
                _ => vec![bytes],
            },
            _ => vec![bytes],
        }
    }

    /// Returns what is said without a cause.
    pub fn say_unasked(&mut self) -> Vec<Vec<u8>> {
        let Some(copy) = self.copy else { return Vec::new() };
        let mut said = match self.random.once_in(2) {
            true => std::mem::take(&mut self.late),
            false => Vec::new(),
        };
        match self.lie {
            Lie::Success if self.random.once_in(20) => {
                let report = Box::new(boasted(16));
                said.push(match self.random.below(3) {
                    0 => FromAgent::Ready(copy).to_bytes(),
                    1 => FromAgent::Prepared(copy).to_bytes(),
                    _ => FromAgent::Committed(copy, report).to_bytes(),
                });
            }
            Lie::Blame if self.random.once_in(3) => said.push(self.accusation(copy).to_bytes()),
            Lie::Messages if self.random.once_in(3) => said.push(self.anything(copy).to_bytes()),
            // Authentic, but no message.
            Lie::Messages if self.random.once_in(100) => said.push(vec![0xff; 9]),
            _ => {}
        }
        said
    }

    /// Makes a report say that those that the agent feeds are slow.
    fn blame(&mut self, report: &mut Report) {
        for lane in &mut report.lanes {
            let route = self.routes.first();
            let epoch = route.and_then(|route| route.epochs_down().next()).unwrap_or(1);
            let busy_ns = garland_sys::clock::now_ns();
            lane.hop = Some(HopReport { epoch, sent: lane.received, busy_ns, blocked_ns: 0 });
        }
    }

    /// Draws an accusation of a neighbour.
    fn accusation(&mut self, copy: CopyId) -> FromAgent {
        let side = if self.random.once_in(2) { LinkSide::Up } else { LinkSide::Down };
        let at = self.random.below(self.routes.len() as u64) as usize;
        let route = self.routes.get(at).cloned().unwrap_or_default();
        let epochs: Vec<u32> = match side {
            LinkSide::Up => route.epoch_up().into_iter().collect(),
            LinkSide::Down => route.epochs_down().collect(),
        };
        let epoch = epochs.first().copied().unwrap_or(self.random.below(10) as u32);
        let lane = route.lane;
        match self.random.below(4) {
            0 => FromAgent::Bad(copy, self.random.below(20)),
            1 => FromAgent::BadFrame { copy, lane, epoch, side },
            _ => FromAgent::LinkLost { copy, lane, epoch, side, reason: "it lies".to_owned() },
        }
    }

    /// Draws any message about the copy.
    fn anything(&mut self, copy: CopyId) -> FromAgent {
        let number = self.number();
        let report = Box::new(self.report());
        let text = "x".repeat(self.random.below(2000) as usize);
        let digest = [number as u8; 32];
        match self.random.below(18) {
            0 => FromAgent::Welcome { pid: 1, age_ns: number, links: number as u32 },
            1..=3 => FromAgent::Heartbeat(vec![(copy, *report)]),
            4 => FromAgent::Busy(copy, number as u32),
            5 => FromAgent::Admitted(copy),
            6 => FromAgent::Ready(copy),
            7 => FromAgent::First(copy),
            8 => FromAgent::Complete(copy, digest, report),
            9 => FromAgent::Committed(copy, report),
            10 => FromAgent::Closed(copy),
            11 => FromAgent::Clock(number, number, number),
            12 => FromAgent::Trace(copy, text.into_bytes(), self.random.once_in(2)),
            13 => FromAgent::Written(copy, number),
            14 => {
                let absent =
                    Absent { path: text.into_bytes(), reason: String::new(), missed: true };
                let parts = vec![absent];
                FromAgent::Absent(copy, Absence { missed: number, skipped: number, parts })
            }
            15 => FromAgent::Resumed(number),
            16 => FromAgent::Prepared(copy),
            _ => self.accusation(copy),
        }
    }

    /// Draws a report with any numbers.
    fn report(&mut self) -> Report {
        let lane = LaneReport {
            received: self.number(),
            hop: Some(HopReport {
                epoch: self.random.below(5) as u32,
                sent: self.number(),
                busy_ns: self.number(),
                blocked_ns: self.number(),
            }),
            untaken: self.random.once_in(2).then(|| self.random.below(5) as u32),
        };
        Report {
            lanes: vec![lane; self.random.below(4) as usize],
            holder: self.random.once_in(2),
            held: self.number(),
            had: self.number(),
            whole: self.number(),
            stalled_ns: self.number(),
            starved_ns: self.number(),
            blocked_ns: self.number(),
            memory: self.number(),
            cpu_ns: self.number(),
            opening_ns: self.number(),
            depths: Vec::new(),
            removed: self.number(),
            checksum: None,
            pending: self.random.once_in(4).then(|| PendingCall {
                operation: DiskCall::Write,
                path: "\x1b[2J".to_owned(),
                silent_ns: self.number(),
                allowance_ns: self.number(),
            }),
        }
    }

    fn number(&mut self) -> u64 {
        match self.random.below(4) {
            0 => self.random.below(20),
            1 => self.random.below(10_000_000_000),
            2 => self.random.bits(),
            _ => u64::MAX,
        }
    }
}

/// Returns a report that says that the agent has `all` blocks.
fn boasted(all: u64) -> Report {
    Report {
        lanes: vec![LaneReport { received: all, hop: None, untaken: None }; 2],
        holder: true,
        held: all,
        whole: all,
        ..Report::default()
    }
}
