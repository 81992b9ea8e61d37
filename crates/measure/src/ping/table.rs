//! The table of a pair, in the format of pgping, with percentiles and explanations.

use std::fmt;

use garland_protocol::measure::{PingKind, PingTransport, PingWait, TargetState};

use super::point::{PointResult, function, ways};
use super::request::PingRequest;
use super::result::PairResult;
use super::sweep::Sweep;

/// The table of one pair.
pub struct Table<'a> {
    /// The result of the pair.
    pub pair: &'a PairResult,
    /// The request of the command.
    pub request: &'a PingRequest,
    /// The index of the other node in the node list.
    pub place: usize,
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pair, request, place } = self;
        if *place > 1 {
            writeln!(f)?;
        }
        self.title(f)?;
        for point in &pair.points {
            self.line(f, point)?;
        }
        if let (Some(at), Some(reason)) = (&pair.at, &pair.reason) {
            writeln!(f, "failed  {at}: {reason}")?;
        }
        if pair.points.is_empty() {
            return Ok(());
        }
        self.explain(f)?;
        if let Some(sweep) = &pair.sweep {
            say_sweep(f, sweep, request)?;
        }
        pair.warnings.iter().try_for_each(|warning| writeln!(f, "beware  {warning}"))
    }
}

impl Table<'_> {
    fn title(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pair, request, .. } = self;
        let kind = request.task.points.first().map_or(PingKind::Get, |point| point.kind);
        let fabric = pair.fabric.as_ref();
        let means = match (request.task.means, kind, fabric) {
            (PingTransport::Tcp, PingKind::Msg, _) => "tcp".to_owned(),
            (PingTransport::Tcp, ..) => "tcp (emulated: the other CPU answers)".to_owned(),
            (PingTransport::Shm, PingKind::Msg, _) => "shared memory".to_owned(),
            (PingTransport::Shm, ..) => "shared memory (one-sided: loads and stores)".to_owned(),
            (PingTransport::Fabric, _, Some(way)) => way.to_string(),
            (PingTransport::Fabric, _, None) => "a fabric".to_owned(),
        };
        let waits = match (request.task.means, kind, request.task.wait) {
            (PingTransport::Shm, PingKind::Msg, _) => ", both poll",
            (PingTransport::Shm, ..) => "",
            (PingTransport::Fabric, _, PingWait::Block)
                if fabric.is_some_and(|way| !way.sleeps) =>
            {
                ", polling"
            }
            (_, _, PingWait::Block) => ", blocking",
            (_, _, PingWait::Poll) => ", polling",
        };
        let target = match (request.task.means, request.task.target) {
            (PingTransport::Shm, TargetState::Idle | TargetState::Asleep) => "",
            (PingTransport::Fabric, TargetState::Asleep)
                if fabric.is_some_and(|way| !way.target_sleeps) =>
            {
                ", target polls"
            }
            (_, TargetState::Idle) => ", target polls",
            (_, TargetState::Asleep) => ", target asleep",
            (_, TargetState::Busy) => ", target busy with other work",
        };
        let from = &pair.from;
        let to = &pair.to;
        writeln!(f, "{from} to {to}: {} over {means}{waits}{target}", function(kind))
    }

    fn line(&self, f: &mut fmt::Formatter<'_>, point: &PointResult) -> fmt::Result {
        let micros = point.each_ns / 1000.0;
        let rate = f64::from(point.size) / micros.max(1e-9);
        let divisor = ways(point.kind, point.depth);
        let us = |ns: u64| format!("{:.2}", ns as f64 / divisor / 1000.0);
        let s = &point.sojourn;
        write!(f, "{:3}: {:8} bytes {micros:9.2} uSec {rate:8.2} MB/s", self.place, point.size)?;
        if point.depth > 1 {
            write!(f, "   b {:<4}", point.depth)?;
            point.fell_short().map_or(Ok(()), |reached| write!(f, " ({reached:.1})"))?;
        }
        writeln!(f, "   p50 {} p99 {} p99.9 {} max {}", us(s.p50), us(s.p99), us(s.p999), us(s.max))
    }

    fn explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pair, .. } = self;
        let Some(first) = pair.points.first() else { return Ok(()) };
        let what = match (first.kind, first.depth) {
            (PingKind::Msg, 1) => "half of the round trip",
            (PingKind::Msg, _) => "a message and its reply, several in flight",
            (PingKind::Get, _) => "from the request until the bytes have arrived, a round trip",
            (PingKind::Put, _) => "until the write is acknowledged, a round trip",
        };
        writeln!(f, "times   {what}; all in uSec: the mean over time, then p50 to max")?;
        if let Some(rate) = first.rate {
            writeln!(f, "rate    {rate} per second: times begin at the scheduled start of each")?;
        }
        if let Some(deep) = pair.points.iter().rfind(|point| point.depth > 1) {
            say_depth(f, deep)?;
            say_batch(f, deep)?;
        }
        if first.timed_together > 1 {
            let together = first.timed_together;
            write!(
                f,
                "groups  {together} operations are timed together, since one is too short for the clock;"
            )?;
            writeln!(f, " bytes stay in this CPU's cache until the other node writes them")?;
        }
        let timer = pair.timer_ns.unwrap_or(0);
        writeln!(f, "timer   reading the clock takes {timer} ns, which is part of each time")
    }
}

