//! The result object of `garland ping`: `garland.ping/2`.

use garland_analysis::conditions::{Conditions, nic_speed, value};
use garland_protocol::measure::{Finding, PingTransport, PingWait, TargetState};
use garland_results::head::{Head, NodeEnd, NodeVerdict, Phases};
use garland_state::run::Run;
use garland_terminal::failure::Exit;
use serde::Serialize;

use super::evidence;
use super::fabric::FabricResult;
use super::point::PointResult;
use super::request::PingRequest;
use super::sweep::{self, Sweep, Wire};

/// The result object `garland.ping/2`.
#[derive(Serialize)]
pub struct PingResult {
    #[serde(flatten)]
    head: Head,
    transport: &'static str,
    /// Whether the target's CPU serves gets and puts of any pair.
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

/// The result of one pair: the first node and one of the others.
#[derive(Clone, Debug, Serialize)]
pub struct PairResult {
    pub from: String,
    pub to: String,
    pub verdict: NodeVerdict,
    /// The name of the node that failed; none if the pair did not fail.
    pub at: Option<String>,
    /// Why the pair failed or was skipped; none if it was measured.
    pub reason: Option<String>,
    /// Nanoseconds that reading the clock takes; none if it was not measured.
    pub timer_ns: Option<u64>,
    pub points: Vec<PointResult>,
    pub sweep: Option<Sweep>,
    pub fabric: Option<FabricResult>,
    /// Conditions of the first node that may influence times, as names and values.
    pub from_conditions: Conditions,
    /// Conditions of the other node, as names and values.
    pub to_conditions: Conditions,
    pub warnings: Vec<String>,
    #[serde(skip)]
    requested: Vec<garland_protocol::measure::PingPoint>,
}

impl PairResult {
    /// Creates an empty result for the first node and node `to`, an index into `names`.
    pub fn new(names: &[String], to: usize, request: &PingRequest) -> Self {
        Self {
            from: names[0].clone(),
            to: names[to].clone(),
            verdict: NodeVerdict::Ok,
            at: None,
            reason: None,
            timer_ns: None,
            points: Vec::new(),
            sweep: None,
            fabric: None,
            from_conditions: Vec::new(),
            to_conditions: Vec::new(),
            warnings: Vec::new(),
            requested: request.task.points.clone(),
        }
    }

    /// Adds a finding of the first node if `is_first`, otherwise of the other node.
    pub fn found(&mut self, is_first: bool, finding: Finding) {
        match finding {
            Finding::Ping(took) => {
                if let Some(&point) = self.requested.get(took.point as usize) {
                    self.points.push(PointResult::new(&point, &took));
                    let timer = self.timer_ns.unwrap_or(0);
                    self.warnings.extend(evidence::warn_of_point(&point, &took, timer));
                }
            }
            Finding::Timer(ns) => self.timer_ns = Some(ns),
            Finding::Fabric(way) => self.fabric = Some(way.into()),
            Finding::Conditions(more) if is_first => self.from_conditions.extend(more),
            Finding::Conditions(more) => self.to_conditions.extend(more),
            // A ping has no streams.
            Finding::RxStats(_) | Finding::TxStats(_) => {}
        }
    }

    /// Marks the pair as failed at the node named `at`.
    pub fn fail(&mut self, at: &str, reason: &str) {
        self.verdict = NodeVerdict::Failed;
        self.at = Some(at.to_owned());
        self.reason = Some(reason.to_owned());
    }

    /// Marks the pair as skipped because the user interrupted.
    pub fn skip(&mut self) {
        self.verdict = NodeVerdict::Skipped;
        self.reason = Some("interrupted".to_owned());
    }

    /// Returns whether the target's CPU serves gets and puts with the transport `means`.
    pub fn is_emulated(&self, means: PingTransport) -> bool {
        match means {
            PingTransport::Tcp => true,
            PingTransport::Shm => false,
            PingTransport::Fabric => self.fabric.as_ref().is_some_and(FabricResult::is_emulated),
        }
    }

    /// Derives the sweep's parameters and the warnings, after the last finding.
    ///
    /// In a lab, the wire is the emulated wire; otherwise it is assumed to be as fast as the slower
    /// of both NICs.
    pub fn conclude(&mut self, request: &PingRequest, emulated: Option<Wire>) {
        let told = || {
            let one = nic_speed(&self.from_conditions)?;
            let other = nic_speed(&self.to_conditions)?;
            let mtu = value(&self.from_conditions, "path mtu").and_then(|mtu| mtu.parse().ok());
            Some(Wire { bits: one.min(other) as f64, mtu: mtu.unwrap_or(1500) })
        };
        // Shared memory has no wire.
        let wire = emulated.or_else(told).filter(|_| request.task.means != PingTransport::Shm);
        let served = self.is_emulated(request.task.means);
        self.sweep =
            request.depths.and_then(|depths| sweep::conclude(&self.points, depths, wire, served));
        self.warnings.extend(self.fabric.iter().flat_map(|way| way.warnings(&request.task)));
        let nodes = [(&self.from, &self.from_conditions), (&self.to, &self.to_conditions)];
        let nodes = nodes.map(|(name, conditions)| (name.as_str(), conditions));
        let warnings = evidence::warn_of(request, &nodes);
        self.warnings.extend(warnings);
    }
}

impl PingResult {
    /// Creates the result of all `pairs`.
    pub fn new(
        run: &Run,
        phases: Phases,
        request: &PingRequest,
        names: &[String],
        pairs: Vec<PairResult>,
        interrupted: bool,
    ) -> Self {
        let verdict = |name: &String| {
            let of = |pair: &&PairResult| pair.at.as_ref() == Some(name) || pair.to == *name;
            let failed = pairs.iter().filter(of).find(|pair| pair.verdict != NodeVerdict::Ok);
            let end = failed.map_or(NodeEnd::new(NodeVerdict::Ok, None), |pair| NodeEnd {
                verdict: pair.verdict,
                reason: pair.reason.clone(),
            });
            NodeResult { name: name.clone(), end }
        };
        Self {
            transport: match request.task.means {
                PingTransport::Tcp => "tcp",
                PingTransport::Shm => "shm",
                PingTransport::Fabric => "fabric",
            },
            emulated: pairs.iter().any(|pair| pair.is_emulated(request.task.means)),
            wait: match request.task.wait {
                PingWait::Block => "block",
                PingWait::Poll => "poll",
            },
            target: match request.task.target {
                TargetState::Idle => "idle",
                TargetState::Asleep => "asleep",
                TargetState::Busy => "busy",
            },
            nodes: names.iter().map(verdict).collect(),
            head: Head::new("garland.ping/2", Some(run), phases),
            pairs,
            interrupted,
        }
    }

    /// Returns the exit code of the command, which depends on failed pairs and on an interrupt.
    pub fn exit(&self) -> Exit {
        let ok = self.pairs.iter().filter(|pair| pair.verdict == NodeVerdict::Ok).count();
        let some = self.pairs.iter().any(|pair| !pair.points.is_empty());
        Exit::of_work(ok == self.pairs.len(), ok > 0 || some, self.interrupted)
    }
}
