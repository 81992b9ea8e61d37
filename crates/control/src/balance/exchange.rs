//! The head's side of the balance test: who copies to whom, round by round.

use std::io;
use std::time::Duration;

use garland_core::plan::Layout;
use garland_protocol::{BalanceEvent, BalanceOrder, DiskCached, DiskPlace, NodeAddress, NodeUse};
use garland_sys::clock;
use garland_sys::mptcp::Transport;
use garland_sys::signal::Interrupts;

use super::ask::place;
use crate::agent_set::AgentSet;
use crate::balance::pair::PairOutcome;
use crate::balance::round::{self, BalanceRound, RoundEnd};
use crate::copy::Agent;

/// A disk that moves fewer bytes a second than this hangs.
const SLOWEST: u64 = 2_000_000;

/// What anything may take beside its bytes.
const GRACE: Duration = Duration::from_secs(30);

/// A copy from one node's disk to another's, or to the same; nodes by their places in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyPair {
    /// Who has the file.
    pub from: usize,
    /// Who gets it.
    pub to: usize,
}

impl CopyPair {
    /// Whether it goes over the network.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        self.from != self.to
    }
}

/// Copies that are made at once.
#[derive(Clone, Debug)]
pub struct RoundJob {
    /// Who copies to whom. No node has two files to copy, or gets two.
    pub errands: Vec<CopyPair>,
    /// How many bytes each copy has, and how they are cut.
    pub layout: Layout,
    /// Whether none of the files' bytes are in the page cache at the beginning; else all are.
    pub cold: bool,
    /// The folder, in the system's bytes.
    pub path: Vec<u8>,
    /// Whether a copy is done only when it is on stable storage.
    pub fsync: bool,
    /// Whether blocks are sealed.
    pub sealed: bool,
    /// Congestion controls to ask for, best first.
    pub congestion: Vec<String>,
    /// What remote copies' links speak.
    pub transport: Transport,
}

/// How a round went.
#[derive(Clone, Debug)]
pub struct RoundOutcome {
    /// The copies, in the job's order.
    pub errands: Vec<PairOutcome>,
    /// What the nodes did meanwhile, by their places in the list.
    pub uses: Vec<(usize, NodeUse)>,
    /// How it ended.
    pub end: RoundEnd,
}

/// A node that has its file.
#[derive(Clone, Debug)]
pub struct PreparedFile {
    /// Where that lies.
    pub place: DiskPlace,
    /// What about the node may change what copies take, in names and words.
    pub conditions: Vec<(String, String)>,
}

/// Agents that copy among each other.
pub struct Exchange {
    pub(super) names: Vec<String>,
    pub(super) board: AgentSet,
    pub(super) addresses: Vec<NodeAddress>,
    /// When each said something last.
    pub(super) heard_ns: Vec<u64>,
}

impl Exchange {
    /// The agents of the nodes `names`; those that can't be reached are empty places.
    #[must_use]
    pub fn new(names: Vec<String>, agents: Vec<Option<Agent>>) -> Self {
        let addresses: Vec<NodeAddress> = agents
            .iter()
            .map(|agent| agent.as_ref().map_or_else(Vec::new, |agent| agent.addresses.clone()))
            .collect();
        let heard_ns = vec![clock::now_ns(); addresses.len()];
        let connections = agents.into_iter().map(|agent| agent.map(|agent| agent.connection));
        Self { names, board: AgentSet::new(connections), addresses, heard_ns }
    }

    /// Whether a node's agent has died, or hangs.
    #[must_use]
    pub fn is_gone(&self, node: usize) -> bool {
        !self.board.has(place(node)) || self.is_silent(node)
    }

    /// Has each of `nodes` make its file of `size` bytes in the folder `path`: where that lies and
    /// what about the node matters, or why it can't be. Nothing if the user gave up.
    ///
    /// # Errors
    /// When this host can't wait for them.
    pub fn stock(
        &mut self,
        nodes: &[usize],
        path: &[u8],
        size: u64,
        interrupts: Option<&Interrupts>,
    ) -> io::Result<Option<Vec<Result<PreparedFile, String>>>> {
        let order = |_| BalanceOrder::Stock { path: path.to_vec(), size };
        self.ask(nodes, &order, patience(size), interrupts, &|event| match event {
            BalanceEvent::Stocked(place, conditions) => {
                Some(PreparedFile { place: *place, conditions })
            }
            _ => None,
        })
    }

    /// Makes all copies of `job` at once.
    ///
    /// # Errors
    /// When this host can't wait for them.
    pub fn round(
        &mut self,
        job: &RoundJob,
        interrupts: Option<&Interrupts>,
    ) -> io::Result<RoundOutcome> {
        let mut nodes: Vec<usize> =
            job.errands.iter().flat_map(|errand| [errand.from, errand.to]).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let mut course = RoundOutcome {
            errands: vec![PairOutcome::default(); job.errands.len()],
            uses: Vec::new(),
            end: RoundEnd::Done,
        };
        match self.prepare(job, &nodes, interrupts)? {
            Ok(cached) => {
                let mut bout = BalanceRound::new(job, &self.names, &self.addresses);
                course.end = self.hold(&mut bout, interrupts)?;
                course.errands = bout.into_courses();
                for (errand, course) in job.errands.iter().zip(&mut course.errands) {
                    let at = nodes.iter().position(|&node| node == errand.from);
                    course.cached = at.and_then(|at| cached[at]);
                }
            }
            Err(end) => course.end = end,
        }
        if course.end == RoundEnd::Done {
            let account = |_| BalanceOrder::Account;
            let told = self.ask(&nodes, &account, GRACE, interrupts, &|event| match event {
                BalanceEvent::Account(account) => Some(account),
                _ => None,
            })?;
            let Some(told) = told else {
                course.end = RoundEnd::Interrupted;
                return Ok(course);
            };
            // One that is gone by now has copied before.
            let told = nodes.into_iter().zip(told);
            course.uses = told.filter_map(|(node, told)| Some((node, told.ok()?))).collect();
        }
        Ok(course)
    }

    /// Empties or fills the caches; what is in them, by `nodes`, or how the round ends already.
    fn prepare(
        &mut self,
        job: &RoundJob,
        nodes: &[usize],
        interrupts: Option<&Interrupts>,
    ) -> io::Result<Result<Vec<Option<DiskCached>>, RoundEnd>> {
        let order = |node| {
            let feeds = job.errands.iter().any(|errand| errand.from == node);
            BalanceOrder::Prepare {
                size: if feeds { job.layout.length } else { 0 },
                cold: job.cold,
            }
        };
        let told =
            self.ask(
                nodes,
                &order,
                patience(job.layout.length),
                interrupts,
                &|event| match event {
                    BalanceEvent::Prepared(cached) => Some(cached),
                    _ => None,
                },
            )?;
        let Some(told) = told else { return Ok(Err(RoundEnd::Interrupted)) };
        let all: Result<Vec<_>, RoundEnd> = nodes
            .iter()
            .zip(told)
            .map(|(&node, told)| told.map_err(|reason| RoundEnd::Failed(node, reason)))
            .collect();
        Ok(all)
    }

    fn hold(
        &mut self,
        bout: &mut BalanceRound<'_>,
        interrupts: Option<&Interrupts>,
    ) -> io::Result<RoundEnd> {
        round::hold(self, bout, patience(bout.size()), interrupts)
    }
}

/// How long `size` bytes may take on a disk that works.
fn patience(size: u64) -> Duration {
    GRACE.saturating_add(Duration::from_secs(size / SLOWEST))
}
