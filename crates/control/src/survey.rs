//! A survey of many agents.

use std::collections::BTreeMap;
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
}

impl<'a> Survey<'a> {
    /// Creates a survey with the agent or error of each node.
    #[must_use]
    pub fn new(agents: Vec<Result<Agent, String>>, interrupts: Option<&'a Interrupts>) -> Self {
        Self { owed: OwedAnswers::new(agents.len()), session: Session::new(agents, interrupts) }
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
        let query = self.owed.query(orders, patience);
        let answers = self.session.run(query, &mut |_| {})?.into_answers();
        if self.session.interrupted() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(answers.into_iter().filter_map(|(node, answer)| Some((node, answer?))).collect())
    }
}
