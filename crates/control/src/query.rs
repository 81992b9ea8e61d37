//! An order to each of several nodes, and one answer of each.

use std::collections::BTreeMap;
use std::time::Duration;

use garland_protocol::{FromAgent, ToAgent};

use crate::agent_set::AgentEvent;
use crate::session::{Operation, Orders};

/// The answer or error of each node; `None` if the user interrupted before.
pub type Answers<T> = BTreeMap<usize, Option<Result<T, String>>>;

/// Converts a message of a node to an answer; returns `None` to ignore the message.
type Answer<'a, T> = Box<dyn FnMut(usize, FromAgent) -> Option<Result<T, String>> + 'a>;

/// Sends an order to each of several nodes, and waits for an answer of each.
pub struct Query<'a, T> {
    orders: Vec<(usize, ToAgent)>,
    answer: Answer<'a, T>,
    answers: Answers<T>,
    /// The time for all answers, and the error of nodes that need longer.
    patience: Option<(Duration, String)>,
    deadline_ns: u64,
    interrupted: bool,
}

impl<'a, T> Query<'a, T> {
    /// Creates a query of at most one order per node.
    pub fn new(
        orders: Vec<(usize, ToAgent)>,
        answer: impl FnMut(usize, FromAgent) -> Option<Result<T, String>> + 'a,
    ) -> Self {
        Self {
            answers: orders.iter().map(|(node, _)| (*node, None)).collect(),
            orders,
            answer: Box::new(answer),
            patience: None,
            deadline_ns: u64::MAX,
            interrupted: false,
        }
    }

    /// Creates a query that sends `order` to nodes `0..count`.
    pub fn of_all(
        count: usize,
        order: &ToAgent,
        answer: impl FnMut(usize, FromAgent) -> Option<Result<T, String>> + 'a,
    ) -> Self {
        Self::new((0..count).map(|node| (node, order.clone())).collect(), answer)
    }

    /// Limits the time for all answers; nodes that need longer get the error `late`.
    #[must_use]
    pub fn with_patience(self, patience: Duration, late: String) -> Self {
        Self { patience: Some((patience, late)), ..self }
    }

    /// Returns the answer or error of each node.
    pub fn into_answers(self) -> Answers<T> {
        self.answers
    }
}

impl<T> Operation for Query<'_, T> {
    fn begin(&mut self, now_ns: u64, orders: &mut Orders) {
        let patience = self.patience.as_ref().map(|(patience, _)| patience.as_nanos());
        let patience_ns = patience.and_then(|all| u64::try_from(all).ok()).unwrap_or(u64::MAX);
        self.deadline_ns = now_ns.saturating_add(patience_ns);
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
        let Some((_, late)) = self.patience.as_ref().filter(|_| now_ns > self.deadline_ns) else {
            return;
        };
        for open in self.answers.values_mut() {
            open.get_or_insert_with(|| Err(late.clone()));
        }
    }

    fn interrupt(&mut self, _: u64, _: &mut Orders) {
        self.interrupted = true;
    }

    fn is_over(&self) -> bool {
        self.interrupted || self.answers.values().all(Option::is_some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query() -> Query<'static, i32> {
        let orders = [0, 1, 3].map(|node| (node, ToAgent::View)).to_vec();
        let query = Query::new(orders, |_, message| match message {
            FromAgent::Exited(code) => Some(Ok(code)),
            FromAgent::ExecFailed(reason) => Some(Err(reason)),
            _ => None,
        });
        query.with_patience(Duration::from_secs(2), "it is late".to_owned())
    }

    #[test]
    fn each_node_is_asked_once_and_has_one_answer_or_error() {
        let (mut query, mut orders) = (query(), Orders::default());
        query.begin(1_000_000_000, &mut orders);
        let asked: Vec<usize> = orders.take().into_iter().map(|(node, _)| node).collect();
        assert_eq!(asked, [0, 1, 3]);
        let mut tell = |node, event| query.handle(0, node, event, &mut orders);
        tell(2, AgentEvent::Lost("nobody asked it".to_owned()));
        tell(0, AgentEvent::Message(FromAgent::Heartbeat(None)));
        tell(0, AgentEvent::Message(FromAgent::Exited(7)));
        tell(0, AgentEvent::Lost("it exited afterwards".to_owned()));
        tell(3, AgentEvent::Message(FromAgent::ExecFailed("no such program".to_owned())));
        query.tick(3_000_000_000, &mut orders);
        assert!(!query.is_over(), "there is still time");
        query.tick(3_000_000_001, &mut orders);
        assert!(query.is_over() && orders.take().is_empty());
        let (late, failed) = ("it is late".to_owned(), "no such program".to_owned());
        let wanted = [(0, Some(Ok(7))), (1, Some(Err(late))), (3, Some(Err(failed)))];
        assert_eq!(query.into_answers(), BTreeMap::from(wanted));
    }

    #[test]
    fn an_interrupt_ends_a_query_and_keeps_the_answers() {
        let (mut query, mut orders) = (query(), Orders::default());
        query.begin(0, &mut orders);
        query.handle(0, 1, AgentEvent::Message(FromAgent::Exited(0)), &mut orders);
        query.interrupt(0, &mut orders);
        assert!(query.is_over());
        let wanted = [(0, None), (1, Some(Ok(0))), (3, None)];
        assert_eq!(query.into_answers(), BTreeMap::from(wanted));
    }
}
