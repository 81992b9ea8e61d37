//! Whether programs had to wait for a processor.

use garland_analysis::grade::WIDEST;
use garland_sys::clock;
use serde::Serialize;

use super::ScenarioLab;
use garland_terminal::failure::Failure;

/// The share of a measurement's time, from 0 to 1, in which at least one program of this machine was ready
/// and had no processor. 0 on a kernel that does not count it (`/proc/pressure/cpu`).
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Waited(f64);

impl Waited {
    /// Returns whether programs waited so long that a time of some microseconds means nothing: whoever waits
    /// for a larger share than half an interval may be wide can be later by that much. The half-width of
    /// repeated runs is not enough, since a machine that is always busy repeats its times, too.
    pub fn is_long(self) -> bool {
        self.0 > WIDEST
    }

    /// Returns the share between two counts of microseconds of waiting, within `ns` nanoseconds.
    fn between(before: Option<u64>, after: Option<u64>, ns: u64) -> Self {
        let (Some(before), Some(after)) = (before, after) else { return Self::default() };
        Self(after.saturating_sub(before) as f64 * 1000.0 / ns.max(1) as f64)
    }

    #[cfg(test)]
    pub(crate) fn share(share: f64) -> Self {
        Self(share)
    }
}

/// Returns the microseconds, since the machine started, in which a program waited; `None` if `text` is not
/// that of `/proc/pressure/cpu`.
fn total(text: &str) -> Option<u64> {
    let some = text.lines().find(|line| line.starts_with("some "))?;
    some.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

impl ScenarioLab<'_> {
    /// Calls `work` unless the user has interrupted. Returns its result, and for which share of its time
    /// programs waited for a processor.
    pub fn waiting<T>(
        &self,
        work: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<(T, Waited), Failure> {
        self.go_on()?;
        let count = || total(&std::fs::read_to_string("/proc/pressure/cpu").unwrap_or_default());
        let (before, began) = (count(), clock::now_ns());
        let done = work()?;
        Ok((done, Waited::between(before, count(), clock::now_ns() - began)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_a_share_of_the_time_and_void_above_half_a_width() {
        let text = "some avg10=9.17 avg60=30.64 avg300=30.85 total=16498059077\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
        let count = total(text);
        assert_eq!(count, Some(16_498_059_077));
        let later = |us: u64| Waited::between(count, count.map(|count| count + us), 1_000_000_000);
        assert!(!later(49_000).is_long() && later(51_000).is_long());
        assert!(!Waited::between(total(""), count, 1).is_long());
    }
}
