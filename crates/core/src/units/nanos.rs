use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::decimal;
use super::error::{UnitError, excerpt};

/// Nanoseconds: a duration, or an instant of a node's monotonic clock since an arbitrary origin of
/// that node. 64 bits last 584 years.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Zero: no time, and the origin of every clock.
    pub const ZERO: Self = Self(0);
    /// The maximum: later than every event.
    pub const MAX: Self = Self(u64::MAX);

    /// Converts microseconds, saturating.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// Converts milliseconds, saturating.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Converts seconds, saturating.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// Parses a time; a number without a unit is seconds.
    ///
    /// # Errors
    /// When it is not a time.
    pub fn parse_or_seconds(text: &str) -> Result<Self, UnitError> {
        let is_number = text.ends_with(|last: char| last.is_ascii_digit());
        if is_number { format!("{text}s").parse() } else { text.parse() }
    }

    /// Returns seconds, for ratios and rates.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// Formats the time for people: `8.99 s`, `12.3 ms`, `4.1 µs`, `850 ns`. The unit is the largest
/// that gives at least 1 after rounding; times above one second are always in seconds, so that
/// columns can be compared. Width and alignment are respected.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = u128::from(self.0);
        let tenths_of_micros = (nanos + 50) / 100;
        let tenths_of_millis = (nanos + 50_000) / 100_000;
        let hundredths = (nanos + 5_000_000) / 10_000_000;
        let text = if nanos < 1_000 {
            format!("{nanos} ns")
        } else if tenths_of_micros < 10_000 {
            format!("{}.{} µs", tenths_of_micros / 10, tenths_of_micros % 10)
        } else if tenths_of_millis < 10_000 {
            format!("{}.{} ms", tenths_of_millis / 10, tenths_of_millis % 10)
        } else {
            format!("{}.{:02} s", hundredths / 100, hundredths % 100)
        };
        f.pad(&text)
    }
}

/// Parses `50us`, `1.5 ms`, `850ns`, `3s`, `30min`, `2h`; `µs` is `us`.
impl FromStr for Nanos {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong = || UnitError::Time(excerpt(text));
        let (number, unit) = decimal::split(text).ok_or_else(wrong)?;
        let factor = match unit {
            "ns" => 1,
            "us" | "µs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "min" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return Err(wrong()),
        };
        number
            .times(factor)
            .map(Self)
            .ok_or_else(|| UnitError::TooLarge { text: excerpt(text), most: Self::MAX.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_its_units() {
        let table = [("50us", 50_000), ("1.5 ms", 1_500_000), ("850ns", 850), ("0.5µs", 500)];
        for (text, nanos) in table {
            assert_eq!(text.parse(), Ok(Nanos(nanos)), "{text}");
        }
        assert_eq!("3s".parse(), Ok(Nanos::from_secs(3)));
        assert_eq!("1.5h".parse(), "90min".parse::<Nanos>());
        assert_eq!(Nanos::parse_or_seconds("0.5"), Ok(Nanos::from_millis(500)));
        assert_eq!(Nanos::parse_or_seconds("2min"), Ok(Nanos::from_secs(120)));
        assert!(Nanos::parse_or_seconds("-1").is_err());
        for wrong in ["", "3", "s", "-1s", "3 d", "1e9s"] {
            assert_eq!(wrong.parse::<Nanos>(), Err(UnitError::Time(wrong.into())));
        }
        assert!(matches!("99999999999s".parse::<Nanos>(), Err(UnitError::TooLarge { .. })));
    }

    #[test]
    fn prints_the_unit_that_fits_after_rounding() {
        let table: &[(u64, &str)] = &[
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.0 µs"),
            (4_099, "4.1 µs"),
            (999_949, "999.9 µs"),
            (999_950, "1.0 ms"),
            (12_345_678, "12.3 ms"),
            (999_949_999, "999.9 ms"),
            (999_950_000, "1.00 s"),
            (8_990_000_000, "8.99 s"),
            (7_312_450_000_000, "7312.45 s"),
            (u64::MAX, "18446744073.71 s"),
        ];
        for (nanos, text) in table {
            assert_eq!(Nanos(*nanos).to_string(), *text);
        }
        assert_eq!(format!("[{:>9}]", Nanos::from_micros(4)), "[   4.0 µs]");
    }

    #[test]
    fn conversions_saturate() {
        assert_eq!(Nanos::from_secs(u64::MAX), Nanos::MAX);
        assert_eq!(
            (Nanos::from_micros(2), Nanos::from_millis(3)),
            (Nanos(2_000), Nanos(3_000_000))
        );
        assert!((Nanos::from_millis(1500).as_secs_f64() - 1.5).abs() < 1e-12);
    }

    #[test]
    fn is_a_bare_number_in_json() {
        assert_eq!(serde_json::to_string(&Nanos(17)).expect("a number"), "17");
        assert_eq!(serde_json::from_str::<Nanos>("17").expect("a number"), Nanos(17));
    }
}
