//! Gets, puts and messages by libfabric, which a helper does for the agent: the agent is static and
//! can load no library. Before the first round it is tried whether gets and puts go on while the
//! target's CPU does nothing: that tells one-sided ones from those that a CPU serves.

mod brought;
mod child;
mod meet;
mod proof;

use std::net::TcpStream;

use garland_fabric::words::{self, Answer, Kind, Open};
use garland_protocol::{FabricWay, Finding, PingKind, PingTask, PingWait, TargetState};

pub use self::brought::Brought;
use super::super::runner::Place;
use super::round::Order;
use super::tally::Tally;
use crate::probe::ping::transport::ProbeTransport;
use child::Helper;

/// The most memory that operations in flight take on each side, in bytes.
const MOST: u64 = 128 << 20;

/// An endpoint of a fabric.
pub struct Fabric<'a> {
    place: &'a Place,
    stream: &'a TcpStream,
    helper: Helper,
    /// Rounds so far.
    serial: u32,
}

impl<'a> Fabric<'a> {
    /// Both sides open an endpoint of one provider and tell each other where it is.
    pub fn meet(
        place: &'a Place,
        task: &PingTask,
        initiates: bool,
        stream: &'a TcpStream,
    ) -> Result<Self, String> {
        let mut fabric = Self { place, stream, helper: Helper::start(place, stream)?, serial: 0 };
        let source = stream.local_addr().ok().map(|own| own.ip().to_canonical());
        let provider = match &task.provider {
            Some(provider) => provider.clone(),
            None => fabric.agree(initiates, source)?,
        };
        let wish = Open {
            provider,
            source,
            sleeps: match initiates {
                true => task.wait == PingWait::Block,
                false => task.target != TargetState::Idle,
            },
            puts: task.points.iter().any(|point| point.kind == PingKind::Put),
            depth: task.points.iter().map(|point| point.depth).max().unwrap_or(1),
            ring: ring(task)?,
            largest: task.points.iter().map(|point| point.size.max(1)).max().unwrap_or(1),
        };
        let (ours, theirs) = fabric.open(wish)?;
        let mut one_sided = Vec::new();
        for (kind, size) in proof::cases(task) {
            let alone = fabric.prove(initiates, kind, size)?;
            one_sided.push((size, alone));
        }
        if initiates {
            place.found(Finding::Fabric(FabricWay {
                provider: ours.peer.provider,
                domain: ours.domain,
                library: ours.library,
                sleeps: (ours.sleeps, theirs.sleeps),
                delivers: ours.delivers,
                one_sided,
            }));
        }
        Ok(fabric)
    }

    fn ask(&mut self, order: &words::Order) -> Result<Answer, String> {
        self.helper.ask(order, self.place, self.stream)
    }

    /// The rounds that an order takes: samples come in one piece, which is bounded.
    fn rounds(&mut self, order: &Order) -> Vec<words::Round> {
        let kind = match order.kind {
            Some(PingKind::Get) => Kind::Get,
            Some(PingKind::Put) => Kind::Put,
            Some(PingKind::Msg) | None => Kind::Msg,
        };
        let mut left = order.count;
        let mut rounds = Vec::new();
        while left > 0 {
            let count = left.min(words::SAMPLES_MAX);
            left -= count;
            self.serial = self.serial.wrapping_add(1);
            rounds.push(words::Round {
                kind,
                // What has no bytes takes one to be seen.
                size: order.size.max(1),
                depth: order.depth,
                count,
                rate: order.rate,
                serial: self.serial,
            });
        }
        rounds
    }
}

impl ProbeTransport for Fabric<'_> {
    fn timed_together(&self, _: &Order) -> u32 {
        1
    }

    fn run(&mut self, order: &Order, tally: &mut Tally) -> Result<u64, String> {
        let mut elapsed_ns = 0;
        for round in self.rounds(order) {
            let Answer::Ran(ran) = self.ask(&words::Order::Run(round))? else {
                return Err(child::out_of_turn());
            };
            if ran.samples.len() as u64 != round.count {
                return Err(child::out_of_turn());
            }
            ran.samples.iter().for_each(|&ns| tally.sojourn.record(ns));
            tally.writing_ns += ran.posting_ns;
            tally.work_ns[0] += ran.work_ns;
            elapsed_ns += ran.elapsed_ns;
        }
        Ok(elapsed_ns)
    }

    fn serve(&mut self, order: &Order) -> Result<u64, String> {
        let mut work_ns = 0;
        for round in self.rounds(order) {
            match self.ask(&words::Order::Serve(round))? {
                Answer::Served(ns) => work_ns += ns,
                _ => return Err(child::out_of_turn()),
            }
        }
        Ok(work_ns)
    }
}

/// Bytes of memory for the operations in flight of any point.
fn ring(task: &PingTask) -> Result<u64, String> {
    let needs = task.points.iter().map(|point| words::stride(point.size) * u64::from(point.depth));
    let ring = needs.max().unwrap_or(0);
    match 2 * ring {
        ..=MOST => Ok(ring),
        _ => Err(format!("{ring} bytes in flight: an endpoint has {} at most", MOST / 2)),
    }
}
