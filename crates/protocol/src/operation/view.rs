//! Requests the activity of all nodes at intervals, for `garland top`.

use std::time::Duration;

use super::interface::{AgentEvent, Operation, Orders};
use crate::measure::NodeView;
use crate::{FromAgent, ToAgent};

/// The index of a node, and its activity, or why the node is lost and no longer asked.
pub type NodeNews = (usize, Result<Box<NodeView>, String>);

/// The time of a request that is not due.
const NEVER: u64 = u64::MAX;

/// Requests the activity of all nodes at intervals, until it is stopped. A node with slow answers
/// is asked less often.
pub struct View {
    every_ns: u64,
    /// The time of each node's next request in monotonic nanoseconds: [`NEVER`] while its answer is
    /// awaited, `None` after the loss of the node.
    due_ns: Vec<Option<u64>>,
    news: Vec<NodeNews>,
    stopped: bool,
}

impl View {
    /// Creates a view of `count` nodes.
    #[must_use]
    pub fn new(count: usize, every: Duration) -> Self {
        let every_ns = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX);
        Self { every_ns, due_ns: vec![Some(0); count], news: Vec::new(), stopped: false }
    }

    /// Removes and returns the news since the last call.
    pub fn take_news(&mut self) -> Vec<NodeNews> {
        std::mem::take(&mut self.news)
    }

    /// Ends the view.
    pub fn stop(&mut self) {
        self.stopped = true;
    }
}

impl Operation for View {
    fn handle(&mut self, now_ns: u64, at: usize, event: AgentEvent, _: &mut Orders) {
        let due_ns = &mut self.due_ns[at];
        match event {
            AgentEvent::Message(FromAgent::Viewed(mut view)) if due_ns.is_some() => {
                view.bound();
                // Count the interval from the answer, so that a busy node never has two requests.
                *due_ns = Some(now_ns.saturating_add(self.every_ns));
                self.news.push((at, Ok(view)));
            }
            AgentEvent::Message(_) => {}
            AgentEvent::Lost(reason) => {
                *due_ns = None;
                self.news.push((at, Err(reason)));
            }
        }
    }

    fn tick(&mut self, now_ns: u64, orders: &mut Orders) {
        for (at, due_ns) in self.due_ns.iter_mut().enumerate() {
            if due_ns.is_some_and(|due_ns| due_ns <= now_ns) {
                *due_ns = Some(NEVER);
                orders.send(at, ToAgent::View);
            }
        }
    }

    fn due_ns(&self) -> Option<u64> {
        self.due_ns.iter().flatten().min().copied()
    }

    fn is_over(&self) -> bool {
        self.stopped
    }
}

#[cfg(test)]
mod tests;
