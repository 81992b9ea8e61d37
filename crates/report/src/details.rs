//! The details of a slice.

use garland_core::trace::{Exchange, Lost, NO_BLOCK, NONE, Span, Stage};

use crate::format::{Slice, Step};

/// The names of all details, in the order of the details of a slice.
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

/// A detail's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    /// A number.
    Number(u64),
    /// A word.
    Text(&'a str),
}

/// Returns the details of a slice, each with its index in [`NAMES`]. Details that do not apply are left out.
pub(crate) fn of_slice<'a>(slice: &Slice<'a>) -> Vec<(usize, Value<'a>)> {
    let span = slice.span;
    let mut details = sums(span.busy_ns, span.bytes, u64::from(span.count));
    if span.stage == Stage::Control {
        details.extend(exchange(span).map(|name| (7, Value::Text(name))));
    } else if span.block != NO_BLOCK {
        details.push((3, Value::Number(u64::from(span.block))));
    }
    if span.lane != NONE {
        details.push((4, Value::Number(u64::from(span.lane))));
    }
    details.push((5, Value::Number(u64::from(span.thread))));
    if span.operation != 0 {
        details.push((6, Value::Number(u64::from(span.operation))));
    }
    details.extend(slice.peer.map(|peer| (8, Value::Text(peer))));
    // The clock error matters only between two nodes.
    if slice.peer.is_some() {
        details.extend(slice.error_ns.map(|error| (9, Value::Number(error))));
    }
    details.sort_by_key(|(name, _)| *name);
    details
}

/// Returns the details of a stretch of the critical path.
pub(crate) fn of_step(step: &Step) -> Vec<(usize, Value<'_>)> {
    let words = [(10, step.node.as_deref()), (11, step.to.as_deref()), (12, step.within)];
    words.into_iter().filter_map(|(name, word)| Some((name, Value::Text(word?)))).collect()
}

/// Returns the details of lost spans.
pub(crate) fn of_lost<'a>(lost: &Lost, peer: Option<&'a str>) -> Vec<(usize, Value<'a>)> {
    let mut details = sums(lost.busy_ns, lost.bytes, lost.count);
    if lost.lane != NONE {
        details.push((4, Value::Number(u64::from(lost.lane))));
    }
    details.extend(peer.map(|peer| (8, Value::Text(peer))));
    details
}

fn sums<'a>(busy_ns: u64, bytes: u64, blocks: u64) -> Vec<(usize, Value<'a>)> {
    vec![(0, Value::Number(busy_ns)), (1, Value::Number(bytes)), (2, Value::Number(blocks))]
}

/// Returns the kind of a control message; none for spans of other stages.
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
