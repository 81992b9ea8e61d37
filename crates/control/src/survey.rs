//! A survey of many agents.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;

use garland_protocol::measure::{SurveyAnswer, SurveyOrder};
use garland_protocol::operation::OwedAnswers;
use garland_sys::signal::Interrupts;

use crate::copy::Agent;
use crate::session::Session;

/// The agents of a survey, by index.
pub struct Survey<'a> {
    session: Session<'a>,
    owed: OwedAnswers,
    /// The agents that once did not answer in time.
    late: BTreeSet<usize>,
}

impl<'a> Survey<'a> {
    /// Creates a survey with the agent or error of each node.
    #[must_use]
    pub fn new(agents: Vec<Result<Agent, String>>, interrupts: Option<&'a Interrupts>) -> Self {
        let owed = OwedAnswers::new(agents.len());
        Self { owed, late: BTreeSet::new(), session: Session::new(agents, interrupts) }
    }

    /// Whether an agent once did not answer in time, or can no longer answer: nothing more should
    /// be asked of it, since each question could take as long again.
    #[must_use]
    pub fn is_lost(&self, agent: usize) -> bool {
        self.late.contains(&agent) || self.session.is_gone(agent)
    }

    /// Sends orders, at most one per agent, and waits up to `patience` for the answers. Returns the
    /// answer or error of each agent, by index.
    ///
    /// # Errors
    /// When this host cannot wait, or the user interrupts ([`io::ErrorKind::Interrupted`]).
    pub fn ask(
        &mut self,
        orders: Vec<(usize, SurveyOrder)>,
        patience: Duration,
    ) -> io::Result<BTreeMap<usize, Result<SurveyAnswer, String>>> {
        let asked: Vec<usize> = orders.iter().map(|(node, _)| *node).collect();
        let query = self.owed.query(orders, patience);
        let query = self.session.run(query, &mut |_| {})?;
        self.late.extend(asked.into_iter().filter(|node| query.was_late(*node)));
        let answers = query.into_answers();
        if self.session.interrupted() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(answers.into_iter().filter_map(|(node, answer)| Some((node, answer?))).collect())
    }
}