/// Writes the number of operations in flight, and how long each one takes.
fn say_depth(f: &mut fmt::Formatter<'_>, deep: &PointResult) -> fmt::Result {
    let depth = deep.depth;
    let stay = deep.sojourn.p50 as f64 / 1000.0;
    match (deep.rate, deep.reached, deep.fell_short()) {
        (Some(_), Some(reached), _) => {
            write!(f, "depth   on average {reached:.1} of at most {depth} were in flight;")?;
            return writeln!(f, " each takes {stay:.2} uSec (p50)");
        }
        (_, None, _) => write!(f, "depth   with {depth} started, then all awaited,")?,
        (.., Some(reached)) => {
            write!(f, "depth   with {reached:.1} in flight on average, of at most {depth},")?;
        }
        _ => write!(f, "depth   with {depth} in flight")?,
    }
    let each = deep.each_ns / 1000.0;
    writeln!(f, " one completes every {each:.2} uSec, and each takes {stay:.2} (p50)")
}

/// Writes how much of the rate is due to batching. The estimate assumes that without batching, each
/// write would carry one operation and writes would be as frequent.
fn say_batch(f: &mut fmt::Formatter<'_>, deep: &PointResult) -> fmt::Result {
    if deep.writes == 0 {
        return Ok(());
    }
    let together = deep.count as f64 / deep.writes as f64;
    let every = deep.elapsed_ns as f64 / deep.writes as f64 / 1000.0;
    let share = (1.0 - 1.0 / together.max(1.0)) * 100.0;
    write!(f, "batch   {together:.1} operations in each write, a write every {every:.2} uSec: ")?;
    match deep.rate {
        // With a rate, the time between operations is not their duration.
        Some(_) => writeln!(f, "these share its cost"),
        None if together < 1.05 => writeln!(f, "none of this rate comes from batching"),
        None => writeln!(f, "{share:.0} % of this rate comes from batching, not from a fast wire"),
    }
}

fn say_sweep(f: &mut fmt::Formatter<'_>, sweep: &Sweep, request: &PingRequest) -> fmt::Result {
    let us = |ns: f64| ns / 1000.0;
    let l = us(sweep.latency_ns);
    let o = us(sweep.overhead_ns);
    let g = us(sweep.gap_ns);
    write!(f, "LogGP   L {l:.2} o {o:.2} g {g:.2} uSec")?;
    if let (Some(per_byte), Some(fit)) = (sweep.gap_per_byte_ns, sweep.fit) {
        write!(f, ", G {per_byte:.3} ns per byte (a linear fit explains {:.0} %)", fit * 100.0)?;
    }
    writeln!(f)?;
    if !sweep.jumps.is_empty() {
        let sizes: Vec<String> = sweep.jumps.iter().map(u32::to_string).collect();
        writeln!(
            f,
            "jumps   from {} bytes on, times follow another line: another protocol, or fuller packets",
            sizes.join(" and from ")
        )?;
    }
    let last = request.depths.and_then(|depths| request.task.points.get(depths - 1));
    let last = last.map_or(1, |point| point.depth);
    let from = sweep.initiator_busy * 100.0;
    let to = sweep.target_busy * 100.0;
    let beyond =
        if sweep.knee < last { "more do not raise the rate" } else { "more may raise the rate" };
    let wire = sweep.wire_used.map(|used| format!(", wire {:.0} %", used * 100.0));
    let wire = wire.unwrap_or_default();
    writeln!(
        f,
        "knee    {} in flight: {beyond}; bottleneck: {}; busy: sender {from:.0} %, target {to:.0} %{wire}",
        sweep.knee, sweep.bottleneck
    )
}
