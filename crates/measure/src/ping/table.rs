//! A pair's measurements as pgping's lines, with what it left out.

use std::fmt;

use garland_protocol::{PingKind, PingTransport, PingWait, TargetState};

use super::ask::PingRequest;
use super::point::{PointResult, function};
use super::result::PairResult;
use super::sweep::Sweep;

/// One pair's table.
pub struct Table<'a> {
    /// The pair.
    pub pair: &'a PairResult,
    /// What was asked for.
    pub asked: &'a PingRequest,
    /// The other node's place.
    pub place: usize,
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pair, asked, place } = self;
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
            say_sweep(f, sweep, asked)?;
        }
        pair.warnings.iter().try_for_each(|warning| writeln!(f, "beware  {warning}"))
    }
}

impl Table<'_> {
    fn title(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pair, asked, .. } = self;
        let kind = asked.task.points.first().map_or(PingKind::Get, |point| point.kind);
        let fabric = pair.fabric.as_ref();
        let means = match (asked.task.means, kind, fabric) {
            (PingTransport::Tcp, PingKind::Msg, _) => "tcp".to_owned(),
            (PingTransport::Tcp, ..) => "tcp (emulated: the other CPU serves it)".to_owned(),
            (PingTransport::Shm, PingKind::Msg, _) => "shared memory".to_owned(),
            (PingTransport::Shm, ..) => "shared memory (one-sided: loads and stores)".to_owned(),
            (PingTransport::Fabric, _, Some(way)) => way.to_string(),
            (PingTransport::Fabric, _, None) => "a fabric".to_owned(),
        };
        let waits = match (asked.task.means, kind, asked.task.wait) {
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
        let target = match (asked.task.means, asked.task.target) {
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
        let (from, to) = (&pair.from, &pair.to);
        writeln!(f, "{from} to {to}: {} over {means}{waits}{target}", function(kind))
    }

    fn line(&self, f: &mut fmt::Formatter<'_>, point: &PointResult) -> fmt::Result {
        let micros = point.each_ns / 1000.0;
        let rate = f64::from(point.size) / micros.max(1e-9);
        let half = self.halves(point);
        let us = |ns: u64| format!("{:.2}", ns as f64 / half / 1000.0);
        let s = &point.sojourn;
        write!(f, "{:3}: {:8} bytes {micros:9.2} uSec {rate:8.2} MB/s", self.place, point.size)?;
        if point.depth > 1 {
            write!(f, "   b {:<4}", point.depth)?;
            point.fell_short().map_or(Ok(()), |reached| write!(f, " ({reached:.1})"))?;
        }
        writeln!(f, "   p50 {} p99 {} p99.9 {} max {}", us(s.p50), us(s.p99), us(s.p999), us(s.max))
    }

    fn halves(&self, point: &PointResult) -> f64 {
        if point.kind == PingKind::Msg && point.depth == 1 { 2.0 } else { 1.0 }
    }

    fn explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pair, .. } = self;
        let Some(first) = pair.points.first() else { return Ok(()) };
        let what = match (first.kind, first.depth) {
            (PingKind::Msg, 1) => "half of the way there and back",
            (PingKind::Msg, _) => "a message there and one back, several in flight",
            (PingKind::Get, _) => "from asking until the bytes are here, the whole way and back",
            (PingKind::Put, _) => "until the bytes are certain to be there, with the answer's way",
        };
        writeln!(f, "times   {what}; uSec is their mean over time, p50 to max in uSec, too")?;
        if let Some(rate) = first.rate {
            let rule = "from when each was to begin; uSec is the mean of these";
            writeln!(f, "rate    {rate} a second: times are {rule}")?;
        }
        if let Some(deep) = pair.points.iter().rfind(|point| point.depth > 1) {
            say_depth(f, deep)?;
            say_batch(f, deep)?;
        }
        if first.timed_together > 1 {
            let together = first.timed_together;
            write!(
                f,
                "groups  {together} are timed at a time, since one is too short for the clock;"
            )?;
            writeln!(f, " what was fetched once lies in this CPU's cache until the other writes")?;
        }
        let timer = pair.timer_ns.unwrap_or(0);
        writeln!(f, "timer   reading the clock takes {timer} ns, which each time has in it once")
    }
}

