use super::record::Record;

/// Samples of counters, taken in rounds. When the buffer is full, every second round is discarded:
/// counters only grow, so only resolution is lost.
#[derive(Clone, Debug)]
pub struct Samples {
    rows: Vec<(u64, Record)>,
    room: usize,
    /// The number of rounds so far.
    rounds: u64,
    /// Only rounds at multiples of this number are kept.
    stride: u64,
}

impl Default for Samples {
    fn default() -> Self {
        Self::new(1)
    }
}

impl Samples {
    /// Returns an empty set with a capacity of `room` samples.
    pub fn new(room: usize) -> Self {
        Self { rows: Vec::new(), room: room.max(1), rounds: 0, stride: 1 }
    }

    /// Begins a round; returns whether the caller should add samples in this round.
    pub fn begin(&mut self) -> bool {
        self.rounds += 1;
        (self.rounds - 1).is_multiple_of(self.stride)
    }

    /// Adds a sample of the current round. If the buffer stays full after thinning, the sample is
    /// dropped.
    pub fn push(&mut self, record: Record) {
        while self.rows.len() >= self.room && self.stride <= self.rounds {
            self.stride *= 2;
            let stride = self.stride;
            self.rows.retain(|(round, _)| (round - 1).is_multiple_of(stride));
        }
        if self.rows.len() < self.room {
            self.rows.push((self.rounds.max(1), record));
        }
    }

    /// Iterates over the samples in the order in which they were added.
    pub fn into_records(self) -> impl Iterator<Item = Record> {
        self.rows.into_iter().map(|(_, record)| record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Stage, Thread};

    #[test]
    fn room_is_kept_by_every_second_round() {
        let mut samples = Samples::new(16);
        for at_ns in 0..1000 {
            if samples.begin() {
                for thread in 0..2 {
                    let what = Stage::Read;
                    let running_ns = 0;
                    let waiting_ns = 0;
                    let thread = Thread { thread, what, at_ns, running_ns, waiting_ns };
                    samples.push(Record::Thread(thread));
                }
            }
            assert!(samples.rows.len() <= 16);
        }
        let at: Vec<u64> = samples.into_records().filter_map(|record| record.at_ns()).collect();
        assert!(at.len() > 8 && at.is_sorted(), "{at:?}");
        assert_eq!(at[0], 0, "the first round stays");
        assert!(at.last() > Some(&700), "{at:?}");
    }
}
