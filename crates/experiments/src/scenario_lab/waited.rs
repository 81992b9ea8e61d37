//! Whether programs had to wait for a processor.

use garland_analysis::grade::WIDEST;
use garland_sys::clock;
use garland_terminal::failure::Failure;
use serde::Serialize;

use super::ScenarioLab;

/// The time of a measurement in which at least one program of this machine was ready and had no
/// processor. 0 on a kernel that does not count it (`/proc/pressure/cpu`).
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(into = "f64")]
pub struct Waited {
    waited_ns: u64,
    all_ns: u64,
}

impl Waited {
    /// Returns whether programs waited so long that a time of some microseconds means nothing:
    /// whoever waits for a larger share than half an interval may be wide can be later by that
    /// much. The half-width of repeated runs is not enough, since a machine that is always busy
    /// repeats its times, too.
    pub fn is_long(self) -> bool {
        f64::from(self) > WIDEST
    }

    /// Returns what was waited beyond `set_up`, a command that measures next to nothing: the many
    /// threads of a command that begins wait for one another.
    #[must_use]
    pub fn beyond(self, set_up: Self) -> Self {
        let waited_ns = self.waited_ns.saturating_sub(set_up.waited_ns);
        Self { waited_ns, all_ns: self.all_ns.saturating_sub(set_up.all_ns).max(waited_ns) }
    }

    /// Returns the time between two counts of microseconds of waiting, of `all_ns` nanoseconds.
    fn between(before: Option<u64>, after: Option<u64>, all_ns: u64) -> Self {
        let us = before.zip(after).map_or(0, |(before, after)| after.saturating_sub(before));
        Self { waited_ns: us.saturating_mul(1000), all_ns }
    }

    #[cfg(test)]
    pub(crate) fn share(share: f64) -> Self {
        Self { waited_ns: (share * 1e9) as u64, all_ns: 1_000_000_000 }
    }
}

impl From<Waited> for f64 {
    /// Returns the share of the time, from 0 to 1.
    fn from(waited: Waited) -> Self {
        (waited.waited_ns as Self / waited.all_ns.max(1) as Self).min(1.0)
    }
}

/// Returns the microseconds, since the machine started, in which a program waited; `None` if `text`
/// is not that of `/proc/pressure/cpu`.
fn total(text: &str) -> Option<u64> {
    let some = text.lines().find(|line| line.starts_with("some "))?;
    some.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

impl ScenarioLab<'_> {
    /// Calls `work` unless the user has interrupted. Returns its result, and how long programs
    /// waited for a processor meanwhile.
    pub fn waiting<T>(
        &self,
        work: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<(T, Waited), Failure> {
        self.go_on()?;
        let count = || total(&std::fs::read_to_string("/proc/pressure/cpu").unwrap_or_default());
        let before = count();
        let began = clock::now_ns();
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
        // A command of 0.3 s that measures nothing waits for 60 ms by itself.
        let set_up = Waited::between(Some(0), Some(60_000), 300_000_000);
        assert!(set_up.is_long() && later(90_000).is_long());
        assert!(!later(90_000).beyond(set_up).is_long() && later(100_000).beyond(set_up).is_long());
        assert!(!set_up.beyond(later(90_000)).is_long());
    }
}
