//! The head's side of the balance test: prepares test files and runs rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;

use garland_protocol::{
    BalanceEvent, BalanceOrder, DiskCached, DiskPlace, FromAgent, NodeUse, ToAgent,
};
use garland_sys::clock;
use garland_sys::clock::after;

use super::job::RoundJob;
use super::pair::PairOutcome;
use super::round::BalanceRound;
use crate::probe::PairEnd;
use crate::query::Query;
use crate::session::Session;

/// The answer or error of each node, by index; `None` if the user interrupted.
pub type Replies<T> = Option<BTreeMap<usize, Result<T, String>>>;

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
    /// Conditions of the node that may affect the rate of copies: names and values.
    pub conditions: Vec<(String, String)>,
}

/// Agents that copy files between each other.
pub struct Exchange<'a> {
    names: Vec<String>,
    session: Session<'a>,
}

impl<'a> Exchange<'a> {
    /// Creates an exchange of the nodes `names` with the agents of `session`.
    #[must_use]
    pub fn new(names: Vec<String>, session: Session<'a>) -> Self {
        Self { names, session }
    }

    /// Returns whether a node's agent is dead or silent.
    #[must_use]
    pub fn is_gone(&self, node: usize) -> bool {
        self.session.is_gone(node)
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
    ) -> io::Result<Replies<PreparedFile>> {
        let order = |_| BalanceOrder::Stock { path: path.to_vec(), size };
        self.ask(nodes, order, patience(size), |event| match event {
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
    pub fn round(&mut self, job: &RoundJob) -> io::Result<RoundOutcome> {
        let nodes = job.errands.iter().flat_map(|errand| [errand.from, errand.to]);
        let nodes: Vec<usize> = BTreeSet::from_iter(nodes).into_iter().collect();
        let mut outcome = RoundOutcome {
            errands: vec![PairOutcome::default(); job.errands.len()],
            uses: Vec::new(),
            end: PairEnd::Done,
        };
        let cached = match self.prepare(job, &nodes)? {
            Ok(cached) => cached,
            Err(end) => return Ok(RoundOutcome { end, ..outcome }),
        };
        let (now, patience) = (clock::now_ns(), patience(job.layout.length));
        let addresses = self.session.addresses();
        let round = BalanceRound::new(job, &self.names, addresses, patience, now);
        (outcome.end, outcome.errands) = self.session.run(round, &mut |_| {})?.into_end();
        for (pair, copy) in job.errands.iter().zip(&mut outcome.errands) {
            copy.cached = cached.get(&pair.from).copied().flatten();
        }
        if outcome.end != PairEnd::Done {
            return Ok(outcome);
        }
        let account = |event| match event {
            BalanceEvent::Account(account) => Some(account),
            _ => None,
        };
        match self.ask(&nodes, |_| BalanceOrder::Account, GRACE, account)? {
            // An agent may exit after its copies: the resources that its node used are then left
            // out.
            Some(all) => {
                outcome.uses.extend(all.into_iter().filter_map(|(at, it)| Some((at, it.ok()?))))
            }
            None => outcome.end = PairEnd::Interrupted,
        }
        Ok(outcome)
    }

    /// Drops the files from the page cache, or reads them into the cache. Returns the cached part
    /// of each node's file, as far as it is known; or the end of the round, if there was an error
    /// or the user interrupted.
    fn prepare(
        &mut self,
        job: &RoundJob,
        nodes: &[usize],
    ) -> io::Result<Result<BTreeMap<usize, Option<DiskCached>>, PairEnd>> {
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
        let answers = self.ask(nodes, order, patience(job.layout.length), answer)?;
        let Some(answers) = answers else { return Ok(Err(PairEnd::Interrupted)) };
        let cached = |(node, answer): (usize, Result<_, String>)| match answer {
            Ok(cached) => Ok((node, cached)),
            Err(reason) => Err(PairEnd::Failed(node, reason)),
        };
        Ok(answers.into_iter().map(cached).collect())
    }

    /// Sends `order(node)` to each of `nodes`, and waits for their answers for at most `patience`.
    /// `answer` converts an event to an answer, or ignores it.
    fn ask<T>(
        &mut self,
        nodes: &[usize],
        order: impl Fn(usize) -> BalanceOrder,
        patience: Duration,
        answer: impl Fn(BalanceEvent) -> Option<T>,
    ) -> io::Result<Replies<T>> {
        let orders = nodes.iter().map(|&node| (node, ToAgent::Balance(order(node))));
        let late = format!("its disk hangs: no answer for {} s", patience.as_secs());
        let deadline = Some((after(patience), late));
        let query = Query::new(orders, deadline, |_, message| match message {
            FromAgent::Balance(BalanceEvent::Failed(reason)) => Some(Err(reason)),
            FromAgent::Balance(event) => answer(event).map(Ok),
            _ => None,
        });
        let answers = self.session.run(query, &mut |_| {})?.into_answers();
        Ok(answers.into_iter().map(|(node, answer)| Some((node, answer?))).collect())
    }
}

/// Returns the timeout for an order that reads or writes `size` bytes.
fn patience(size: u64) -> Duration {
    GRACE.saturating_add(Duration::from_secs(size / SLOWEST))
}
