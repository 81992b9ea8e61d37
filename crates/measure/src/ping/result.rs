//! The result object `garland.ping/1`.

use garland_analysis::conditions::{Conditions, value};
use garland_protocol::{
    Finding, PingKind, PingSample, PingTransport, PingWait, Summary, TargetState,
};
use serde::Serialize;

use super::ask::PingRequest;
use super::evidence;
use super::fabric::FabricResult;
use super::sweep::{self, Sweep, Wire};
use garland_results::head::{Head, NodeEnd, Phases};
use garland_results::run::Run;
use garland_terminal::failure::Exit;

/// Of the operations that were to be in flight, this share must have been.
const ENOUGH: f64 = 0.9;

/// All of it.
#[derive(Serialize)]
pub struct PingResult {
    #[serde(flatten)]
    head: Head,
    transport: &'static str,
    /// Whether the target's CPU serves gets and puts.
    emulated: bool,
    wait: &'static str,
    target: &'static str,
    nodes: Vec<NodeResult>,
    pairs: Vec<PairResult>,
    interrupted: bool,
}

#[derive(Serialize)]
struct NodeResult {
    name: String,
    #[serde(flatten)]
    end: NodeEnd,
}

/// The first node and one of the others.
#[derive(Clone, Debug, Serialize)]
pub struct PairResult {
    pub from: String,
    pub to: String,
    pub verdict: &'static str,
    /// The node that it failed at, and why.
    pub at: Option<String>,
    pub reason: Option<String>,
    /// Nanoseconds that reading the clock takes.
    pub timer_ns: Option<u64>,
    pub points: Vec<PointResult>,
    pub sweep: Option<Sweep>,
    pub fabric: Option<FabricResult>,
    /// Of both nodes, as name and value.
    pub from_conditions: Conditions,
    pub to_conditions: Conditions,
    pub warnings: Vec<String>,
    #[serde(skip)]
    asked: Vec<garland_protocol::PingPoint>,
}

/// One measurement.
#[derive(Clone, Debug, Serialize)]
pub struct PointResult {
    pub function: &'static str,
    #[serde(skip)]
    pub kind: PingKind,
    pub size: u32,
    /// How many were to be in flight, at most.
    #[serde(rename = "in_flight")]
    pub depth: u32,
    /// How many were, on average; none where the CPU alone knows: loads and stores, which are timed
    /// together.
    pub reached: Option<f64>,
    /// Operations per second, as asked for.
    pub rate: Option<u32>,
    pub count: u64,
    pub elapsed_ns: u64,
    /// Nanoseconds an operation; of a message half of its way there and back.
    pub each_ns: f64,
    pub sojourn: Sojourn,
    pub timed_together: u32,
    pub writes: u64,
    pub writing_ns: u64,
    pub initiator_ns: u64,
    pub target_ns: u64,
}

/// From an operation's beginning to its end, in nanoseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Sojourn {
    pub min: u64,
    pub mean: u64,
    pub p50: u64,
    pub p99: u64,
    pub p999: u64,
    pub max: u64,
    pub median_between: (u64, u64),
}

impl From<Summary> for Sojourn {
    fn from(summary: Summary) -> Self {
        let Summary { count: _, min, mean, p50, p99, p999, max, median_between } = summary;
        Self { min, mean, p50, p99, p999, max, median_between }
    }
}

impl PairResult {
    /// Nothing measured yet between the first node and that of place `to`.
    pub fn new(names: &[String], to: usize, asked: &PingRequest) -> Self {
        Self {
            from: names[0].clone(),
            to: names[to].clone(),
            verdict: "ok",
            at: None,
            reason: None,
            timer_ns: None,
            points: Vec::new(),
            sweep: None,
            fabric: None,
            from_conditions: Vec::new(),
            to_conditions: Vec::new(),
            warnings: Vec::new(),
            asked: asked.task.points.clone(),
        }
    }

