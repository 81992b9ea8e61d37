//! Runs a command on nodes, and passes its input on to all of them.

use super::interface::{AgentEvent, Operation, Orders};
use super::query::{Answers, Query};
use crate::command::{CommandOrder, INPUT_PIECE, INPUT_WINDOW, InputNews};
use crate::{FromAgent, ToAgent};

/// A command on nodes. Its answers are exit codes, or the negated numbers of signals.
pub struct CommandRun<'a> {
    query: Query<'a, i32>,
    input: Option<Feed>,
}

/// The input of a command, which all nodes get.
struct Feed {
    /// The bytes that were sent to each node that was open then.
    sent: u64,
    /// Whether all of the input has come.
    has_ended: bool,
    /// What waits to be sent; an empty piece ends the input.
    waiting: Option<Vec<u8>>,
    nodes: Vec<FedNode>,
}

/// What is known of the input on a node.
#[derive(Clone, Copy, Default)]
struct FedNode {
    taken: u64,
    /// Whether something that was sent to it before is not on its way yet. More would stay in this
    /// machine's memory.
    has_unsent: bool,
    /// Since when there is no room for another piece.
    full_since_ns: Option<u64>,
    /// The bytes that the command had read when it ended; 0 if it never began.
    read: u64,
}

impl Feed {
    /// Returns whether another piece can be passed on to `node`.
    fn has_room(&self, node: &FedNode) -> bool {
        node.has_room(self.sent)
    }

    /// Notes which nodes have no room from `now_ns` on. A node that takes a little from time to
    /// time has none until it has taken a whole piece.
    fn note_full(&mut self, now_ns: u64, orders: &Orders) {
        for (at, node) in self.nodes.iter_mut().enumerate() {
            node.has_unsent = !orders.has_room(at);
            let is_full = !node.has_room(self.sent);
            node.full_since_ns = is_full.then_some(node.full_since_ns.unwrap_or(now_ns));
        }
    }
}

impl FedNode {
    /// Returns whether the node has room for another piece when `sent` bytes were sent to it.
    fn has_room(&self, sent: u64) -> bool {
        !self.has_unsent && sent.saturating_sub(self.taken) + INPUT_PIECE as u64 <= INPUT_WINDOW
    }
}

impl<'a> CommandRun<'a> {
    /// Runs `order` on `count` nodes. `query` makes a query of the orders.
    pub fn new(
        order: &CommandOrder,
        count: usize,
        query: impl FnOnce(Vec<(usize, ToAgent)>) -> Query<'a, i32>,
    ) -> Self {
        let orders = (0..count).map(|node| (node, ToAgent::Exec(order.clone())));
        let nodes = vec![FedNode::default(); count];
        let feed = Feed { sent: 0, has_ended: false, waiting: None, nodes };
        Self { query: query(orders.collect()), input: order.has_input.then_some(feed) }
    }

    /// Returns whether a node has answered.
    #[must_use]
    pub fn has_answered(&self, node: usize) -> bool {
        self.query.has_answered(node)
    }

    /// Returns whether another piece of the input, of at most [`INPUT_PIECE`] bytes, can be passed
    /// on: all nodes whose command still runs have room for it. None is wanted if no command runs.
    #[must_use]
    pub fn wants_input(&self) -> bool {
        let Some(feed) = &self.input else { return false };
        let mut running = self.running(feed).peekable();
        let is_wanted = feed.waiting.is_none() && !feed.has_ended && running.peek().is_some();
        is_wanted && running.all(|(_, node)| feed.has_room(node))
    }

    /// Returns the nodes that hold up the input of others: for longer than `patience_ns` their
    /// commands have read less than a piece, while another one has room for more.
    #[must_use]
    pub fn holding_up(&self, now_ns: u64, patience_ns: u64) -> Vec<usize> {
        let Some(feed) = self.input.as_ref().filter(|feed| !feed.has_ended) else {
            return Vec::new();
        };
        if !self.running(feed).any(|(_, node)| feed.has_room(node)) {
            return Vec::new();
        }
        let is_long = |since_ns: u64| now_ns.saturating_sub(since_ns) > patience_ns;
        let full = self.running(feed).filter(|(_, node)| node.full_since_ns.is_some_and(is_long));
        full.map(|(node, _)| node).collect()
    }

    /// Returns the nodes whose command still runs.
    fn running<'f>(&self, feed: &'f Feed) -> impl Iterator<Item = (usize, &'f FedNode)> {
        feed.nodes.iter().enumerate().filter(|(node, _)| !self.query.has_answered(*node))
    }

    /// Passes a piece of the input on; an empty one is its end.
    pub fn give_input(&mut self, piece: Vec<u8>) {
        if let Some(feed) = &mut self.input {
            feed.waiting = Some(piece);
        }
    }

    /// Returns the number of bytes of the input that were passed on, if all commands have ended by
    /// themselves, and none has read any of them.
    #[must_use]
    pub fn unread_input(&self) -> Option<u64> {
        let feed = self.input.as_ref().filter(|feed| feed.sent > 0)?;
        let has_ended = |node: usize| self.query.has_answered(node) && !self.query.was_late(node);
        let mut nodes = feed.nodes.iter().enumerate();
        nodes.all(|(node, fed)| has_ended(node) && fed.read == 0).then_some(feed.sent)
    }

    /// Returns the answers so far.
    #[must_use]
    pub fn into_answers(self) -> Answers<i32> {
        self.query.into_answers()
    }
}

impl Operation for CommandRun<'_> {
    fn begin(&mut self, now_ns: u64, orders: &mut Orders) {
        self.query.begin(now_ns, orders);
    }

    fn handle(&mut self, now_ns: u64, node: usize, event: AgentEvent, orders: &mut Orders) {
        if let AgentEvent::Message(FromAgent::Input(news)) = &event {
            let Some(feed) = &mut self.input else { return };
            let Some(fed) = feed.nodes.get_mut(node) else { return };
            match news {
                // A node that claims more than it got would have the others get too much.
                InputNews::Taken(taken) => fed.taken = (*taken).min(feed.sent),
                InputNews::Read(read) => fed.read = *read,
            }
            return;
        }
        self.query.handle(now_ns, node, event, orders);
    }

    fn tick(&mut self, now_ns: u64, orders: &mut Orders) {
        self.query.tick(now_ns, orders);
        let Some(feed) = &mut self.input else { return };
        feed.note_full(now_ns, orders);
        let Some(piece) = feed.waiting.take() else { return };
        feed.sent += piece.len() as u64;
        feed.has_ended = piece.is_empty();
        for node in 0..feed.nodes.len() {
            if !self.query.has_answered(node) {
                orders.send(node, ToAgent::Input(piece.clone()));
            }
        }
    }

    fn is_over(&self) -> bool {
        self.query.is_over()
    }
}

#[cfg(test)]
mod tests;
