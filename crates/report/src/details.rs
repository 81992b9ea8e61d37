//! The details of a slice: numbers and words that timelines show with it.

use garland_core::trace::{Exchange, Lost, NO_BLOCK, NONE, Span, Stage};

use crate::format::{Slice, Step};

/// The names of all details. The details of a slice come first, in the order of [`of_slice`].
pub(crate) const NAMES: [&str; 13] = [
    "busy_ns",
    "bytes",
    "blocks",
    "block",
    "lane",
    "thread",
    "operation",
    "exchange",
    "peer",
    "clock_error_ns",
    "node",
    "to",
    "within",
];

/// The value of a detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    /// A number.
    Number(u64),
    /// A word.
    Text(&'a str),
}

/// Returns the details of a slice, each with the index of its name in [`NAMES`]. Details that do
/// not apply are omitted.
pub(crate) fn of_slice<'a>(slice: &Slice<'a>) -> Vec<(usize, Value<'a>)> {
    let span = slice.span;
    let number = |is_known: bool, number: u64| is_known.then_some(Value::Number(number));
    let has_block = span.stage != Stage::Control && span.block != NO_BLOCK;
    // The clock error matters only between two nodes.
    let error_ns = slice.peer.and(slice.error_ns);
    let values = [
        number(true, span.busy_ns),
        number(true, span.bytes),
        number(true, span.count.into()),
        number(has_block, span.block.into()),
        number(span.lane != NONE, span.lane.into()),
        number(true, span.thread.into()),
        number(span.operation != 0, span.operation.into()),
        exchange(span).map(Value::Text),
        slice.peer.map(Value::Text),
        error_ns.map(Value::Number),
    ];
    values.into_iter().enumerate().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Returns the details of a stretch of the critical path, each with the index of its name in
/// [`NAMES`].
pub(crate) fn of_step(step: &Step) -> Vec<(usize, Value<'_>)> {
    let words = [(10, step.node.as_deref()), (11, step.to.as_deref()), (12, step.within)];
    words.into_iter().filter_map(|(name, word)| Some((name, Value::Text(word?)))).collect()
}

/// Returns the details of lost spans, each with the index of its name in [`NAMES`]. `peer` is the
/// name of the other node.
pub(crate) fn of_lost<'a>(lost: &Lost, peer: Option<&'a str>) -> Vec<(usize, Value<'a>)> {
    let mut details: Vec<_> = [lost.busy_ns, lost.bytes, lost.count]
        .into_iter()
        .enumerate()
        .map(|(name, sum)| (name, Value::Number(sum)))
        .collect();
    if lost.lane != NONE {
        details.push((4, Value::Number(lost.lane.into())));
    }
    details.extend(peer.map(|peer| (8, Value::Text(peer))));
    details
}

/// Returns the kind of a span's control message; `None` for spans of other stages.
pub(crate) fn exchange(span: &Span) -> Option<&'static str> {
    let of_control = span.stage == Stage::Control;
    let exchange = of_control.then(|| Exchange::of_number(span.block)).flatten()?;
    Some(match exchange {
        Exchange::Begin => "begin",
        Exchange::Commit => "commit",
        Exchange::Close => "close",
        Exchange::Queue => "queue",
        Exchange::Operation => "operation",
    })
}
