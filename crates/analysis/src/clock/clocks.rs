//! The clocks of all nodes of a run.

use super::closure::{Closure, open_loops};
use super::exchange::{Exchange, Message};
use super::offset::{Moment, Offset, Step};
use super::piece::{Bound, trip};
use super::region::Side;

/// The number of passes over messages and probes between nodes. In each pass, the bounds on one
/// node's offset further tighten the bounds on its neighbours' offsets.
const ROUNDS: usize = 2;

/// The offsets of all clocks of a run.
#[derive(Clone, Debug)]
pub struct Clocks {
    /// For each node, the offset of its clock; `None` for the head, and if the offset is unknown.
    offsets: Vec<Option<Offset>>,
    open_loops: Vec<Closure>,
    /// For each node, the number of messages to it that seem to arrive before they were sent, by
    /// more than the clocks' error bounds.
    contradictions: Vec<usize>,
}

impl Clocks {
    /// Computes the clocks of `nodes` nodes from round trips and messages.
    pub fn estimate(nodes: usize, exchanges: &[Exchange], messages: &[Message]) -> Self {
        let inside = |from: usize, to: usize| from < nodes && to < nodes && from != to;
        let exchanges: Vec<Exchange> = exchanges
            .iter()
            .copied()
            .filter(|e| inside(e.from, e.to) && e.back >= e.sent && e.answered >= e.received)
            .collect();
        let mut trips = vec![Vec::new(); nodes];
        for exchange in exchanges.iter().filter(|e| e.from == 0 || e.to == 0) {
            trips[exchange.from.max(exchange.to)].push(trip(exchange, true));
        }
        let offsets = trips.into_iter().map(Offset::from_trips).collect();
        let mut clocks =
            Self { offsets, open_loops: open_loops(&exchanges), contradictions: vec![0; nodes] };
        for round in 0..ROUNDS {
            clocks.tighten(&exchanges, messages, inside, round == 0);
        }
        clocks
    }

    /// Tightens the bounds on the clocks' offsets with all messages and probes between nodes.
    fn tighten(
        &mut self,
        exchanges: &[Exchange],
        messages: &[Message],
        inside: impl Fn(usize, usize) -> bool,
        first: bool,
    ) {
        for message in messages.iter().filter(|m| inside(m.from, m.to)) {
            let agrees = self.after(message);
            self.contradictions[message.to] += usize::from(first && !agrees);
        }
        for exchange in exchanges.iter().filter(|e| e.from != 0 && e.to != 0) {
            let Exchange { from, to, sent, received, answered, back } = *exchange;
            // Contradictions between probes are reported as open loops, so the result is ignored
            // here.
            self.after(&Message { from, to, sent, received });
            self.after(&Message { from: to, to: from, sent: answered, received: back });
        }
    }

    /// Tightens both nodes' offsets with a message; returns whether the message is consistent.
    fn after(&mut self, message: &Message) -> bool {
        let Message { from, to, sent, received } = *message;
        let between = |offsets: Option<(i64, i64)>, node: usize| match node {
            0 => Some((0, 0)),
            _ => offsets,
        };
        let own = |node: usize, at: i64| self.offsets[node].as_ref().and_then(|o| o.offsets(at));
        let sender = between(own(from, sent), from);
        let receiver = between(own(to, received), to);
        let there = received - sent;
        let mut agrees = true;
        if let (Some((_, high)), Some(offset)) = (sender, &mut self.offsets[to]) {
            let order = received;
            let at = received;
            let bound = Bound { order, at, offset: there + high, side: Side::Below };
            agrees &= offset.tighten(&bound);
        }
        if let (Some((low, _)), Some(offset)) = (receiver, &mut self.offsets[from]) {
            let order = sent;
            let at = sent;
            let bound = Bound { order, at, offset: low - there, side: Side::Above };
            agrees &= offset.tighten(&bound);
        }
        agrees
    }

    /// Returns the head's time when `node`'s clock shows `at`; `None` if its offset is unknown.
    pub fn to_head(&self, node: usize, at: i64) -> Option<Moment> {
        match node {
            0 => Some(Moment { ns: at, error_ns: 0 }),
            _ => self.offsets.get(node)?.as_ref()?.to_head(at),
        }
    }

    /// Returns the minimum and maximum difference between the rates of `node`'s clock and the
    /// head's, as a fraction (1e-6 is 1 ppm); `None` if unknown.
    pub fn rates(&self, node: usize) -> Option<(f64, f64)> {
        self.offsets.get(node)?.as_ref()?.rates()
    }

    /// Returns the steps of `node`'s clock relative to the head's; empty if its offset is unknown.
    pub fn steps(&self, node: usize) -> Vec<Step> {
        self.offsets.get(node).and_then(Option::as_ref).map_or_else(Vec::new, Offset::steps)
    }

    /// Returns the loops of three nodes whose offsets do not add up to zero.
    pub fn open_loops(&self) -> &[Closure] {
        &self.open_loops
    }

    /// Returns the number of messages to `node` that seem to arrive before they were sent, by more
    /// than the clocks' error bounds.
    pub fn contradictions(&self, node: usize) -> usize {
        self.contradictions.get(node).copied().unwrap_or(0)
    }
}
