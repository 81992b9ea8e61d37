//! Tests whether gets and puts are one-sided. The initiator starts them while the target's helper
//! is idle; they are one-sided if they complete and the target's CPU time does not grow, whatever
//! the provider claims.

use garland_fabric::words::{Answer, Kind, Order, Round};
use garland_protocol::measure::{PingKind, PingTask};

use super::child::{Helper, unexpected};
use crate::probe::error::ProbeError;

/// The number of operations that establish the connection.
const WARM_UP: u64 = 16;

/// The maximum number of operations of a test.
const TRIES: u64 = 2000;
/// The maximum duration of a test in milliseconds.
const MILLIS: u32 = 200;

/// The CPU time in nanoseconds that the target's helper may use to report its CPU time.
const RESTING_NS: u64 = 400_000;
/// The CPU time per operation in nanoseconds up to which the target's helper counts as idle. A
/// background thread that serves operations uses more.
const SERVING_NS: u64 = 200;

/// Returns the operations to test, as kind and size in bytes: the smallest and the largest of a
/// task's gets or puts; none for messages.
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

/// At the initiator, returns whether operations of this kind and size are one-sided. The target
/// always returns false.
pub(super) fn prove(
    helper: &mut Helper<'_>,
    initiates: bool,
    kind: Kind,
    size: u32,
) -> Result<bool, ProbeError> {
    let serial = helper.next_serial();
    let warm = Round { kind, size, depth: 1, count: WARM_UP, rate: None, serial };
    // The target checks the bytes of the last put; those of a test equal those of the warm-up.
    let tries = Round { count: TRIES, ..warm };
    if initiates { initiate(helper, warm, tries) } else { serve(helper, warm) }
}

fn initiate(helper: &mut Helper<'_>, warm: Round, tries: Round) -> Result<bool, ProbeError> {
    let Answer::Ran(_) = helper.ask(&Order::Run(warm))? else { return unexpected() };
    let _resting: bool = helper.receive()?;
    let Answer::Tried(ended) = helper.ask(&Order::Try(tries, MILLIS))? else { return unexpected() };
    helper.send(&true)?;
    let used_ns: u64 = helper.receive()?;
    let Answer::Done = helper.ask(&Order::Settle)? else { return unexpected() };
    // Wait until the target has checked the bytes: the next operation changes them.
    let _looked: bool = helper.receive()?;
    Ok(ended > 0 && used_ns <= RESTING_NS + ended * SERVING_NS)
}

fn serve(helper: &mut Helper<'_>, warm: Round) -> Result<bool, ProbeError> {
    let Answer::Served(_) = helper.ask(&Order::Serve(warm))? else { return unexpected() };
    let before = rest(helper)?;
    helper.send(&true)?;
    let _tried: bool = helper.receive()?;
    let used_ns = rest(helper)?.saturating_sub(before);
    helper.send(&used_ns)?;
    let Answer::Served(_) = helper.ask(&Order::Serve(warm))? else { return unexpected() };
    helper.send(&true)?;
    // The initiator decides.
    Ok(false)
}

fn rest(helper: &mut Helper<'_>) -> Result<u64, ProbeError> {
    match helper.ask(&Order::Rest)? {
        Answer::Rested(cpu_ns) => Ok(cpu_ns),
        _ => unexpected(),
    }
}
