//! Checks of values from the wire.

use std::fmt::Display;
use std::ops::RangeInclusive;

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
