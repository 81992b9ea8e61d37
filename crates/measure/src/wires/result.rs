//! The result object of `garland wires`: `garland.wires/2`.

use garland_analysis::conditions::Conditions;
use garland_analysis::pairs::{
    Accusation, Component, Effects, MatchUp, Matrix, OnRails, Tolerance, accuse, node_effects,
    over_rails, worse,
};
use garland_protocol::operation::wires::{DirectionRates, Rail, Survey};
use garland_results::head::{Head, NodeEnd, NodeVerdict};
use garland_results::tcp_account::TcpAccount;
use garland_results::wires_baseline::Baseline;
use serde::Serialize;

use super::measured::{FailedPair, Measured};
use super::naming::{self, Measure, Named};

/// The result object `garland.wires/2`.
#[derive(Serialize)]
pub struct WiresResult {
    /// The fields that all results have.
    #[serde(flatten)]
    pub head: Head,
    /// The measurements and the faults.
    #[serde(flatten)]
    pub findings: WiresFindings,
}

/// The measurements, and the faults that follow from them.
#[derive(Serialize)]
pub struct WiresFindings {
    /// The nodes, in the order of the node list.
    pub nodes: Vec<NodeResult>,
    /// Every ordered pair of nodes that was measured, rail by rail.
    pub directions: Vec<DirectionResult>,
    /// The pairs that could not be measured although neither node is excluded, with the rail.
    pub failed: Vec<FailedOnRail>,
    /// The rates with growing numbers of pairs at once, rail by rail.
    pub loads: Vec<LoadResult>,
    /// The number of rails, which is the number of measured NICs of each node.
    pub rails: usize,
    /// The number of pairs measured at the same time: the largest one at which pairs do not slow
    /// each other down on any rail.
    pub at_once: usize,
    /// The number of rounds that were measured, on all rails together.
    pub rounds: usize,
    /// The sum of the rates between the first half of the nodes and the other half, over all rails
    /// at once and in both directions, in bytes per second; none if it was not measured.
    pub bisection: Option<f64>,
    /// The faults, the most severe first.
    pub faults: Vec<Named>,
    /// The comparison with an earlier run; none without a baseline.
    pub baseline: Option<BaselineResult>,
    /// The circumstances of the measurement.
    #[serde(flatten)]
    pub measured: Measured,
}

/// The result of one node.
#[derive(Serialize)]
pub struct NodeResult {
    /// The node's name.
    pub name: String,
    /// The node's verdict; not ok if the node was excluded from all rails.
    #[serde(flatten)]
    pub end: NodeEnd,
    /// The rate of the node's best NIC as a sender, relative to the median node; none if
    /// unmeasured.
    pub sends: Option<f64>,
    /// The rate of the node's best NIC as a receiver, relative to the median node; none if
    /// unmeasured.
    pub receives: Option<f64>,
    /// The node's NICs, one for each rail.
    pub nics: Vec<NicResult>,
}

/// The result of one NIC of a node.
#[derive(Serialize)]
pub struct NicResult {
    /// The index of the NIC's rail.
    pub rail: usize,
    /// The rate as a sender, relative to the node's best NIC; none if it was not measured.
    pub sends: Option<f64>,
    /// The rate as a receiver, relative to the node's best NIC; none if it was not measured.
    pub receives: Option<f64>,
    /// Why the NIC was excluded; none if it was not.
    pub reason: Option<String>,
    /// Conditions of the NIC and of its node that may influence rates, as names and values.
    pub conditions: Conditions,
}

/// One direction of a pair on one rail. Rates are in bytes per second, and none if not measured.
#[derive(Serialize)]
pub struct DirectionResult {
    /// The index of the rail.
    pub rail: usize,
    /// The name of the sending node.
    pub from: String,
    /// The name of the receiving node.
    pub to: String,
    /// The rate of one stream alone.
    pub rate: Option<f64>,
    /// The rate of one stream while another one runs in the opposite direction.
    pub two_way_rate: Option<f64>,
    /// The total rate of several streams; measured in one direction of each pair only.
    pub streams_rate: Option<f64>,
    /// The ratio of the measured rate to the one expected from the rates of both nodes with other
    /// partners; 1 if the pair is as fast as expected.
    pub pair_effect: Option<f64>,
    /// The shortest, the median and the 99th percentile of round trips with 8 bytes, in
    /// nanoseconds.
    pub round_trip_ns: Option<[u64; 3]>,
    /// The fraction of the segments of all single streams that were sent again; none if unknown.
    pub lost: Option<f64>,
    /// The statistics of the single stream from the sender's kernel.
    pub tcp: Option<TcpAccount>,
}

