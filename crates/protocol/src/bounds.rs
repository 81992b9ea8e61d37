//! Checks of values from the wire.

use std::fmt::Display;
use std::ops::RangeInclusive;

use serde::{Deserialize, Deserializer};

/// The maximum length of a value that a node reports of itself, such as the name of a device, in
/// bytes. A table shows these values.
pub(super) const FACT_MAX: usize = 256;

/// The maximum number of values that a node reports together.
const FACTS_MAX: usize = 64;

/// The maximum length of a reason that a node reports, in bytes: room for a path and a sentence.
pub(super) const REASON_MAX: usize = 8 << 10;

/// Checks that `value`, a number of `what`, is within `bounds`.
pub(super) fn within<T: PartialOrd + Display>(
    what: &str,
    value: T,
    bounds: RangeInclusive<T>,
) -> Result<(), String> {
    let least = bounds.start();
    let most = bounds.end();
    ensure(bounds.contains(&value), || format!("{value} {what}: must be {least} to {most}"))
}

/// Returns the error `reason` unless `is_sound` is true.
pub(super) fn ensure<R: Into<String>>(
    is_sound: bool,
    reason: impl FnOnce() -> R,
) -> Result<(), String> {
    if is_sound { Ok(()) } else { Err(reason().into()) }
}

/// Truncates a text to at most `most` bytes.
pub(super) fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        let end = (0..=most).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(end);
    }
}

/// Parses a value that a node reports of itself, truncated to [`FACT_MAX`] bytes.
pub(super) fn fact<'de, D: Deserializer<'de>>(bytes: D) -> Result<String, D::Error> {
    text(bytes, FACT_MAX)
}

/// Parses names and values that a node reports of itself: the first [`FACTS_MAX`] of them.
pub(super) fn facts<'de, D: Deserializer<'de>>(
    bytes: D,
) -> Result<Vec<(String, String)>, D::Error> {
    let mut facts = Vec::<(String, String)>::deserialize(bytes)?;
    facts.truncate(FACTS_MAX);
    for (name, value) in &mut facts {
        cut(name, FACT_MAX);
        cut(value, FACT_MAX);
    }
    Ok(facts)
}

/// Parses a reason that a node reports, truncated to [`REASON_MAX`] bytes.
pub(super) fn reason<'de, D: Deserializer<'de>>(bytes: D) -> Result<String, D::Error> {
    text(bytes, REASON_MAX)
}

/// Parses a reason that a node reports if it could not do something.
pub(super) fn reason_if_any<'de, D: Deserializer<'de>>(
    bytes: D,
) -> Result<Option<String>, D::Error> {
    let mut reason = Option::<String>::deserialize(bytes)?;
    reason.iter_mut().for_each(|reason| cut(reason, REASON_MAX));
    Ok(reason)
}

/// Parses a node's answer, or the reason that it has none.
pub(super) fn answer<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    bytes: D,
) -> Result<Result<T, String>, D::Error> {
    let mut answer = Result::<T, String>::deserialize(bytes)?;
    if let Err(reason) = &mut answer {
        cut(reason, REASON_MAX);
    }
    Ok(answer)
}

fn text<'de, D: Deserializer<'de>>(bytes: D, most: usize) -> Result<String, D::Error> {
    let mut text = String::deserialize(bytes)?;
    cut(&mut text, most);
    Ok(text)
}