    /// One of the two has found something out: the first node, or the other.
    pub fn found(&mut self, is_first: bool, finding: Finding) {
        match finding {
            Finding::Ping(took) => {
                if let Some(&point) = self.asked.get(took.point as usize) {
                    self.points.push(PointResult::new(&point, &took));
                    let timer = self.timer_ns.unwrap_or(0);
                    self.warnings.extend(evidence::warn_of_point(&point, &took, timer));
                }
            }
            Finding::Timer(ns) => self.timer_ns = Some(ns),
            Finding::Fabric(way) => self.fabric = Some(way.into()),
            Finding::Conditions(more) if is_first => self.from_conditions.extend(more),
            Finding::Conditions(more) => self.to_conditions.extend(more),
            // No stream was asked for.
            Finding::RxStats(_) | Finding::TxStats(_) => {}
        }
    }

    /// It went wrong at a node.
    pub fn fail(&mut self, at: &str, reason: &str) {
        self.verdict = "failed";
        self.at = Some(at.to_owned());
        self.reason = Some(reason.to_owned());
    }

    /// The user ended it before it was done.
    pub fn skip(&mut self) {
        self.verdict = "skipped";
        self.reason = Some("interrupted".to_owned());
    }

    /// Whether the target's CPU serves gets and puts.
    pub fn is_emulated(&self, means: PingTransport) -> bool {
        match means {
            PingTransport::Tcp => true,
            PingTransport::Shm => false,
            PingTransport::Fabric => self.fabric.as_ref().is_some_and(FabricResult::is_emulated),
        }
    }

    /// Nothing more will be found: what it comes to.
    ///
    /// The wire is the emulated one in a lab, else as fast as both NICs say.
    pub fn conclude(&mut self, asked: &PingRequest, emulated: Option<Wire>) {
        let told = || {
            let number = |conditions: &Conditions, name| value(conditions, name)?.parse().ok();
            let both = [&self.from_conditions, &self.to_conditions];
            let [one, other] = both.map(|conditions| number(conditions, "speed, bit/s"));
            let mtu: f64 = number(&self.from_conditions, "path mtu").unwrap_or(1500.0);
            Some(Wire { bits: f64::min(one?, other?), mtu: mtu as u16 })
        };
        // What goes through memory has no wire.
        let wire = emulated.or_else(told).filter(|_| asked.task.means != PingTransport::Shm);
        let served = self.is_emulated(asked.task.means);
        self.sweep =
            asked.depths.and_then(|depths| sweep::conclude(&self.points, depths, wire, served));
        self.warnings.extend(self.fabric.iter().flat_map(|way| way.warnings(&asked.task)));
        self.warnings.extend(evidence::warn_of(asked, self));
    }
}

impl PointResult {
    /// How many were in flight where that is less than was asked for. By a rate, nobody asks for more
    /// than that takes.
    pub fn fell_short(&self) -> Option<f64> {
        self.reached.filter(|&reached| {
            self.rate.is_none() && self.depth > 1 && reached < ENOUGH * f64::from(self.depth)
        })
    }

    fn new(point: &garland_protocol::PingPoint, took: &PingSample) -> Self {
        // There and back is twice one way.
        let ways = if point.kind == PingKind::Msg && point.depth == 1 { 2.0 } else { 1.0 };
        // By a rate, the time between operations says nothing of how long they take.
        let each_ns = match point.rate {
            Some(_) => took.sojourn.mean as f64 / if ways > 1.0 { ways } else { 1.0 },
            None => took.elapsed_ns as f64 / took.count.max(1) as f64 / ways,
        };
        Self {
            function: function(point.kind),
            kind: point.kind,
            size: point.size,
            depth: point.depth,
            reached: reached(took),
            rate: point.rate,
            count: took.count,
            elapsed_ns: took.elapsed_ns,
            each_ns,
            sojourn: took.sojourn.into(),
            timed_together: took.timed_together,
            writes: took.writes,
            writing_ns: took.writing_ns,
            initiator_ns: took.initiator_ns,
            target_ns: took.target_ns,
        }
    }
}

