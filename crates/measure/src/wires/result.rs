//! The result object of `garland wires`.

use garland_analysis::conditions::Conditions;
use garland_analysis::pairs::{
    Accusation, Effects, Matrix, OnRails, Tolerance, accuse, node_effects, over_rails, worse,
};
use serde::Serialize;

use super::measured::{FailedPair, Measured};
use super::naming::Named;
use super::survey::{DirectionRates, Rail, Survey};
use garland_results::head::{Head, NodeEnd, NodeVerdict};
use garland_results::tcp_account::TcpAccount;
use garland_results::wires_baseline::Baseline;

/// The result object `garland.wires/2`.
#[derive(Serialize)]
pub struct WiresResult {
    /// What every result begins with.
    #[serde(flatten)]
    pub head: Head,
    /// What was measured, and what it says.
    #[serde(flatten)]
    pub told: WiresFindings,
}

/// What was measured, and what it says.
#[derive(Serialize)]
pub struct WiresFindings {
    /// The nodes.
    pub nodes: Vec<NodeResult>,
    /// Every ordered pair.
    pub directions: Vec<DirectionResult>,
    /// Pairs that couldn't be measured.
    pub failed: Vec<FailedOnRail>,
    /// So many pairs at once.
    pub loads: Vec<LoadResult>,
    /// Over how many rails: NICs of every node.
    pub rails: usize,
    /// How many pairs were measured at once: as many as don't disturb each other, on any rail.
    pub at_once: usize,
    /// Rounds in which the pairs were measured.
    pub rounds: usize,
    /// Half of the nodes with the other half, by all rails and both ways at once: bytes per second
    /// in all.
    pub bisection: Option<f64>,
    /// What is at fault, the worst first.
    pub faults: Vec<Named>,
    /// What it was compared with.
    pub baseline: Option<BaselineResult>,
    /// How it was measured.
    #[serde(flatten)]
    pub measured: Measured,
}

/// A node.
#[derive(Serialize)]
pub struct NodeResult {
    /// Its name.
    pub name: String,
    /// How it ended.
    #[serde(flatten)]
    pub end: NodeEnd,
    /// Rate as a sender by its best NIC, as a share of the median node.
    pub sends: Option<f64>,
    /// Rate as a receiver by its best NIC, as a share of the median node.
    pub receives: Option<f64>,
    /// Its NICs, a rail each.
    pub nics: Vec<NicResult>,
}

/// A node's NIC.
#[derive(Serialize)]
pub struct NicResult {
    /// The rail that it is on.
    pub rail: usize,
    /// Rate as a sender, as a share of the rate of the node.
    pub sends: Option<f64>,
    /// Rate as a receiver, as a share of the rate of the node.
    pub receives: Option<f64>,
    /// Why it was left out.
    pub reason: Option<String>,
    /// What about it and its node may have an influence, as name and value.
    pub conditions: Conditions,
}

/// One way of a pair; rates in bytes per second.
#[derive(Serialize)]
pub struct DirectionResult {
    /// The rail.
    pub rail: usize,
    /// The sender.
    pub from: String,
    /// The receiver.
    pub to: String,
    /// One stream.
    pub rate: Option<f64>,
    /// One stream beside one the other way.
    pub two_way_rate: Option<f64>,
    /// Several streams together.
    pub streams_rate: Option<f64>,
    /// What neither node explains, as a factor: 1 is what both let expect.
    pub pair_effect: Option<f64>,
    /// Round trips of 8 bytes: the shortest, the median, the 99th percentile.
    pub round_trip_ns: Option<[u64; 3]>,
    /// The kernel's account of the one stream, of its sender.
    pub tcp: Option<TcpAccount>,
}

/// A pair that couldn't be measured on a rail.
#[derive(Serialize)]
pub struct FailedOnRail {
    /// The rail.
    pub rail: usize,
    /// The pair.
    #[serde(flatten)]
    pub pair: FailedPair,
}

/// So many pairs at once, one way each.
#[derive(Serialize)]
pub struct LoadResult {
    /// The rail.
    pub rail: usize,
    /// How many.
    pub pairs: usize,
    /// All of them together, in bytes per second.
    pub rate: f64,
    /// The slowest of them.
    pub lowest: f64,
    /// The middle one, the better of two.
    pub median: f64,
}

