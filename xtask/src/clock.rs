//! Reads the clock for chores and benchmarks, which read it nowhere else; the product has
//! `sys::clock`.

use std::time::{Duration, Instant};

/// A running stopwatch on the monotonic clock.
#[derive(Clone, Copy)]
pub struct Watch(Instant);

#[allow(clippy::disallowed_methods)] // The only place that reads the clock.
impl Watch {
    /// Starts a stopwatch now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Returns the time since the start.
    pub fn read(self) -> Duration {
        self.0.elapsed()
    }
}

/// Returns today's date in UTC, as `2026-11-21`.
///
/// The algorithm is civil-from-days by Howard Hinnant ("chrono-Compatible Low-Level Date
/// Algorithms"), which needs no table of months.
#[allow(clippy::disallowed_methods)] // As above.
pub fn today() -> String {
    use std::time::{SystemTime, UNIX_EPOCH};

    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    civil(seconds / 86_400)
}

fn civil(days_since_1970: u64) -> String {
    let z = days_since_1970 + 719_468;
    let era = z / 146_097;
    let day_of_era = z % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        assert_eq!(civil(0), "1970-01-01");
        assert_eq!(civil(11_016), "2000-02-29");
        assert_eq!(civil(11_017), "2000-03-01");
        assert_eq!(civil(20_818), "2026-12-31");
    }
}
