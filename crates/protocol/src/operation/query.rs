//! Sends an order to each of several nodes, and collects one answer of each.

use std::collections::BTreeMap;
use std::time::Duration;

use super::interface::{AgentEvent, Operation, Orders};
use crate::{FromAgent, ToAgent};

/// For each node that was sent an order, by index, its answer or error; `None` if the user
/// interrupted before.
pub type Answers<T> = BTreeMap<usize, Option<Result<T, String>>>;

/// Converts a message of a node to an answer; returns `None` to ignore the message.
type Answer<'a, T> = Box<dyn FnMut(usize, FromAgent) -> Option<Result<T, String>> + 'a>;

/// Sends an order to each of several nodes, and waits for an answer of each.
pub struct Query<'a, T> {
    orders: Vec<(usize, ToAgent)>,
    answer: Answer<'a, T>,
    answers: Answers<T>,
    /// How long nodes may take to answer, and the error for nodes that take longer.
    patience: Option<(Duration, String)>,
    /// The time by which nodes must answer, in monotonic nanoseconds.
    deadline_ns: u64,
}

impl<'a, T> Query<'a, T> {
    /// Creates a query of at most one order per node. `patience` is the time in which nodes must
    /// answer, and the error for nodes that do not; `None` waits for ever.
    pub fn new(
        orders: impl IntoIterator<Item = (usize, ToAgent)>,
        patience: Option<(Duration, String)>,
        answer: impl FnMut(usize, FromAgent) -> Option<Result<T, String>> + 'a,
    ) -> Self {
        let orders: Vec<_> = orders.into_iter().collect();
        let answers = orders.iter().map(|(node, _)| (*node, None)).collect();
        Self { orders, answer: Box::new(answer), answers, patience, deadline_ns: u64::MAX }
    }

    /// Returns whether a node has answered, or can no longer answer.
    #[must_use]
    pub fn has_answered(&self, node: usize) -> bool {
        self.answers.get(&node).is_some_and(Option::is_some)
    }

    /// Returns the answers so far.
    #[must_use]
    pub fn into_answers(self) -> Answers<T> {
        self.answers
    }
}

impl<T> Operation for Query<'_, T> {
    fn begin(&mut self, now_ns: u64, orders: &mut Orders) {
        let patience = self.patience.as_ref().map_or(u128::MAX, |(time, _)| time.as_nanos());
        self.deadline_ns = now_ns.saturating_add(u64::try_from(patience).unwrap_or(u64::MAX));
        self.orders.drain(..).for_each(|(node, order)| orders.send(node, order));
    }

    fn handle(&mut self, _: u64, node: usize, event: AgentEvent, _: &mut Orders) {
        let result = match event {
            AgentEvent::Message(message) => (self.answer)(node, message),
            AgentEvent::Lost(reason) => Some(Err(reason)),
        };
        if let Some(open @ None) = self.answers.get_mut(&node) {
            *open = result;
        }
    }

    fn tick(&mut self, now_ns: u64, _: &mut Orders) {
        if let Some((_, late)) = self.patience.as_ref().filter(|_| now_ns > self.deadline_ns) {
            let answers = self.answers.values_mut();
            answers.filter(|it| it.is_none()).for_each(|it| *it = Some(Err(late.clone())));
        }
    }

    fn is_over(&self) -> bool {
        self.answers.values().all(Option::is_some)
    }
}

#[cfg(test)]
mod tests;
