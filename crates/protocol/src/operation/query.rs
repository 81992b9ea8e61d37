//! Sends an order to each of several nodes, and collects one answer of each.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::interface::{AgentEvent, Operation, Orders};
use crate::{FromAgent, ToAgent};

/// For each node that was sent an order, by index, its answer or error; `None` if the user
/// interrupted before.
pub type Answers<T> = BTreeMap<usize, Option<Result<T, String>>>;

/// Converts a message of a node to an answer; returns `None` to ignore the message.
type Answer<'a, T> = Box<dyn FnMut(usize, FromAgent) -> Option<Result<T, String>> + 'a>;

/// How many times as long as most nodes took another one may take.
const STRAGGLING_TIMES: u64 = 10;

/// Sends an order to each of several nodes, and waits for an answer of each.
pub struct Query<'a, T> {
    orders: Vec<(usize, ToAgent)>,
    answer: Answer<'a, T>,
    answers: Answers<T>,
    /// How long nodes may take to answer, and the error for nodes that take longer.
    patience: Option<(Duration, String)>,
    /// How long each node may take, by its index, if they do not all have the same time.
    limits: Vec<Duration>,
    /// Whether a message shows that a node works, and gives it its time once more.
    shows_work: fn(&FromAgent) -> bool,
    /// How much longer a node may take than most, and the error of one that takes longer; `None`
    /// for any time.
    straggling: Option<(Duration, String)>,
    /// When the query began, in monotonic nanoseconds.
    began_ns: u64,
    /// When most nodes had answered, in monotonic nanoseconds; `None` as long as not.
    most_ns: Option<u64>,
    /// The time by which each node must answer, in monotonic nanoseconds.
    deadlines_ns: BTreeMap<usize, u64>,
    /// The nodes that did not answer in time.
    late: BTreeSet<usize>,
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
        Self {
            orders,
            answer: Box::new(answer),
            answers,
            patience,
            limits: Vec::new(),
            shows_work: |_| false,
            straggling: None,
            began_ns: 0,
            most_ns: None,
            deadlines_ns: BTreeMap::new(),
            late: BTreeSet::new(),
        }
    }

    /// Gives each node a time of its own to answer, in the order of nodes.
    #[must_use]
    pub fn with_limits(self, limits: &[Duration]) -> Self {
        Self { limits: limits.to_vec(), ..self }
    }

    /// Has the time of a node begin again with each message for which `shows_work` is true: what it
    /// was asked for may take long, and only its silence is limited.
    #[must_use]
    pub fn limiting_silence(self, shows_work: fn(&FromAgent) -> bool) -> Self {
        Self { shows_work, ..self }
    }

    /// Once more than half of the nodes have answered, without an error, lets each other one take
    /// at most [`STRAGGLING_TIMES`] the time of these and `longer`, whether it shows that it works
    /// or not; then its answer is the error `late`. Of two nodes none is waited for less.
    #[must_use]
    pub fn limiting_stragglers(self, longer: Duration, late: String) -> Self {
        Self { straggling: Some((longer, late)), ..self }
    }

    /// Ends the wait for nodes that take much longer than most.
    fn end_stragglers(&mut self, now_ns: u64) {
        let Some((longer, late)) = &self.straggling else { return };
        let have_answered = |answer: &&Option<Result<T, String>>| matches!(answer, Some(Ok(_)));
        let answered = self.answers.values().filter(have_answered).count();
        if 2 * answered <= self.answers.len() {
            return;
        }
        let most_ns = *self.most_ns.get_or_insert(now_ns);
        let took_ns = most_ns.saturating_sub(self.began_ns);
        let longer_ns = u64::try_from(longer.as_nanos()).unwrap_or(u64::MAX);
        let limit_ns = took_ns.saturating_mul(STRAGGLING_TIMES).saturating_add(longer_ns);
        if now_ns.saturating_sub(self.began_ns) <= limit_ns {
            return;
        }
        for (node, answer) in self.answers.iter_mut().filter(|(_, answer)| answer.is_none()) {
            *answer = Some(Err(late.clone()));
            let _ = self.late.insert(*node);
        }
    }

    /// Returns the time by which a node must answer, or show that it works, from `now_ns` on.
    fn deadline_ns(&self, node: usize, now_ns: u64) -> u64 {
        let same = self.patience.as_ref().map(|(time, _)| *time);
        let time = self.limits.get(node).copied().or(same);
        let time = time.and_then(|time| u64::try_from(time.as_nanos()).ok());
        now_ns.saturating_add(time.unwrap_or(u64::MAX))
    }

    /// Returns whether a node has answered, or can no longer answer.
    #[must_use]
    pub fn has_answered(&self, node: usize) -> bool {
        self.answers.get(&node).is_some_and(Option::is_some)
    }

    /// Returns the nodes whose answers are awaited.
    pub fn awaited(&self) -> impl Iterator<Item = usize> {
        self.answers.iter().filter(|(_, answer)| answer.is_none()).map(|(node, _)| *node)
    }

    /// Returns whether the time of a node was over before it answered.
    #[must_use]
    pub fn was_late(&self, node: usize) -> bool {
        self.late.contains(&node)
    }

    /// Returns the answers so far.
    #[must_use]
    pub fn into_answers(self) -> Answers<T> {
        self.answers
    }
}

impl<T> Operation for Query<'_, T> {
    fn begin(&mut self, now_ns: u64, orders: &mut Orders) {
        let deadlines = self.answers.keys().map(|node| (*node, self.deadline_ns(*node, now_ns)));
        self.deadlines_ns = deadlines.collect();
        self.began_ns = now_ns;
        self.orders.drain(..).for_each(|(node, order)| orders.send(node, order));
    }

    fn handle(&mut self, now_ns: u64, node: usize, event: AgentEvent, _: &mut Orders) {
        // Who has answered, or was not asked, is not heard: what follows an answer would be
        // endless.
        if !matches!(self.answers.get(&node), Some(None)) {
            return;
        }
        if matches!(&event, AgentEvent::Message(message) if (self.shows_work)(message)) {
            let _ = self.deadlines_ns.insert(node, self.deadline_ns(node, now_ns));
        }
        let result = match event {
            AgentEvent::Message(message) => (self.answer)(node, message),
            AgentEvent::Lost(reason) => Some(Err(reason)),
        };
        let _ = self.answers.insert(node, result);
    }

    fn tick(&mut self, now_ns: u64, _: &mut Orders) {
        self.end_stragglers(now_ns);
        let Some((_, late)) = self.patience.as_ref() else { return };
        for (node, answer) in &mut self.answers {
            let is_late = self.deadlines_ns.get(node).is_some_and(|deadline| now_ns > *deadline);
            if answer.is_none() && is_late {
                *answer = Some(Err(late.clone()));
                let _ = self.late.insert(*node);
            }
        }
    }

    fn is_over(&self) -> bool {
        self.answers.values().all(Option::is_some)
    }
}

#[cfg(test)]
mod tests;
