//! Extracts round trips and messages from traces.

use std::collections::BTreeMap;

use garland_core::trace::{NO_BLOCK, Record, Span, Stage, Trace};

use super::clocks::Clocks;
use super::exchange::{Exchange, Message};

/// A block's transfer over a hop: from, to, lane, block.
type Passing = (usize, usize, u16, u32);

/// The round trips and messages of the traces that were added.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    exchanges: Vec<Exchange>,
    sent: BTreeMap<Passing, i64>,
    received: BTreeMap<Passing, i64>,
}

impl Evidence {
    /// Adds the round trips and messages in the trace of node `node`. A message is the transfer of
    /// one block; spans of several blocks are ignored.
    pub fn learn(&mut self, node: usize, trace: &Trace) {
        for record in &trace.records {
            match record {
                Record::Probe(probe) => self.exchanges.push(Exchange {
                    from: node,
                    to: usize::from(probe.peer),
                    sent: reading(probe.sent_ns),
                    received: reading(probe.received_ns),
                    answered: reading(probe.answered_ns),
                    back: reading(probe.back_ns),
                }),
                Record::Span(span) if span.count == 1 && span.block != NO_BLOCK => {
                    self.learn_block(node, span);
                }
                _ => {}
            }
        }
    }

    fn learn_block(&mut self, node: usize, span: &Span) {
        let peer = usize::from(span.peer);
        match span.stage {
            Stage::Send | Stage::Relay => {
                let way = (node, peer, span.lane, span.block);
                self.sent.insert(way, reading(span.begin_ns));
            }
            Stage::Receive => {
                let way = (peer, node, span.lane, span.block);
                self.received.insert(way, reading(span.end_ns));
            }
            _ => {}
        }
    }

    /// Computes the clocks of `nodes` nodes from the traces so far.
    pub fn clocks(&self, nodes: usize) -> Clocks {
        let both = |(way, &sent): (&Passing, &i64)| {
            let received = *self.received.get(way)?;
            Some(Message { from: way.0, to: way.1, sent, received })
        };
        let messages: Vec<Message> = self.sent.iter().filter_map(both).collect();
        Clocks::estimate(nodes, &self.exchanges, &messages)
    }
}

/// Converts a reading of a monotonic clock, clamped to 2^60 ns (36 years), so that sums of a few
/// readings cannot overflow, whatever a file contains.
pub fn reading(ns: u64) -> i64 {
    const MAX_READING_NS: i64 = 1 << 60;
    i64::try_from(ns).unwrap_or(MAX_READING_NS).min(MAX_READING_NS)
}
