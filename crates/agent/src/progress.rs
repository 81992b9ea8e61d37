//! Tells heads that work goes on which may take any time.

use std::time::Duration;

use garland_sys::clock::{self, after};
use garland_sys::sync::Mutex;

/// The minimum interval between two reports of progress to a head, which waits for 30 s.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Returns a function that is called as often as there is progress, and then calls `tell` at most
/// once per [`REPORT_INTERVAL`]. Work that hangs does not call it.
pub fn at_intervals(tell: impl Fn()) -> impl Fn() {
    let due_ns = Mutex::new(clock::now_ns());
    move || {
        let mut due_ns = due_ns.lock();
        if clock::until(*due_ns).is_zero() {
            *due_ns = after(REPORT_INTERVAL);
            tell();
        }
    }
}
