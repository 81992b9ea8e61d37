//! Clock probes: the head asks every node for its time, in a burst at the beginning of the copy, at
//! intervals during the copy, and in a burst at the end. The analysis computes the clock offsets
//! from the answers.

use garland_core::plan::NodeId;
use garland_core::trace::{Probe, Record, Samples};
use garland_sys::clock;

use super::at::peer_index;

/// The number of round trips in a burst; they follow one another.
const BURST: u8 = 8;

/// The shortest interval in nanoseconds between the probes of a node during the copy, and the
/// interval between the probes of any two nodes if there are more than a hundred: their number a
/// second does not grow.
const EVERY_NS: u64 = 250_000_000;
const EACH_NS: u64 = 2_500_000;

/// The maximum number of answers that are kept per node, not counting those of bursts.
const MAX_KEPT_ANSWERS: usize = 256;

/// The maximum number of answers that are kept of all nodes together. Answers of bursts and other
/// answers are limited separately.
const KEPT_IN_ALL: usize = 1 << 16;

/// Decides when nodes are probed, and keeps their answers.
#[derive(Debug)]
pub struct ClockProbes {
    /// The number of round trips that remain in the burst, for each node.
    left: Vec<u8>,
    /// The answers of bursts; of other answers only a sample is kept.
    bursts: Vec<Record>,
    between: Samples,
    next_ns: u64,
}

impl ClockProbes {
    /// Returns an instance for `nodes` nodes, without answers.
    pub fn new(nodes: usize) -> Self {
        let room = (MAX_KEPT_ANSWERS * nodes).min(KEPT_IN_ALL);
        let bursts = Vec::new();
        let between = Samples::new(room);
        Self { left: vec![0; nodes], bursts, between, next_ns: u64::MAX }
    }

    /// Adds a node at the end of the plan.
    pub fn grow(&mut self) {
        self.left.push(0);
    }

    /// Begins a burst. The caller sends the first probe to all nodes now; a node gets each further
    /// probe after its answer.
    pub fn begin_burst(&mut self) {
        self.left.fill(BURST - 1);
        self.next_ns = clock::now_ns() + self.every_ns();
    }

    /// Returns whether another probe to all nodes is due. If so, starts the next interval.
    pub fn is_due(&mut self) -> bool {
        let now = clock::now_ns();
        let due = now >= self.next_ns;
        if due {
            self.next_ns = now + self.every_ns();
            // The next records belong to this round.
            self.between.begin();
        }
        due
    }

    fn every_ns(&self) -> u64 {
        EVERY_NS.max(EACH_NS.saturating_mul(self.left.len() as u64))
    }

    /// Records an answer of node `id`. `times` are in nanoseconds: sent by the head, received and
    /// answered by the node, received by the head. Impossible times are ignored. Returns whether to
    /// probe the node again at once.
    pub fn answered(&mut self, id: NodeId, times: [u64; 4]) -> bool {
        let [sent_ns, received_ns, answered_ns, back_ns] = times;
        let peer = peer_index(id);
        let record = Record::Probe(Probe { peer, sent_ns, received_ns, answered_ns, back_ns });
        let Some(left) = self.left.get_mut(id.index()) else { return false };
        // Ignore impossible times.
        if !record.is_sound() || sent_ns == 0 {
            return false;
        }
        if *left == 0 {
            self.between.push(record);
            return false;
        }
        *left -= 1;
        if self.bursts.len() < KEPT_IN_ALL {
            self.bursts.push(record);
        }
        true
    }

    /// Returns the answers, in the order of the probes.
    pub fn into_records(self) -> Vec<Record> {
        let mut records = self.bursts;
        records.extend(self.between.into_records());
        records.sort_by_key(Record::at_ns);
        records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_ends_and_impossible_times_are_ignored() {
        let mut probes = ClockProbes::new(2);
        probes.begin_burst();
        let id = NodeId(1);
        assert!(!probes.answered(id, [10, 9, 8, 11]), "answered before it was received");
        let again = (1..=20).take_while(|at| probes.answered(id, [*at, 500, 501, at + 3])).count();
        assert_eq!(again, usize::from(BURST) - 1);
        assert!(!probes.answered(NodeId(7), [1, 1, 1, 1]), "no such node");
        assert_eq!(probes.into_records().len(), usize::from(BURST));
    }
}
