//! Waits for conditions. The deadline is so long that only a hang exceeds it.

use std::time::Duration;

use garland_sys::clock;

/// The time after which an operation counts as hanging, even on a slow and busy machine.
pub const DEADLINE: Duration = Duration::from_secs(240);

const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// Calls `look` until it returns a value, and returns the value.
///
/// # Panics
/// When `look` returns no value within [`DEADLINE`]; the message contains `what`, its description.
pub fn await_some<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = clock::now_ns() + DEADLINE.as_nanos() as u64;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(clock::now_ns() < end, "waited {} s for {what}", DEADLINE.as_secs());
        std::thread::sleep(LOOK_INTERVAL);
    }
}

/// Waits until `is_so` returns true.
///
/// # Panics
/// When `is_so` is still false after [`DEADLINE`]; the message contains `what`.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    await_some(what, || is_so().then_some(()));
}

/// Repeats `attempt`, which returns its duration, until an attempt takes less than `limit`, at most
/// four times. A busy machine is slow now and then, but a faulty wait is slow every time.
///
/// # Panics
/// When all attempts took longer; the message contains `what` and the durations.
pub fn soon(what: &str, limit: Duration, mut attempt: impl FnMut() -> Duration) {
    let mut took = Vec::new();
    while took.last().is_none_or(|took| *took >= limit) {
        assert!(took.len() < 4, "{what} takes {took:.2?}");
        took.push(attempt());
    }
}