/// A pair that could not be measured, and the rail of the attempt.
#[derive(Serialize)]
pub struct FailedOnRail {
    /// The index of the rail.
    pub rail: usize,
    /// The pair, and why it failed.
    #[serde(flatten)]
    pub pair: FailedPair,
}

/// The rates of a number of pairs at once, with one stream each, in bytes per second.
#[derive(Serialize)]
pub struct LoadResult {
    /// The index of the rail.
    pub rail: usize,
    /// The number of pairs measured at once.
    pub pairs: usize,
    /// The sum of the rates of all pairs.
    pub rate: f64,
    /// The rate of the slowest pair.
    pub lowest: f64,
    /// The median of the pairs' rates; the higher of the two middle ones if their number is even.
    pub median: f64,
}

/// The comparison with an earlier run.
#[derive(Serialize)]
pub struct BaselineResult {
    /// The name of the earlier run.
    pub run: String,
    /// The geometric mean of the ratios of the present rates to the earlier ones.
    pub share: f64,
}

/// Returns the faults that a survey shows, and its comparison with the baseline if there is one.
pub fn judge(
    survey: &Survey,
    baseline: Option<&Baseline>,
    names: &[&str],
) -> (Vec<Named>, Option<BaselineResult>) {
    let rails = |of: fn(&Rail) -> Matrix| survey.rails.iter().map(of).collect::<Vec<Matrix>>();
    let rates = rails(Rail::rates);
    let losses = rails(Rail::losses);
    let trips = rails(Rail::round_trips);
    let mut all: Vec<Named> = Vec::new();
    let mut add = |mut found: Vec<OnRails>, by| {
        found.retain(|found| !is_of_a_dead_node(found, survey));
        all.extend(found.iter().map(|found| Named::new(found, by, names, survey)));
    };
    // Loss comes first: what loses segments is slow, and more so with some partners than with
    // others.
    add(accused(&losses, &Tolerance::LOSSES), Measure::Loss);
    add(accused(&rates, &Tolerance::RATES), Measure::Rate);
    add(accused(&trips, &Tolerance::LATENCIES), Measure::Latency);
    let compared = baseline.and_then(|baseline| {
        let both = rates.iter().zip(&baseline.rates);
        let relative: Vec<Matrix> = both.map(|(now, then)| now.relative_to(then)).collect();
        let shares = relative.iter().filter_map(Effects::fit).map(|effects| effects.base);
        let shares: Vec<f64> = shares.collect();
        let share =
            (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)?;
        let fallen = relative.iter().map(|rail| worse(rail, &Tolerance::RATES)).collect::<Vec<_>>();
        add(over_rails(&fallen), Measure::Baseline);
        Some(BaselineResult { run: baseline.run.clone(), share: share.exp() })
    });
    (naming::once(all, names.len()), compared)
}

/// Returns whether a fault is that of one pair, of which a node died or stood still: it may have
/// done so while the pair was measured, and there is no other evidence of a pair.
fn is_of_a_dead_node(found: &OnRails, survey: &Survey) -> bool {
    match &found.accusation.part {
        Component::Pair(one, other) | Component::OneWay(one, other) => {
            survey.out[*one].is_some() || survey.out[*other].is_some()
        }
        _ => false,
    }
}

/// Returns the faults that the matrices of the rails show; parts that are faulty on all rails
/// appear once.
fn accused(rails: &[Matrix], tolerance: &Tolerance) -> Vec<OnRails> {
    let of_rails: Vec<Vec<Accusation>> = rails.iter().map(|rail| accuse(rail, tolerance)).collect();
    over_rails(&of_rails)
}

