//! The orders of a survey to many agents, and the agents' answers.

use std::time::Duration;

use super::query::Query;
use crate::measure::{SurveyAnswer, SurveyOrder};
use crate::{FromAgent, ToAgent};

/// For each agent of a survey, the number of orders that it has not answered yet. Only the last
/// missing answer counts: earlier ones belong to orders for which the survey no longer waits.
pub struct OwedAnswers(Vec<u32>);

impl OwedAnswers {
    /// Creates the numbers of `count` agents, which were sent no orders.
    #[must_use]
    pub fn new(count: usize) -> Self {
        Self(vec![0; count])
    }

    /// Creates the query for the answers to `orders`, at most one per agent, for which the survey
    /// waits up to `patience`.
    pub fn query(
        &mut self,
        orders: Vec<(usize, SurveyOrder)>,
        patience: Duration,
    ) -> Query<'_, SurveyAnswer> {
        let owed = &mut self.0;
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
}

#[cfg(test)]
mod tests;
