//! The balance test: prepares test files and runs rounds.

use std::collections::BTreeMap;
use std::io;

use garland_protocol::copy::CopyId;
use garland_protocol::measure::NodeUse;
use garland_protocol::operation::balance::{
    self, BalanceRound, CopyKeys, PairOutcome, PreparedFile, RoundJob,
};
use garland_protocol::operation::{PairEnd, Query};
use garland_protocol::wire::Secret;
use garland_sys::{clock, random};

use crate::session::Session;

/// The answer or error of each node, by index; `None` if the user interrupted.
pub type Replies<T> = Option<BTreeMap<usize, Result<T, String>>>;

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
        self.ask(balance::stock(nodes, path, size))
    }

    /// Runs all copies of `job` at the same time.
    ///
    /// # Errors
    /// When this host cannot wait for the agents.
    pub fn round(&mut self, job: &RoundJob) -> io::Result<RoundOutcome> {
        let errands = vec![PairOutcome::default(); job.errands.len()];
        let outcome = |end| RoundOutcome { errands, uses: Vec::new(), end };
        let Some(answers) = self.ask(balance::prepare(job))? else {
            return Ok(outcome(PairEnd::Interrupted));
        };
        let mut cached = BTreeMap::new();
        for (node, answer) in answers {
            match answer {
                Ok(answer) => cached.insert(node, answer),
                Err(reason) => return Ok(outcome(PairEnd::Failed(node, reason))),
            };
        }
        let now = clock::now_ns();
        let addresses = self.session.addresses();
        let keys = std::iter::repeat_with(|| CopyKeys {
            copy: CopyId(random::bytes()),
            secret: Secret(random::bytes()),
            signing: Secret(random::bytes()),
            links: Secret(random::bytes()),
        });
        let round = BalanceRound::new(job, keys, &self.names, addresses, now);
        let (mut end, mut errands) = self.session.run(round, &mut |_| {})?.into_end();
        for (pair, copy) in job.errands.iter().zip(&mut errands) {
            copy.cached = cached.get(&pair.from).copied().flatten();
        }
        let mut uses = Vec::new();
        if end == PairEnd::Done {
            match self.ask(balance::account(job))? {
                // An agent may exit after its copies: the resources that its node used are then
                // left out.
                Some(all) => {
                    uses.extend(all.into_iter().filter_map(|(at, it)| Some((at, it.ok()?))))
                }
                None => end = PairEnd::Interrupted,
            }
        }
        Ok(RoundOutcome { errands, uses, end })
    }

    fn ask<T>(&mut self, query: Query<'_, T>) -> io::Result<Replies<T>> {
        let answers = self.session.run(query, &mut |_| {})?.into_answers();
        Ok(answers.into_iter().map(|(node, answer)| Some((node, answer?))).collect())
    }
}
