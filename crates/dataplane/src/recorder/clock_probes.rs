//! The head asks every node what time it is: a burst when the copy begins, once in a while during
//! it, and a burst at its end. What the answers come to is for the analysis.

use garland_core::plan::NodeId;
use garland_core::trace::{NONE, Probe, Record, Samples};
use garland_sys::clock;

/// Round trips of a burst, one after another.
const BURST: u8 = 8;

/// Time between round trips during the copy.
const EVERY_NS: u64 = 250_000_000;

/// Answers that are kept of a burst and on the way, a node: more than a copy of minutes has.
const KEPT: usize = 256;

/// Answers that are kept in all.
const KEPT_IN_ALL: usize = 1 << 16;

/// The head's questions and the answers.
#[derive(Debug)]
pub struct ClockProbes {
    /// Round trips that each node's burst has yet to make.
    left: Vec<u8>,
    /// Bursts aren't thinned out.
    bursts: Vec<Record>,
    between: Samples,
    next_ns: u64,
}

impl ClockProbes {
    /// Nothing asked yet of so many nodes.
    pub fn new(nodes: usize) -> Self {
        let room = (KEPT * nodes).min(KEPT_IN_ALL);
        let (bursts, between) = (Vec::new(), Samples::new(room));
        Self { left: vec![0; nodes], bursts, between, next_ns: u64::MAX }
    }

    /// One more node.
    pub fn grow(&mut self) {
        self.left.push(0);
    }

    /// A burst begins: the first question goes to everyone now, and the next with each answer.
    pub fn begin_burst(&mut self) {
        self.left.fill(BURST - 1);
        self.next_ns = clock::now_ns() + EVERY_NS;
    }

    /// Whether it is time for another question to everyone.
    pub fn is_due(&mut self) -> bool {
        let now = clock::now_ns();
        let due = now >= self.next_ns;
        if due {
            self.next_ns = now + EVERY_NS;
            // Those that follow belong to this round.
            self.between.begin();
        }
        due
    }

    /// An answer came; says whether to ask that node again at once.
    pub fn answered(&mut self, id: NodeId, times: [u64; 4]) -> bool {
        let [sent_ns, received_ns, answered_ns, back_ns] = times;
        let peer = u16::try_from(id.0).unwrap_or(NONE);
        let record = Record::Probe(Probe { peer, sent_ns, received_ns, answered_ns, back_ns });
        let Some(left) = self.left.get_mut(id.index()) else { return false };
        // Times that can't be are no answer.
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

    /// The answers, in the order of the questions.
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
    fn a_burst_ends_and_what_cannot_be_is_no_answer() {
        let mut probes = ClockProbes::new(2);
        probes.begin_burst();
        let id = NodeId(1);
        assert!(!probes.answered(id, [10, 9, 8, 11]), "answered before it came");
        let again = (1..=20).take_while(|at| probes.answered(id, [*at, 500, 501, at + 3])).count();
        assert_eq!(again, usize::from(BURST) - 1);
        assert!(!probes.answered(NodeId(7), [1, 1, 1, 1]), "nobody");
        assert_eq!(probes.into_records().len(), usize::from(BURST));
    }
}
