//! The head's side of the balance test: prepares test files and runs rounds.

use std::io;
use std::time::Duration;

use garland_protocol::{BalanceEvent, BalanceOrder, DiskCached, DiskPlace, NodeUse};
use garland_sys::signal::Interrupts;

use super::ask::ask;
use super::job::RoundJob;
use super::pair::PairOutcome;
use super::round::{self, BalanceRound};
use crate::agents::Agents;
use crate::copy::Agent;
use crate::probe::PairEnd;

/// The rate in bytes per second below which a disk is considered to hang.
const SLOWEST: u64 = 2_000_000;

/// Time allowed for an order, in addition to the time for its bytes at the rate `SLOWEST`.
const GRACE: Duration = Duration::from_secs(30);

/// The outcome of a round.
#[derive(Clone, Debug)]
pub struct RoundOutcome {
    /// The outcomes of the copies, in the job's order.
    pub errands: Vec<PairOutcome>,
    /// The resources that nodes used, each with the node's index in the list.
    pub uses: Vec<(usize, NodeUse)>,
    /// How the round ended.
    pub end: PairEnd,
}

/// The test file that was created on a node.
#[derive(Clone, Debug)]
pub struct PreparedFile {
    /// The disk on which the file is.
    pub place: DiskPlace,
    /// Conditions of the node which may affect the rate of copies, as names and values.
    pub conditions: Vec<(String, String)>,
}

/// Agents that copy files between each other.
pub struct Exchange {
    names: Vec<String>,
    agents: Agents,
}

impl Exchange {
    /// Creates an exchange of the nodes `names` with these agents; `None` for nodes that cannot be
    /// reached.
    #[must_use]
    pub fn new(names: Vec<String>, agents: Vec<Option<Agent>>) -> Self {
        Self { names, agents: Agents::new(agents) }
    }

    /// Returns whether a node's agent is dead or silent.
    #[must_use]
    pub fn is_gone(&self, node: usize) -> bool {
        self.agents.is_gone(node)
    }

    /// Creates a file of `size` bytes in the directory `path` on each of `nodes`. Returns the file
    /// or the error of each node; `None` if the user interrupts.
    ///
    /// # Errors
    /// When this host cannot wait for the agents.
    pub fn stock(
        &mut self,
        nodes: &[usize],
        path: &[u8],
        size: u64,
        interrupts: Option<&Interrupts>,
    ) -> io::Result<Option<Vec<Result<PreparedFile, String>>>> {
        let order = |_| BalanceOrder::Stock { path: path.to_vec(), size };
        ask(&mut self.agents, nodes, &order, patience(size), interrupts, &|event| match event {
            BalanceEvent::Stocked(place, conditions) => {
                Some(PreparedFile { place: *place, conditions })
            }
            _ => None,
        })
    }

    /// Runs all copies of `job` at the same time.
    ///
    /// # Errors
    /// When this host cannot wait for the agents.
    pub fn round(
        &mut self,
        job: &RoundJob,
        interrupts: Option<&Interrupts>,
    ) -> io::Result<RoundOutcome> {
        let mut nodes: Vec<usize> =
            job.errands.iter().flat_map(|errand| [errand.from, errand.to]).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let mut outcome = RoundOutcome {
            errands: vec![PairOutcome::default(); job.errands.len()],
            uses: Vec::new(),
            end: PairEnd::Done,
        };
        match self.prepare(job, &nodes, interrupts)? {
            Ok(cached) => {
                let mut round = BalanceRound::new(job, &self.names, self.agents.addresses());
                let patience = patience(job.layout.length);
                outcome.end = round::run(&mut self.agents, &mut round, patience, interrupts)?;
                outcome.errands = round.into_outcomes();
                for (pair, outcome) in job.errands.iter().zip(&mut outcome.errands) {
                    let at = nodes.iter().position(|&node| node == pair.from);
                    outcome.cached = at.and_then(|at| cached[at]);
                }
            }
            Err(end) => outcome.end = end,
        }
        if outcome.end == PairEnd::Done {
            let account = |_| BalanceOrder::Account;
            let answers =
                ask(&mut self.agents, &nodes, &account, GRACE, interrupts, &|event| match event {
                    BalanceEvent::Account(account) => Some(account),
                    _ => None,
                })?;
            let Some(answers) = answers else {
                outcome.end = PairEnd::Interrupted;
                return Ok(outcome);
            };
            // An agent may exit after its copies: the resources that its node used are then left
            // out.
            let answers = nodes.into_iter().zip(answers);
            outcome.uses =
                answers.filter_map(|(node, answers)| Some((node, answers.ok()?))).collect();
        }
        Ok(outcome)
    }

    /// Drops the files from the page cache, or reads them into the cache. Returns the cached part
    /// of each file, in the order of `nodes`, or the end of the round if there was an error.
    fn prepare(
        &mut self,
        job: &RoundJob,
        nodes: &[usize],
        interrupts: Option<&Interrupts>,
    ) -> io::Result<Result<Vec<Option<DiskCached>>, PairEnd>> {
        let order = |node| {
            let feeds = job.errands.iter().any(|errand| errand.from == node);
            BalanceOrder::Prepare {
                size: if feeds { job.layout.length } else { 0 },
                cold: job.cold,
            }
        };
        let answer = |event| match event {
            BalanceEvent::Prepared(cached) => Some(cached),
            _ => None,
        };
        let patience = patience(job.layout.length);
        let answers = ask(&mut self.agents, nodes, &order, patience, interrupts, &answer)?;
        let Some(answers) = answers else { return Ok(Err(PairEnd::Interrupted)) };
        let all: Result<Vec<_>, PairEnd> = nodes
            .iter()
            .zip(answers)
            .map(|(&node, answers)| answers.map_err(|reason| PairEnd::Failed(node, reason)))
            .collect();
        Ok(all)
    }
}

/// Returns the timeout for an order that reads or writes `size` bytes.
fn patience(size: u64) -> Duration {
    GRACE.saturating_add(Duration::from_secs(size / SLOWEST))
}