/// How many were in flight, and what that gives.
fn say_depth(f: &mut fmt::Formatter<'_>, deep: &PointResult) -> fmt::Result {
    let (depth, stay) = (deep.depth, deep.sojourn.p50 as f64 / 1000.0);
    match (deep.rate, deep.reached, deep.fell_short()) {
        (Some(_), Some(reached), _) => {
            write!(f, "depth   up to {depth} may be in flight, and {reached:.1} were")?;
            return writeln!(f, " on average; one stays {stay:.2} uSec (p50)");
        }
        (_, None, _) => write!(f, "depth   of {depth} that are begun before all must be done")?,
        (.., Some(reached)) => {
            write!(f, "depth   with {reached:.1} in flight on average, of {depth} that may be,")?;
        }
        _ => write!(f, "depth   with {depth} in flight")?,
    }
    let each = deep.each_ns / 1000.0;
    writeln!(f, " one ends every {each:.2} uSec, and stays {stay:.2} (p50)")
}

/// How much of a rate comes from operations that go out together: one that went out by itself would
/// end about as often as a write of many does.
fn say_batch(f: &mut fmt::Formatter<'_>, deep: &PointResult) -> fmt::Result {
    if deep.writes == 0 {
        return Ok(());
    }
    let together = deep.count as f64 / deep.writes as f64;
    let every = deep.elapsed_ns as f64 / deep.writes as f64 / 1000.0;
    let share = (1.0 - 1.0 / together.max(1.0)) * 100.0;
    write!(f, "batch   {together:.1} went out in one write, a write every {every:.2} uSec: ")?;
    match deep.rate {
        // By a rate, the time between operations isn't what they take.
        Some(_) => writeln!(f, "those together share its costs"),
        None if together < 1.05 => writeln!(f, "none of this rate is batching"),
        None => writeln!(f, "{share:.0} % of this rate is batching, not a fast wire"),
    }
}

fn say_sweep(f: &mut fmt::Formatter<'_>, sweep: &Sweep, asked: &PingRequest) -> fmt::Result {
    let us = |ns: f64| ns / 1000.0;
    let (l, o, g) = (us(sweep.latency_ns), us(sweep.overhead_ns), us(sweep.gap_ns));
    write!(f, "LogGP   L {l:.2} o {o:.2} g {g:.2} uSec")?;
    if let (Some(per_byte), Some(fit)) = (sweep.gap_per_byte_ns, sweep.fit) {
        write!(f, ", G {per_byte:.3} ns a byte (a line explains {:.0} %)", fit * 100.0)?;
    }
    writeln!(f)?;
    if !sweep.jumps.is_empty() {
        let sizes: Vec<String> = sweep.jumps.iter().map(u32::to_string).collect();
        writeln!(
            f,
            "jumps   from {} bytes on times follow another line: another protocol, or fuller packets",
            sizes.join(" and from ")
        )?;
    }
    let last = asked.depths.and_then(|depths| asked.task.points.get(depths - 1));
    let last = last.map_or(1, |point| point.depth);
    let (from, to) = (sweep.initiator_busy * 100.0, sweep.target_busy * 100.0);
    let beyond =
        if sweep.knee < last { "more in flight buys nothing" } else { "more may buy more" };
    let wire = sweep.wire_used.map(|used| format!(", wire {:.0} %", used * 100.0));
    let wire = wire.unwrap_or_default();
    writeln!(
        f,
        "knee    {} in flight: {beyond}; bottleneck: {}; at work: sender {from:.0} %, target {to:.0} %{wire}",
        sweep.knee, sweep.bottleneck
    )
}