/// How many operations were in flight, on average: as long as all of them stayed, by the time in which
/// they did (Little's law).
fn reached(took: &PingSample) -> Option<f64> {
    let stayed = took.sojourn.mean as f64 * took.count as f64;
    (took.timed_together <= 1).then(|| stayed / took.elapsed_ns.max(1) as f64)
}

/// What an operation is called.
pub fn function(kind: PingKind) -> &'static str {
    match kind {
        PingKind::Get => "get",
        PingKind::Put => "put",
        PingKind::Msg => "msg",
    }
}

impl PingResult {
    /// The result of a command that ends now.
    pub fn new(
        run: &Run,
        phases: Phases,
        asked: &PingRequest,
        names: &[String],
        pairs: Vec<PairResult>,
        interrupted: bool,
    ) -> Self {
        let verdict = |name: &String| {
            let of = |pair: &&PairResult| pair.at.as_ref() == Some(name) || pair.to == *name;
            let failed = pairs.iter().filter(of).find(|pair| pair.verdict != "ok");
            let end = failed.map_or(NodeEnd::new("ok", None), |pair| NodeEnd {
                verdict: pair.verdict,
                reason: pair.reason.clone(),
            });
            NodeResult { name: name.clone(), end }
        };
        Self {
            transport: match asked.task.means {
                PingTransport::Tcp => "tcp",
                PingTransport::Shm => "shm",
                PingTransport::Fabric => "fabric",
            },
            emulated: pairs.iter().any(|pair| pair.is_emulated(asked.task.means)),
            wait: match asked.task.wait {
                PingWait::Block => "block",
                PingWait::Poll => "poll",
            },
            target: match asked.task.target {
                TargetState::Idle => "idle",
                TargetState::Asleep => "asleep",
                TargetState::Busy => "busy",
            },
            nodes: names.iter().map(verdict).collect(),
            head: Head::new("garland.ping/1", Some(run), phases),
            pairs,
            interrupted,
        }
    }

    /// The command's exit code.
    pub fn exit(&self) -> Exit {
        let ok = self.pairs.iter().filter(|pair| pair.verdict == "ok").count();
        let some = self.pairs.iter().any(|pair| !pair.points.is_empty());
        match (self.interrupted, ok) {
            (true, _) => Exit::Interrupted,
            (_, ok) if ok == self.pairs.len() => Exit::Done,
            (_, 0) if !some => Exit::Nothing,
            _ => Exit::SomeFailed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(depth: u32, rate: Option<u32>, timed_together: u32, mean: u64) -> PointResult {
        let kind = PingKind::Put;
        let asked =
            garland_protocol::PingPoint { kind, size: 8, depth, rate, count: None, time_ms: 1 };
        let took = PingSample {
            point: 0,
            count: 1000,
            elapsed_ns: 100_000,
            sojourn: Summary { count: 1000, mean, ..Summary::default() },
            timed_together,
            writes: 0,
            writing_ns: 0,
            initiator_ns: 0,
            target_ns: 0,
        };
        PointResult::new(&asked, &took)
    }

    #[test]
    fn how_many_were_in_flight_follows_from_how_long_they_stayed() {
        // One ends every 100 ns and stays for 400 ns: four are there at a time.
        assert_eq!(point(32, None, 1, 400).reached, Some(4.0));
        assert_eq!(point(32, None, 1, 400).fell_short(), Some(4.0));
        assert_eq!(point(4, None, 1, 390).fell_short(), None, "but for its beginning and its end");
        assert_eq!(point(64, Some(1000), 1, 400).fell_short(), None, "a rate asks for no depth");
        assert_eq!(point(32, None, 256, 400).reached, None, "stores are the CPU's affair");
    }
}
