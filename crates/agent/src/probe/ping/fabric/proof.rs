//! Whether gets and puts are one-sided: they are begun while the target's helper does nothing, and
//! counted is what ends all the same, and what CPU the target has used for it. What no CPU of the
//! target's has touched is one-sided, whatever the provider calls it.

use garland_fabric::words::{Answer, Kind, Order, Round};
use garland_protocol::{PingKind, PingTask};

use super::{Fabric, child};

/// Operations to make the connection with.
const WARM_UP: u64 = 16;

/// Operations to try, and the milliseconds for it.
const TRIES: u64 = 2000;
const MILLIS: u32 = 200;

/// Nanoseconds of CPU that a helper uses to say that it does nothing, at most, and those for an
/// operation: a thread that serves one in the background uses more.
const RESTING_NS: u64 = 400_000;
const SERVING_NS: u64 = 200;

/// What to try: the smallest and the largest of a task's gets or puts.
pub fn cases(task: &PingTask) -> Vec<(Kind, u32)> {
    let kind = match task.points.first().map(|point| point.kind) {
        Some(PingKind::Get) => Kind::Get,
        Some(PingKind::Put) => Kind::Put,
        Some(PingKind::Msg) | None => return Vec::new(),
    };
    let sizes = || task.points.iter().map(|point| point.size.max(1));
    let mut cases: Vec<_> = sizes().min().into_iter().chain(sizes().max()).collect();
    cases.dedup();
    cases.into_iter().map(|size| (kind, size)).collect()
}

impl Fabric<'_> {
    /// Whether operations of this kind and size are one-sided.
    pub(super) fn prove(&mut self, initiates: bool, kind: Kind, size: u32) -> Result<bool, String> {
        self.serial = self.serial.wrapping_add(1);
        let warm = Round { kind, size, depth: 1, count: WARM_UP, rate: None, serial: self.serial };
        // The target looks at the bytes of the last put: those of a try are the same.
        let tries = Round { count: TRIES, ..warm };
        if initiates { self.prove_as_initiator(warm, tries) } else { self.prove_as_target(warm) }
    }

    fn prove_as_initiator(&mut self, warm: Round, tries: Round) -> Result<bool, String> {
        let Answer::Ran(_) = self.ask(&Order::Run(warm))? else {
            return Err(child::out_of_turn());
        };
        let _resting: bool = self.hear()?;
        let Answer::Tried(ended) = self.ask(&Order::Try(tries, MILLIS))? else {
            return Err(child::out_of_turn());
        };
        self.say(&true)?;
        let used_ns: u64 = self.hear()?;
        let Answer::Done = self.ask(&Order::Settle)? else {
            return Err(child::out_of_turn());
        };
        // What comes next changes the bytes that the target looks at.
        let _looked: bool = self.hear()?;
        Ok(ended > 0 && used_ns <= RESTING_NS + ended * SERVING_NS)
    }

    fn prove_as_target(&mut self, warm: Round) -> Result<bool, String> {
        let Answer::Served(_) = self.ask(&Order::Serve(warm))? else {
            return Err(child::out_of_turn());
        };
        let before = self.rest()?;
        self.say(&true)?;
        let _tried: bool = self.hear()?;
        let used_ns = self.rest()?.saturating_sub(before);
        self.say(&used_ns)?;
        let Answer::Served(_) = self.ask(&Order::Serve(warm))? else {
            return Err(child::out_of_turn());
        };
        self.say(&true)?;
        // The initiator judges.
        Ok(false)
    }

    fn rest(&mut self) -> Result<u64, String> {
        match self.ask(&Order::Rest)? {
            Answer::Rested(cpu_ns) => Ok(cpu_ns),
            _ => Err(child::out_of_turn()),
        }
    }
}
