//! The result object of `garland balance`: `garland.balance/2`.

use garland_results::head::{Head, Phases};
use garland_results::path::PathResult;
use garland_state::run::Run;
use garland_terminal::failure::Exit;
use serde::Serialize;

use super::point::{NodeResult, PointResult, VerdictResult};
use super::request::BalanceRequest;
use super::series::Findings;
use super::words;

/// The result object `garland.balance/2`.
#[derive(Serialize)]
pub struct BalanceResult {
    #[serde(flatten)]
    head: Head,
    /// The directory of the test files on each node.
    #[serde(flatten)]
    pub path: PathResult,
    /// The state of the page cache before each copy, as requested: `cold` or `warm`.
    pub cache: &'static str,
    /// Whether a copy had to be on stable storage to be done.
    fsync: bool,
    sealed: bool,
    /// The names of the two nodes of each pair that was measured.
    pub pairs: Vec<[String; 2]>,
    /// The result of every node, in the order of the node list.
    pub nodes: Vec<NodeResult>,
    /// The measured points: every file size with every number of remote copies.
    pub points: Vec<PointResult>,
    /// The verdicts, one for each file size.
    pub verdicts: Vec<VerdictResult>,
    /// The fraction of this machine's CPU time that was used during the measurement, from 0 to 1.
    pub cpu: f64,
    /// Notes on the state of the page cache, and on what may have distorted the figures.
    pub notes: Vec<String>,
    /// Whether the user interrupted the test.
    pub interrupted: bool,
}

impl BalanceResult {
    /// Creates the result from `found`, without notes; these are added later.
    pub fn new(
        run: &Run,
        phases: Phases,
        request: &BalanceRequest,
        found: &Findings,
        cpu: f64,
    ) -> Self {
        let points: Vec<PointResult> =
            found.points.iter().map(|point| PointResult::new(point, request, found)).collect();
        let name = |node: usize| found.names[node].clone();
        Self {
            head: Head::new("garland.balance/2", Some(run), phases),
            path: PathResult::new(&request.path),
            cache: if request.cold { "cold" } else { "warm" },
            fsync: request.fsync,
            sealed: request.sealed,
            pairs: found.pairs.iter().map(|pair| pair.map(name)).collect(),
            nodes: (0..found.names.len()).map(|node| NodeResult::new(found, node)).collect(),
            verdicts: words::verdicts(&points, found.pairs.len()),
            points,
            cpu,
            notes: Vec::new(),
            interrupted: found.interrupted,
        }
    }

    /// Returns the name of the run.
    pub fn run(&self) -> &str {
        self.head.run.as_deref().unwrap_or_default()
    }

    /// Returns the exit code of the command, which depends on failed nodes and on an interrupt.
    pub fn exit(&self) -> Exit {
        let any = !self.points.is_empty();
        let all = any && self.nodes.iter().all(|node| node.end.reason.is_none());
        Exit::of_work(all, any, self.interrupted)
    }
}
