//! Waits for conditions, with a deadline that only a hang can reach.

use std::time::Duration;

use garland_sys::clock;

/// The time after which an operation counts as hanging, even on a slow and busy machine.
pub const DEADLINE: Duration = Duration::from_secs(240);

const LOOK: Duration = Duration::from_millis(5);

/// Waits until `look` finds something.
///
/// # Panics
/// When it hasn't within [`DEADLINE`]; says `what` was waited for.
pub fn await_some<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = clock::now_ns() + DEADLINE.as_nanos() as u64;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(clock::now_ns() < end, "waited {} s for {what}", DEADLINE.as_secs());
        std::thread::sleep(LOOK);
    }
}

/// Waits until `is_so`.
///
/// # Panics
/// When it isn't within [`DEADLINE`]; says `what` was waited for.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    await_some(what, || is_so().then_some(()));
}

/// Tries until an attempt takes less than `limit`, at most four times: a busy machine takes longer now and
/// then, but a faulty wait happens every time.
///
/// # Panics
/// When all attempts took longer; says `what` takes so long.
pub fn soon(what: &str, limit: Duration, mut attempt: impl FnMut() -> Duration) {
    let mut took = Vec::new();
    while took.last().is_none_or(|took| *took >= limit) {
        assert!(took.len() < 4, "{what} takes {took:.2?}");
        took.push(attempt());
    }
}
