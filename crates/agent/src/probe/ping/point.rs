//! Measures one point of a ping: warm-up, then rounds until the result is precise enough.

use garland_core::histogram::Histogram;
use garland_protocol::measure::{PingPoint, PingSample};
use garland_sys::clock;
use garland_sys::socket::TcpStream;

use super::round::{self, Order};
use super::tally::Tally;
use super::transport::ProbeTransport;
use crate::probe::error::ProbeError;
use crate::probe::meeting_state::MeetingState;

/// The maximum number of operations of the warm-up, which are not counted.
const WARM_UP: u64 = 200;

/// The number of operations in the first part of the warm-up, which shows how long an operation
/// takes.
const FIRST: u64 = 10;

/// The approximate duration of a round in nanoseconds: short enough to stop in time.
const ROUND_NS: u64 = 50_000_000;

/// Returns the time that reading the clock takes in nanoseconds: the median of many differences.
pub fn timer_ns() -> u64 {
    let mut histogram = Histogram::default();
    let mut before = clock::now_ns();
    for _ in 0..10_000 {
        let now = clock::now_ns();
        histogram.record(now - before);
        before = now;
    }
    // The median is zero if the clock's resolution is coarser than the time to read it.
    histogram.percentile(0.5).max(histogram.mean())
}

/// Measures the point `number` as the initiator, and returns its statistics.
pub fn measure(
    meeting: &MeetingState,
    number: u32,
    point: &PingPoint,
    stream: &TcpStream,
    transport: &mut dyn ProbeTransport,
) -> Result<PingSample, ProbeError> {
    let order = |count, rate| Order {
        kind: Some(point.kind),
        size: point.size,
        depth: point.depth,
        count,
        rate,
    };
    let mut lead = |order: Order, tally: &mut Tally| -> Result<(), ProbeError> {
        order.send(stream)?;
        round::await_ready(meeting, stream)?;
        tally.elapsed_ns += transport.run(&order, tally)?;
        tally.work_ns[1] += round::read_receipt(meeting, stream)?;
        Ok(())
    };
    let mut warm = Tally::default();
    // If operations are large, fewer of them suffice for a warm-up.
    let warm_up = WARM_UP.min(1 + (4 << 20) / u64::from(point.size.max(1)));
    let time_ns = u64::from(point.time_ms) * 1_000_000;
    let mut each_ns = 0;
    for count in [warm_up.min(FIRST), warm_up.saturating_sub(FIRST)] {
        // Slow operations warm up no longer than they are measured.
        let count = count.min(time_ns / each_ns.max(1));
        if count > 0 {
            lead(order(count, None), &mut warm)?;
            each_ns = warm.elapsed_ns / warm.sojourn.count().max(1);
        }
    }
    let mut tally = Tally::default();
    loop {
        let left_ns = time_ns.saturating_sub(tally.elapsed_ns);
        let fit = match point.rate {
            Some(rate) => u64::from(rate) * left_ns / 1_000_000_000,
            None => ROUND_NS.min(left_ns) / each_ns.max(1),
        };
        let count = match point.count {
            Some(wanted) if point.rate.is_some() => u64::from(wanted),
            Some(wanted) => fit.max(1).min(u64::from(wanted) - tally.sojourn.count()),
            None => fit.max(1),
        };
        lead(order(count, point.rate), &mut tally)?;
        each_ns = tally.elapsed_ns / tally.sojourn.count().max(1);
        let enough = match point.count {
            Some(wanted) => tally.sojourn.count() >= u64::from(wanted),
            None => point.rate.is_some() || tally.is_enough(),
        };
        if enough || tally.elapsed_ns >= time_ns {
            break;
        }
    }
    Ok(PingSample {
        point: number,
        count: tally.sojourn.count(),
        elapsed_ns: tally.elapsed_ns,
        sojourn: tally.summary(),
        timed_together: transport.timed_together(&order(1, None)),
        writes: tally.writes,
        writing_ns: tally.writing_ns,
        initiator_ns: tally.work_ns[0],
        target_ns: tally.work_ns[1],
    })
}
