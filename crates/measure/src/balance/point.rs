//! The points of a balance test: a number of remote copies of one size, and their bottleneck.

use garland_analysis::balance::{self as analysis, Binding, Resource, Shares, Took};
use garland_analysis::conditions::Conditions;
use garland_protocol::measure::{DiskCached, DiskPlace, NodeUse};
use garland_results::head::{NodeEnd, NodeVerdict};
use garland_results::tcp_account::TcpAccount;
use serde::Serialize;

use super::request::BalanceRequest;
use super::series::{Findings, Measured, Round};
use super::took;

/// The speed-up of disks or wires for which forecasts are made.
const TWICE: f64 = 2.0;

/// The result of a balance test for one node.
#[derive(Serialize)]
pub struct NodeResult {
    /// The node's name.
    pub name: String,
    /// The verdict; `skipped` if the node's partner failed.
    #[serde(flatten)]
    pub end: NodeEnd,
    /// The file system and the device of the node's test file; none if the node wrote none.
    pub place: Option<DiskPlace>,
    /// Conditions of the node that may influence rates, as names and values.
    pub conditions: Conditions,
}

/// The measurement of one file size with one number of remote copies.
#[derive(Serialize)]
pub struct PointResult {
    /// The file size, as the user wrote it.
    #[serde(skip)]
    pub text: String,
    /// The size of the copied files in bytes.
    pub size: u64,
    /// The number of copies over the network; the others are local.
    pub remote: usize,
    /// The median over the rounds of the total rate: the bytes of all copies, divided by the time
    /// until the last copy was done, in bytes per second.
    pub rate: f64,
    /// The bottleneck in the round whose rate is nearest to the median.
    #[serde(flatten)]
    pub binding: Binding,
    /// The forecast of `rate` with disks twice as fast, derived from the round nearest to the
    /// median.
    pub disk_twice: f64,
    /// The forecast of `rate` with wires twice as fast, derived from the same round.
    pub network_twice: f64,
    /// The completed rounds, in order.
    pub rounds: Vec<RoundResult>,
}

/// The result of one round: all pairs copied once.
#[derive(Serialize)]
pub struct RoundResult {
    /// Whether the copies go from the second node of each pair to the first.
    backwards: bool,
    /// Seconds from the start of the round until the last copy was done.
    pub seconds: f64,
    /// Bytes of all copies divided by `seconds`, in bytes per second.
    pub rate: f64,
    /// The copies, one for each pair.
    pub copies: Vec<CopyResult>,
    /// The use of each node's disk and CPUs during the round.
    nodes: Vec<UseResult>,
}

/// The use of a node's disk and CPUs in one round.
#[derive(Serialize)]
pub struct UseResult {
    node: String,
    #[serde(flatten)]
    used: NodeUse,
}

/// The result of one copy.
#[derive(Serialize)]
pub struct CopyResult {
    /// The node that reads the file.
    pub from: String,
    /// The node that writes the copy; equal to `from` for a local copy.
    to: String,
    /// Seconds from the start of the round until the copy was done.
    pub seconds: f64,
    /// The seconds in which each resource was in use: the busier disk of the two nodes, the
    /// network, and the busiest thread (running, or waiting for a CPU).
    used: Shares,
    /// The part of the file that was in the page cache before the copy; none if unknown.
    pub cached: Option<DiskCached>,
    /// The kernel's statistics of the copy's connections at their end; empty over MPTCP.
    pub lanes: Vec<TcpAccount>,
}

/// The verdict on one file size: up to which number of remote copies the disks are the bottleneck.
#[derive(Serialize)]
pub struct VerdictResult {
    /// The size of the copied files in bytes.
    pub size: u64,
    /// The number of remote copies up to which the bottleneck is not the network; none if it never
    /// is the network, or if nothing is known.
    pub balance: Option<usize>,
    /// The verdict in words.
    pub text: String,
    /// The forecasts for disks and for wires twice as fast, in words.
    pub upgrades: Vec<String>,
}

impl NodeResult {
    /// Returns the result of the node with index `node` from the findings `found`.
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
    /// Returns the result of the measured `point`, with names and sizes from `request` and `found`.
    pub fn new(point: &Measured, request: &BalanceRequest, found: &Findings) -> Self {
        let (text, size) = request.sizes[point.size].clone();
        let all: Vec<Vec<Took>> = point.rounds.iter().map(took::took).collect();
        let rounds = point.rounds.iter().zip(&all);
        let rounds: Vec<RoundResult> =
            rounds.map(|(round, took)| RoundResult::new(round, took, size, found)).collect();
        let (rate, middle) = median(&rounds);
        let seconds = rounds.get(middle).map_or(0.0, |round| round.seconds);
        let took = all.get(middle).map(Vec::as_slice).unwrap_or_default();
        // Other traffic in the other rounds is part of their rates.
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

/// Returns the median rate of `rounds`, and the index of the round nearest to it.
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