/// Returns the results of all nodes. For each node, `never` says whether it never had an agent.
pub fn nodes(survey: &Survey, names: &[&str], never: &[bool]) -> Vec<NodeResult> {
    let rates: Vec<Matrix> = survey.rails.iter().map(Rail::rates).collect();
    let effects: Vec<Option<Effects>> = rates.iter().map(Effects::fit).collect();
    let node = |(at, name): (usize, &&str)| {
        let sends = node_effects(&effects, |fit, rail| {
            rates[rail].measured().any(|cell| cell.0 == at).then(|| fit.send[at])
        });
        let receives = node_effects(&effects, |fit, rail| {
            rates[rail].measured().any(|cell| cell.1 == at).then(|| fit.receive[at])
        });
        let nic = |rail: usize| NicResult {
            rail,
            sends: sends.as_ref().and_then(|parted| parted.nics[rail]).map(f64::exp),
            receives: receives.as_ref().and_then(|parted| parted.nics[rail]).map(f64::exp),
            reason: survey.rails[rail].out[at].clone(),
            conditions: survey.conditions.get(&(rail, at)).cloned().unwrap_or_default(),
        };
        NodeResult {
            name: (*name).to_owned(),
            end: NodeEnd::new(
                if never[at] { NodeVerdict::Failed } else { NodeVerdict::Dead },
                survey.out[at].clone(),
            ),
            nics: (0..survey.rails.len()).map(nic).collect(),
            sends: sends.map(|parted| parted.node.exp()),
            receives: receives.map(|parted| parted.node.exp()),
        }
    };
    names.iter().enumerate().map(node).collect()
}

/// Returns the results of all ordered pairs that were measured, rail by rail.
pub fn directions(survey: &Survey, names: &[&str]) -> Vec<DirectionResult> {
    survey
        .rails
        .iter()
        .enumerate()
        .flat_map(|(rail, found)| directions_of(rail, found, names))
        .collect()
}

fn directions_of(rail: usize, found: &Rail, names: &[&str]) -> Vec<DirectionResult> {
    let effects = Effects::fit(&found.rates());
    let one = |(&(from, to), way): (&(usize, usize), &DirectionRates)| DirectionResult {
        rail,
        from: names[from].to_owned(),
        to: names[to].to_owned(),
        rate: way.one,
        two_way_rate: way.two_way,
        streams_rate: way.many,
        pair_effect: way
            .one
            .filter(|&rate| rate > 0.0)
            .and_then(|rate| Some(effects.as_ref()?.rest(from, to, rate).exp())),
        round_trip_ns: found
            .latencies
            .get(&MatchUp::new(from, to).sorted())
            .map(|latency| [latency.min, latency.p50, latency.p99]),
        lost: Some(way.sent()).filter(|sent| sent.0 > 0.0).map(|sent| sent.1 / sent.0),
        tcp: way.went.map(|went| TcpAccount::new(&went)),
    };
    found.directions.iter().map(one).collect()
}

/// Returns the rates for each number of pairs at once, rail by rail.
pub fn loads(survey: &Survey) -> Vec<LoadResult> {
    let all = survey.rails.iter().enumerate();
    let all = all.flat_map(|(rail, found)| found.loads.iter().map(move |load| (rail, load)));
    all.filter(|(_, load)| !load.rates.is_empty())
        .map(|(rail, load)| LoadResult {
            rail,
            pairs: load.pairs,
            rate: load.rates.iter().sum(),
            lowest: load.rates.first().copied().unwrap_or(0.0),
            median: load.rates.get(load.rates.len() / 2).copied().unwrap_or(0.0),
        })
        .collect()
}

/// Returns the pairs that failed although neither node is excluded, rail by rail.
pub fn failed(survey: &Survey, names: &[&str]) -> Vec<FailedOnRail> {
    let is_there = |pair: MatchUp| pair.nodes().iter().all(|node| survey.out[*node].is_none());
    let of_rail = |(rail, found): (usize, &Rail)| -> Vec<FailedOnRail> {
        let failed = found.failed.iter().filter(|(pair, _)| is_there(**pair));
        failed
            .map(|(&pair, reason)| FailedOnRail {
                rail,
                pair: FailedPair::new(pair, names, reason.clone()),
            })
            .collect()
    };
    survey.rails.iter().enumerate().flat_map(of_rail).collect()
}
