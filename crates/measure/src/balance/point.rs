//! The points of a balance test: so many remote copies of one size, and what bound them.

use garland_analysis::balance::{self as analysis, Binding, Resource, Shares, Took};
use garland_analysis::conditions::Conditions;
use garland_protocol::{DiskCached, DiskPlace, NodeUse};
use serde::Serialize;

use super::ask::BalanceRequest;
use super::series::{Findings, Measured, Round};
use super::took;
use garland_results::head::{NodeEnd, NodeVerdict};
use garland_results::tcp_account::TcpAccount;

/// A forecast is for something so many times as fast.
const TWICE: f64 = 2.0;

/// A node.
#[derive(Serialize)]
pub struct NodeResult {
    /// Its name.
    pub name: String,
    /// `skipped` if its partner failed.
    #[serde(flatten)]
    pub end: NodeEnd,
    /// Where its file lay.
    pub place: Option<DiskPlace>,
    /// What about it may change what copies take, in names and words.
    pub conditions: Conditions,
}

/// So many remote copies of one size.
#[derive(Serialize)]
pub struct PointResult {
    /// The size as it was asked for.
    #[serde(skip)]
    pub text: String,
    /// Bytes of each copy.
    pub size: u64,
    /// Copies over the network.
    pub remote: usize,
    /// All copies' bytes by the time until all are done, in bytes per second: the median of rounds.
    pub rate: f64,
    /// What binds, in the round nearest to that.
    #[serde(flatten)]
    pub binding: Binding,
    /// The rate with disks twice as fast, as that round lets expect.
    pub disk_twice: f64,
    /// The rate with wires twice as fast.
    pub network_twice: f64,
    /// All rounds.
    pub rounds: Vec<RoundResult>,
}

/// One round.
#[derive(Serialize)]
pub struct RoundResult {
    /// From the second of each pair to the first.
    backwards: bool,
    /// Seconds until all copies were done.
    pub seconds: f64,
    /// All copies' bytes by that, in bytes per second.
    pub rate: f64,
    /// The copies.
    pub copies: Vec<CopyResult>,
    /// What the nodes did meanwhile.
    nodes: Vec<UseResult>,
}

/// What a node did in one round.
#[derive(Serialize)]
pub struct UseResult {
    node: String,
    #[serde(flatten)]
    used: NodeUse,
}

/// One copy.
#[derive(Serialize)]
pub struct CopyResult {
    /// Who had the file.
    pub from: String,
    /// Who got it.
    to: String,
    /// Seconds from the round's beginning until it was done.
    pub seconds: f64,
    /// Seconds in which the busier of its disks was in use, the network had its bytes, and the
    /// busiest of its threads was on a processor or waited for one.
    used: Shares,
    /// What of its file was in the page cache before.
    pub cached: Option<DiskCached>,
    /// The kernel's account of its lanes.
    pub lanes: Vec<TcpAccount>,
}

/// Where the balance lies for one size.
#[derive(Serialize)]
pub struct VerdictResult {
    /// Bytes of each copy.
    pub size: u64,
    /// Up to so many remote copies the network costs nothing, and beyond it binds; none where it
    /// never does, or nothing is known.
    pub balance: Option<usize>,
    /// In words.
    pub text: String,
    /// What disks and wires twice as fast would give, in words.
    pub upgrades: Vec<String>,
}

impl NodeResult {
    /// What became of the node at the place `node`.
    pub fn new(found: &Findings, node: usize) -> Self {
        let reason = found.troubles[node].clone();
        let stocked = found.stocked[node].as_ref();
        let partner = found.troubles.get(node ^ 1).is_some_and(Option::is_some);
        let is_paired = found.pairs.iter().flatten().any(|&paired| paired == node);
        Self {
            name: found.names[node].clone(),
            end: match partner && !is_paired && reason.is_none() {
                true => NodeEnd { verdict: NodeVerdict::Skipped, reason },
                false => NodeEnd::new(
                    if found.dead[node] { NodeVerdict::Dead } else { NodeVerdict::Failed },
                    reason,
                ),
            },
            place: stocked.map(|stocked| stocked.place.clone()),
            conditions: stocked.map(|stocked| stocked.conditions.clone()).unwrap_or_default(),
        }
    }
}

impl PointResult {
    /// What the rounds of `point` come to.
    pub fn new(point: &Measured, asked: &BalanceRequest, found: &Findings) -> Self {
        let (text, size) = asked.sizes[point.size].clone();
        let all: Vec<Vec<Took>> = point.rounds.iter().map(took::took).collect();
        let rounds = point.rounds.iter().zip(&all);
        let rounds: Vec<RoundResult> =
            rounds.map(|(round, took)| RoundResult::new(round, took, size, found)).collect();
        let (rate, middle) = median(&rounds);
        let seconds = rounds.get(middle).map_or(0.0, |round| round.seconds);
        let took = all.get(middle).map(Vec::as_slice).unwrap_or_default();
        // What the network's other traffic took in the other rounds is in their rates.
        let expect = |faster| rate * seconds / analysis::forecast(took, faster, TWICE).max(1e-9);
        Self {
            text,
            size,
            remote: point.remote,
            rate,
            binding: analysis::bind(took),
            disk_twice: expect(Resource::Disk),
            network_twice: expect(Resource::Network),
            rounds,
        }
    }
}

/// The median rate of `rounds`, and which of them is nearest to it.
fn median(rounds: &[RoundResult]) -> (f64, usize) {
    let mut order: Vec<usize> = (0..rounds.len()).collect();
    order.sort_by(|&one, &two| rounds[one].rate.total_cmp(&rounds[two].rate));
    let Some(&middle) = order.get(rounds.len() / 2) else { return (0.0, 0) };
    let rate = match rounds.len() % 2 {
        0 => f64::midpoint(rounds[order[rounds.len() / 2 - 1]].rate, rounds[middle].rate),
        _ => rounds[middle].rate,
    };
    (rate, middle)
}

impl RoundResult {
    fn new(round: &Round, took: &[Took], size: u64, found: &Findings) -> Self {
        let seconds = took.iter().map(|copy| copy.seconds).fold(0.0, f64::max);
        let copies = round.errands.iter().zip(&round.course.errands).zip(took);
        Self {
            backwards: round.backwards,
            seconds,
            rate: size as f64 * took.len() as f64 / seconds.max(1e-9),
            copies: copies
                .map(|((errand, course), took)| CopyResult {
                    from: found.names[errand.from].clone(),
                    to: found.names[errand.to].clone(),
                    seconds: took.seconds,
                    used: Shares { disk: took.disk, network: took.network, cpu: took.cpu },
                    cached: course.cached,
                    lanes: course.lanes.iter().map(TcpAccount::new).collect(),
                })
                .collect(),
            nodes: round
                .course
                .uses
                .iter()
                .map(|&(node, used)| UseResult { node: found.names[node].clone(), used })
                .collect(),
        }
    }
}
