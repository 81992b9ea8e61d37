//! Gets, puts and messages over libfabric, in a helper process, since the agent is static and
//! cannot load a library. Before the first round a test shows whether gets and puts are one-sided.

mod child;
mod helper_program;
mod meet;
mod proof;

use garland_fabric::words::{self, Answer, Kind, Open};
use garland_protocol::measure::{
    FabricWay, Finding, LibraryVersion, OneSidedTry, PingKind, PingTask, PingWait, SleepingSides,
    TargetState,
};
use garland_sys::socket::TcpStream;

use self::child::{Helper, unexpected};
pub use self::helper_program::HelperProgram;
use super::round::Order;
use super::tally::Tally;
use super::transport::ProbeTransport;
use crate::probe::error::ProbeError;
use crate::probe::meeting_state::MeetingState;

/// The maximum memory for operations in flight on each side, in bytes.
const MAX_IN_FLIGHT_BYTES: u64 = 128 << 20;

/// A libfabric endpoint that is connected to the other agent's.
pub struct Fabric<'a>(Helper<'a>);

impl<'a> Fabric<'a> {
    /// Opens an endpoint of one provider on both sides, and connects them.
    pub fn meet(
        meeting: &'a MeetingState,
        task: &PingTask,
        initiates: bool,
        stream: &'a TcpStream,
    ) -> Result<Self, ProbeError> {
        let mut helper = Helper::start(meeting, stream)?;
        let source = stream.local_addr().ok().map(|own| own.ip().to_canonical());
        let provider = match &task.provider {
            Some(provider) => provider.clone(),
            None => meet::agree(&mut helper, initiates, source)?,
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
        let (ours, theirs) = meet::open(&mut helper, wish)?;
        let mut tries = Vec::new();
        for (kind, size) in proof::cases(task) {
            let one_sided = proof::prove(&mut helper, initiates, kind, size)?;
            tries.push(OneSidedTry { size, one_sided });
        }
        if initiates {
            let (major, minor) = ours.library;
            meeting.found(Finding::Fabric(FabricWay {
                provider: ours.peer.provider,
                domain: ours.domain,
                library: LibraryVersion { major, minor },
                sleeps: SleepingSides { initiator: ours.sleeps, target: theirs.sleeps },
                delivers: ours.delivers,
                tries,
            }));
        }
        Ok(Self(helper))
    }

    /// Splits an order into rounds, since an answer of the helper has a limited number of samples.
    /// The other side may order any number of operations, so that rounds are not kept.
    fn rounds(order: &Order) -> impl Iterator<Item = words::Round> {
        let kind = match order.kind {
            Some(PingKind::Get) => Kind::Get,
            Some(PingKind::Put) => Kind::Put,
            Some(PingKind::Msg) | None => Kind::Msg,
        };
        let size = order.size.max(1);
        let depth = order.depth;
        let rate = order.rate;
        let mut left = order.count;
        std::iter::from_fn(move || {
            let count = left.min(words::SAMPLES_MAX);
            left -= count;
            // An operation of size 0 transfers one byte: otherwise its arrival could not be
            // detected.
            (count > 0).then_some(words::Round { kind, size, depth, count, rate, serial: 0 })
        })
    }

    /// Returns the round with the serial number that both sides give it.
    fn numbered(&mut self, round: words::Round) -> words::Round {
        words::Round { serial: self.0.next_serial(), ..round }
    }
}

impl ProbeTransport for Fabric<'_> {
    fn timed_together(&self, _: &Order) -> u32 {
        1
    }

    fn run(&mut self, order: &Order, tally: &mut Tally) -> Result<u64, ProbeError> {
        let mut elapsed_ns = 0;
        for round in Self::rounds(order) {
            let round = self.numbered(round);
            let Answer::Ran(ran) = self.0.ask(&words::Order::Run(round))? else {
                return unexpected();
            };
            if ran.samples.len() as u64 != round.count {
                return unexpected();
            }
            ran.samples.iter().for_each(|&ns| tally.sojourn.record(ns));
            tally.writing_ns += ran.posting_ns;
            tally.work_ns[0] += ran.work_ns;
            elapsed_ns += ran.elapsed_ns;
        }
        Ok(elapsed_ns)
    }

    fn serve(&mut self, order: &Order) -> Result<u64, ProbeError> {
        let mut work_ns = 0;
        for round in Self::rounds(order) {
            let round = self.numbered(round);
            match self.0.ask(&words::Order::Serve(round))? {
                Answer::Served(ns) => work_ns += ns,
                _ => return unexpected(),
            }
        }
        Ok(work_ns)
    }
}

/// Returns the memory in bytes that the operations in flight need, at the point that needs the
/// most. Fails if twice this memory, which each side allocates, exceeds [`MAX_IN_FLIGHT_BYTES`].
fn ring(task: &PingTask) -> Result<u64, ProbeError> {
    let needs = task.points.iter().map(|point| words::stride(point.size) * u64::from(point.depth));
    let ring = needs.max().unwrap_or(0);
    match 2 * ring {
        ..=MAX_IN_FLIGHT_BYTES => Ok(ring),
        _ => {
            let most = MAX_IN_FLIGHT_BYTES / 2;
            Err(format!("too many bytes in flight: {ring}; an endpoint can have at most {most}")
                .into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_of_any_number_of_operations_takes_no_memory() {
        let many = u64::MAX;
        let order = Order { kind: Some(PingKind::Get), size: 8, depth: 1, count: many, rate: None };
        let counts: Vec<u64> = Fabric::rounds(&order).take(2).map(|round| round.count).collect();
        assert_eq!(counts, [words::SAMPLES_MAX; 2]);
        let few = Order { count: words::SAMPLES_MAX + 1, ..order };
        let counts: Vec<u64> = Fabric::rounds(&few).map(|round| round.count).collect();
        assert_eq!(counts, [words::SAMPLES_MAX, 1]);
    }
}