/// What it was compared with.
#[derive(Serialize)]
pub struct BaselineResult {
    /// The run.
    pub run: String,
    /// What pairs give of what they gave then, in the middle.
    pub share: f64,
}

/// What a survey says: who is at fault, and what came of the comparison.
pub fn judge(
    survey: &Survey<'_>,
    baseline: Option<&Baseline>,
    names: &[&str],
) -> (Vec<Named>, Option<BaselineResult>) {
    let mut named: Vec<Named> = Vec::new();
    let mut add = |found: Vec<OnRails>, by| {
        for found in found {
            let new = Named::new(&found, by, names, survey);
            // One that is slow is named once: as slow, then as late, then as slower than before.
            if !named.iter().any(|known| known.covers(&new)) {
                named.push(new);
            }
        }
    };
    let rates: Vec<Matrix> = survey.rails.iter().map(Rail::rates).collect();
    let trips: Vec<Matrix> = survey.rails.iter().map(Rail::round_trips).collect();
    add(accused(&rates, &Tolerance::RATES), "rate");
    add(accused(&trips, &Tolerance::LATENCIES), "latency");
    let compared = baseline.and_then(|baseline| {
        let both = rates.iter().zip(&baseline.rates);
        let relative: Vec<Matrix> = both.map(|(now, then)| now.relative_to(then)).collect();
        let shares = relative.iter().filter_map(Effects::of).map(|effects| effects.base);
        let shares: Vec<f64> = shares.collect();
        let share =
            (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)?;
        let fallen = relative.iter().map(|rail| worse(rail, &Tolerance::RATES)).collect::<Vec<_>>();
        add(over_rails(&fallen), "baseline");
        Some(BaselineResult { run: baseline.run.clone(), share: share.exp() })
    });
    (named, compared)
}

/// Who is at fault by the matrices of all rails.
fn accused(rails: &[Matrix], tolerance: &Tolerance) -> Vec<OnRails> {
    let of_rails: Vec<Vec<Accusation>> = rails.iter().map(|rail| accuse(rail, tolerance)).collect();
    over_rails(&of_rails)
}

/// The nodes, with what each does to the rates.
pub fn nodes(survey: &Survey<'_>, names: &[&str], never: &[bool]) -> Vec<NodeResult> {
    let rates: Vec<Matrix> = survey.rails.iter().map(Rail::rates).collect();
    let effects: Vec<Option<Effects>> = rates.iter().map(Effects::of).collect();
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

/// Every ordered pair that was measured, rail by rail.
pub fn directions(survey: &Survey<'_>, names: &[&str]) -> Vec<DirectionResult> {
    survey
        .rails
        .iter()
        .enumerate()
        .flat_map(|(rail, found)| directions_of(rail, found, names))
        .collect()
}

fn directions_of(rail: usize, found: &Rail, names: &[&str]) -> Vec<DirectionResult> {
    let effects = Effects::of(&found.rates());
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
            .get(&(from.min(to), from.max(to)))
            .map(|latency| [latency.min, latency.p50, latency.p99]),
        tcp: way.went.map(|went| TcpAccount::new(&went)),
    };
    found.directions.iter().map(one).collect()
}

/// Pairs at once.
pub fn loads(survey: &Survey<'_>) -> Vec<LoadResult> {
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

/// Pairs that failed though both nodes are there.
pub fn failed(survey: &Survey<'_>, names: &[&str]) -> Vec<FailedOnRail> {
    let there = |&(a, b): &(usize, usize)| survey.out[a].is_none() && survey.out[b].is_none();
    let of_rail = |(rail, found): (usize, &Rail)| -> Vec<FailedOnRail> {
        let failed = found.failed.iter().filter(|(pair, _)| there(pair));
        failed
            .map(|(&pair, reason)| FailedOnRail {
                rail,
                pair: FailedPair::new(pair, names, reason.clone()),
            })
            .collect()
    };
    survey.rails.iter().enumerate().flat_map(of_rail).collect()
}
