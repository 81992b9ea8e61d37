//! The rows of a node's spans: one for each stage of each thread and lane. Overlapping spans (after
//! a backwards clock step, or in foreign traces) get further rows, since the slices of a row must
//! not overlap.

use std::collections::BTreeMap;

use garland_core::trace::{NONE, Span, Stage};

use crate::format::Row;

/// The start and the end of a span by the head's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Start in nanoseconds.
    pub(crate) begin_ns: u64,
    /// End in nanoseconds; never before the start.
    pub(crate) end_ns: u64,
}

/// The rows of a node, and the assignment of spans to them.
pub(crate) struct Rows {
    /// The rows, ordered by stage, lane and thread.
    pub(crate) rows: Vec<Row>,
    /// For each span, in the order of the spans, the index of its row in `rows`.
    pub(crate) of_span: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    stage: Stage,
    lane: u16,
    thread: u16,
}

/// Assigns spans to rows. `spans` must be in order of their start. `next_id` returns a new ID for
/// each row.
pub(crate) fn lay_out<'a>(
    spans: impl Iterator<Item = (&'a Span, Stretch)>,
    mut next_id: impl FnMut() -> u64,
) -> Rows {
    // The end of the last span of each row, by key.
    let mut taken: BTreeMap<Key, Vec<u64>> = BTreeMap::new();
    let mut places = Vec::new();
    for (span, stretch) in spans {
        let key = Key { stage: span.stage, lane: span.lane, thread: span.thread };
        let ends = taken.entry(key).or_default();
        let free = ends.iter().position(|end_ns| *end_ns <= stretch.begin_ns);
        let at = free.unwrap_or(ends.len());
        match ends.get_mut(at) {
            Some(end_ns) => *end_ns = stretch.end_ns,
            None => ends.push(stretch.end_ns),
        }
        places.push((key, at));
    }
    let mut rows = Vec::new();
    let mut firsts = BTreeMap::new();
    for (key, ends) in &taken {
        firsts.insert(*key, rows.len());
        for at in 0..ends.len() {
            rows.push(Row { id: next_id(), name: key.name(at) });
        }
    }
    let of_span = places.iter().map(|(key, at)| firsts[key] + at).collect();
    Rows { rows, of_span }
}

impl Key {
    /// Returns the name of row number `at`, counted from 0, among the rows with this key.
    fn name(self, at: usize) -> String {
        let mut name = self.stage.name().to_owned();
        if self.lane != NONE {
            name += &format!(", lane {}", self.lane);
        }
        name += &format!(", thread {}", self.thread);
        if at > 0 {
            name += &format!(" ({})", at + 1);
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::tests::span;

    #[test]
    fn overlapping_spans_get_rows_of_their_own() {
        let spans = [
            (span(Stage::Send, 1, 0), Stretch { begin_ns: 0, end_ns: 10 }),
            (span(Stage::Read, NONE, 0), Stretch { begin_ns: 2, end_ns: 3 }),
            (span(Stage::Send, 1, 1), Stretch { begin_ns: 5, end_ns: 8 }),
            (span(Stage::Send, 1, 2), Stretch { begin_ns: 8, end_ns: 9 }),
            (span(Stage::Send, 1, 3), Stretch { begin_ns: 10, end_ns: 10 }),
        ];
        let mut id = 6;
        let rows = lay_out(spans.iter().map(|(span, stretch)| (span, *stretch)), || {
            id += 1;
            id
        });
        let names: Vec<&str> = rows.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(
            names,
            ["read, lane 0, thread 1", "send, lane 0, thread 1", "send, lane 0, thread 1 (2)"]
        );
        assert_eq!(rows.rows.iter().map(|row| row.id).collect::<Vec<_>>(), [7, 8, 9]);
        assert_eq!(rows.of_span, [1, 0, 2, 2, 1]);
    }
}
