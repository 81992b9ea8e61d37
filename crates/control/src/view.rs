//! The head's side of `garland top`, which requests the activity of all nodes at intervals.

use std::time::Duration;

use garland_protocol::{FromAgent, NodeView, ToAgent};

use crate::agent_set::AgentEvent;
use crate::session::{Operation, Orders};

/// News of a node.
#[derive(Debug)]
pub enum Watched {
    /// The activity of the node with this index.
    Node(usize, Box<NodeView>),
    /// The node with this index is lost for this reason, and is no longer asked.
    Lost(usize, String),
}

/// A node that is watched.
#[derive(Clone, Copy)]
struct Node {
    /// The time of the next request in monotonic nanoseconds; none while the node's answer is
    /// awaited, and after the loss of the node.
    due_ns: Option<u64>,
    gone: bool,
}

/// Requests the activity of all nodes at intervals, until it is stopped. A node with slow answers is
/// asked less often.
pub struct View {
    every_ns: u64,
    nodes: Vec<Node>,
    news: Vec<Watched>,
    stopped: bool,
}

impl View {
    /// Creates a view of `count` nodes.
    #[must_use]
    pub fn new(count: usize, every: Duration) -> Self {
        let every_ns = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX);
        let nodes = vec![Node { due_ns: Some(0), gone: false }; count];
        Self { every_ns, nodes, news: Vec::new(), stopped: false }
    }

    /// Removes and returns the news.
    pub fn take_news(&mut self) -> Vec<Watched> {
        std::mem::take(&mut self.news)
    }

    /// Ends the view.
    pub fn stop(&mut self) {
        self.stopped = true;
    }
}

impl Operation for View {
    fn handle(&mut self, now_ns: u64, at: usize, event: AgentEvent, _: &mut Orders) {
        let node = &mut self.nodes[at];
        match event {
            AgentEvent::Message(FromAgent::Viewed(mut view)) if !node.gone => {
                view.bound();
                // Count the interval from the answer, so that a busy node never has two requests.
                node.due_ns = Some(now_ns.saturating_add(self.every_ns));
                self.news.push(Watched::Node(at, view));
            }
            AgentEvent::Message(_) => {}
            AgentEvent::Lost(reason) => {
                *node = Node { due_ns: None, gone: true };
                self.news.push(Watched::Lost(at, reason));
            }
        }
    }

    fn tick(&mut self, now_ns: u64, orders: &mut Orders) {
        for (at, node) in self.nodes.iter_mut().enumerate() {
            if node.due_ns.take_if(|due| *due <= now_ns).is_some() {
                orders.send(at, ToAgent::View);
            }
        }
    }

    fn due_ns(&self) -> Option<u64> {
        self.nodes.iter().filter_map(|node| node.due_ns).min()
    }

    fn interrupt(&mut self, _: u64, _: &mut Orders) {
        self.stopped = true;
    }

    fn is_over(&self) -> bool {
        self.stopped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_asked_again_an_interval_after_its_answer_and_never_after_its_loss() {
        let mut view = View::new(2, Duration::from_nanos(10));
        let mut orders = Orders::default();
        let mut asked = |view: &mut View, now| {
            view.tick(now, &mut orders);
            orders.take().into_iter().map(|(node, _)| node).collect::<Vec<_>>()
        };
        assert_eq!(asked(&mut view, 100), [0, 1]);
        assert!(asked(&mut view, 900).is_empty(), "no node has two requests");
        let mut none = Orders::default();
        let answer = AgentEvent::Message(FromAgent::Viewed(Box::default()));
        view.handle(900, 1, answer, &mut none);
        view.handle(905, 0, AgentEvent::Lost("it exited".to_owned()), &mut none);
        assert_eq!(view.due_ns(), Some(910));
        assert!(asked(&mut view, 909).is_empty());
        assert_eq!(asked(&mut view, 910), [1]);
        let news = view.take_news();
        assert!(
            matches!(&news[..], [Watched::Node(1, _), Watched::Lost(0, why)] if why == "it exited")
        );
        assert!(!view.is_over());
        view.interrupt(911, &mut none);
        assert!(view.is_over());
    }
}
