//! The head's side of a survey: sends an order to each of many agents, and collects their answers.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use garland_protocol::{FromAgent, SurveyAnswer, SurveyOrder, ToAgent};
use garland_sys::signal::Interrupts;

use crate::copy::Agent;
use crate::session::Session;
use garland_protocol::operation::Query;

/// The agents of a survey, by index.
pub struct Survey<'a> {
    session: Session<'a>,
    /// For each agent, the number of orders that it has not answered yet. Only the last missing
    /// answer counts: earlier ones belong to orders for which the survey no longer waits.
    owed: Vec<u32>,
}

impl<'a> Survey<'a> {
    /// Creates a survey with the agent or error of each node.
    #[must_use]
    pub fn new(agents: Vec<Result<Agent, String>>, interrupts: Option<&'a Interrupts>) -> Self {
        Self { owed: vec![0; agents.len()], session: Session::new(agents, interrupts) }
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
        let query = query(&mut self.owed, orders, patience);
        let answers = self.session.run(query, &mut |_| {})?.into_answers();
        if self.session.interrupted() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(answers.into_iter().filter_map(|(node, answer)| Some((node, answer?))).collect())
    }
}

/// Creates the query for the answers to `orders`, which `owed` counts until they are answered.
fn query(
    owed: &mut [u32],
    orders: Vec<(usize, SurveyOrder)>,
    patience: Duration,
) -> Query<'_, SurveyAnswer> {
    orders.iter().for_each(|(node, _)| owed[*node] += 1);
    let orders = orders.into_iter().map(|(node, order)| (node, ToAgent::Survey(order)));
    let late = format!("its agent did not answer within {} s", patience.as_secs());
    Query::new(orders, Some((patience, late)), |node, message| {
        let FromAgent::Surveyed(answer) = message else { return None };
        owed[node] = owed[node].saturating_sub(1);
        let answer = match answer {
            SurveyAnswer::Failed(reason) => Err(reason),
            answer => Ok(answer),
        };
        (owed[node] == 0).then_some(answer)
    })
}

#[cfg(test)]
mod tests;
