//! The bars of a row, reduced to as many as a screen can show.

use serde::{Serialize, Serializer};

/// An interval in which a node was active, shown as a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    /// Start in nanoseconds since the start of the run.
    pub(super) begin_ns: u64,
    /// End in nanoseconds since the start of the run.
    pub(super) end_ns: u64,
    /// The time at work in the interval, in nanoseconds.
    pub(super) busy_ns: u64,
    pub(super) bytes: u64,
    /// The number of blocks, or 1 for a bar without blocks; added up over merged bars.
    pub(super) count: u64,
    /// The other node's index in the plan plus 1; 0 if there is none or several.
    pub(super) peer: u32,
}

/// Serializes a slice as six numbers: start and length in microseconds, busy time in thousandths of
/// the length, bytes, count, peer.
impl Serialize for Slice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let length = self.end_ns - self.begin_ns;
        let busy = self.busy_ns.min(length).saturating_mul(1000).checked_div(length);
        let busy = busy.unwrap_or(1000);
        let begin = self.begin_ns / 1000;
        [begin, (self.end_ns / 1000) - begin, busy, self.bytes, self.count, self.peer.into()]
            .serialize(serializer)
    }
}

impl Slice {
    fn and(self, other: Self) -> Self {
        Self {
            begin_ns: self.begin_ns.min(other.begin_ns),
            end_ns: self.end_ns.max(other.end_ns),
            busy_ns: self.busy_ns.saturating_add(other.busy_ns),
            bytes: self.bytes.saturating_add(other.bytes),
            count: self.count.saturating_add(other.count),
            peer: if self.peer == other.peer { self.peer } else { 0 },
        }
    }
}

/// Reduces slices to at most `most` (at least one), in order of time. Slices that are separated by
/// the shortest gaps are merged, so that the longest gaps remain.
pub(super) fn thinned(mut slices: Vec<Slice>, most: usize) -> Vec<Slice> {
    slices.sort_by_key(|slice| (slice.begin_ns, slice.end_ns));
    let mut last_end = 0;
    let mut gaps: Vec<u64> = Vec::with_capacity(slices.len());
    for slice in &slices {
        gaps.push(slice.begin_ns.saturating_sub(last_end));
        last_end = last_end.max(slice.end_ns);
    }
    let keep = most.max(1);
    // The gap before the first slice does not count.
    let mut sorted: Vec<u64> = gaps.iter().skip(1).copied().collect();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let shortest = if slices.len() > keep { sorted.get(keep - 1).copied() } else { None };
    let mut thin: Vec<Slice> = Vec::new();
    for (slice, gap) in slices.into_iter().zip(gaps) {
        match thin.last_mut() {
            Some(last) if shortest.is_some_and(|shortest| gap <= shortest) => {
                *last = last.and(slice)
            }
            _ => thin.push(slice),
        }
    }
    thin
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(begin_ns: u64, end_ns: u64) -> Slice {
        Slice { begin_ns, end_ns, busy_ns: end_ns - begin_ns, bytes: 1, count: 1, peer: 3 }
    }

    #[test]
    fn the_longest_gap_is_kept() {
        let many: Vec<Slice> = (0..100)
            .map(|at| at * 10 + if at > 60 { 500 } else { 0 })
            .map(|at| slice(at, at + 9))
            .collect();
        let thin = thinned(many.clone(), 2);
        assert_eq!(thin.len(), 2);
        assert_eq!((thin[0].end_ns, thin[1].begin_ns), (609, 1110));
        assert_eq!(thin.iter().map(|slice| slice.bytes).sum::<u64>(), 100);
        assert_eq!(thinned(many.clone(), 100), many);
        assert!(thinned(many, 0).len() <= 1);
        assert!(thinned(Vec::new(), 5).is_empty());
    }

    #[test]
    fn overlapping_slices_have_no_gap() {
        let thin = thinned(vec![slice(0, 100), slice(10, 20), slice(300, 400)], 2);
        assert_eq!((thin.len(), thin[0].count), (2, 2));
    }
}
