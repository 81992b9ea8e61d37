use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Nanos;
use super::decimal;
use super::error::{UnitError, excerpt};

/// A rate in whole bits per second, so that plans with rates can be compared and hashed.
///
/// ```
/// use garland_core::units::Rate;
/// let wire: Rate = "1gbit".parse()?;
/// assert_eq!(wire.to_string(), "125.0 MB/s (1.000 Gbit/s)");
/// # Ok::<(), garland_core::units::UnitError>(())
/// ```
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Rate {
    bits_per_second: u64,
}

impl Rate {
    /// Converts a rate in bits per second.
    pub const fn from_bits_per_second(bits_per_second: u64) -> Self {
        Self { bits_per_second }
    }

    /// Converts a rate in bytes per second, saturating.
    pub const fn from_bytes_per_second(bytes_per_second: u64) -> Self {
        Self { bits_per_second: bytes_per_second.saturating_mul(8) }
    }

    /// Returns the rate of `bytes` in `elapsed`, rounded to the nearest bit per second; `None` if
    /// `elapsed` is zero.
    pub fn from_bytes_over(bytes: u64, elapsed: Nanos) -> Option<Self> {
        let nanos = u128::from(elapsed.0);
        let bits = u128::from(bytes) * 8 * 1_000_000_000;
        let rounded = (bits + nanos / 2).checked_div(nanos)?;
        Some(Self { bits_per_second: u64::try_from(rounded).unwrap_or(u64::MAX) })
    }

    /// Returns bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.bits_per_second
    }

    /// Returns bytes per second, exact to an eighth up to 2^53 bits per second.
    pub fn bytes_per_second(self) -> f64 {
        self.bits_per_second as f64 / 8.0
    }
}

/// Formats the rate in bytes and bits, since disks are rated in bytes and networks in bits: `119.4
/// MB/s (0.955 Gbit/s)`. Below 1 MB/s the units are kB/s and Mbit/s, below 1 kB/s B/s and bit/s.
/// Width and alignment are respected.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.bits_per_second as f64;
        let bytes = bits / 8.0;
        let text = if bytes >= 999_950.0 {
            format!("{:.1} MB/s ({:.3} Gbit/s)", bytes / 1e6, bits / 1e9)
        } else if bytes >= 999.5 {
            format!("{:.1} kB/s ({:.3} Mbit/s)", bytes / 1e3, bits / 1e6)
        } else {
            format!("{bytes:.0} B/s ({bits:.0} bit/s)")
        };
        f.pad(&text)
    }
}

/// Parses `1gbit`, `2.5gbit`, `1Gbit/s`, `119.4MB/s`, `64KiB/s`.
///
/// Prefixes of bits and of `B/s` are powers of 1000; `KiB/s`, `MiB/s` and `GiB/s` are powers of
/// 1024. Names with `bit` are case-insensitive; in `MB/s` the capital B means bytes, so it is
/// required. `mbps` and similar names are refused, since `tc` reads them as bytes and most other
/// tools as bits.
impl FromStr for Rate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong = || UnitError::Rate(excerpt(text));
        let (number, unit) = decimal::split(text).ok_or_else(wrong)?;
        let factor = match (bits_in(unit), unit.to_ascii_lowercase().as_str()) {
            (Some(factor), _) => factor,
            (
                None,
                "bps" | "kbps" | "mbps" | "gbps" | "tbps" | "b/s" | "kb/s" | "mb/s" | "gb/s"
                | "tb/s",
            ) => {
                return Err(UnitError::Ambiguous(excerpt(text)));
            }
            (None, _) => return Err(wrong()),
        };
        let bits_per_second = number.times(factor).ok_or_else(|| UnitError::TooLarge {
            text: excerpt(text),
            most: Self { bits_per_second: u64::MAX }.to_string(),
        })?;
        Ok(Self { bits_per_second })
    }
}

/// Returns the number of bits per second in one unit of rate such as `kbit`; `None` for an unknown
/// unit.
fn bits_in(unit: &str) -> Option<u64> {
    let lower = unit.to_ascii_lowercase();
    let bits = match lower.strip_suffix("/s").unwrap_or(&lower) {
        "bit" => 1,
        "kbit" => 1_000,
        "mbit" => 1_000_000,
        "gbit" => 1_000_000_000,
        "tbit" => 1_000_000_000_000,
        _ => 0,
    };
    if bits > 0 {
        return Some(bits);
    }
    let bytes = match unit {
        "B/s" => 1,
        "kB/s" | "KB/s" => 1_000,
        "MB/s" => 1_000_000,
        "GB/s" => 1_000_000_000,
        "TB/s" => 1_000_000_000_000,
        "KiB/s" => 1 << 10,
        "MiB/s" => 1 << 20,
        "GiB/s" => 1 << 30,
        "TiB/s" => 1 << 40,
        _ => return None,
    };
    Some(bytes * 8)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parses_what_it_documents() {
        let table: &[(&str, u64)] = &[
            ("1gbit", 1_000_000_000),
            ("100mbit", 100_000_000),
            ("10Gbit", 10_000_000_000),
            ("2.5gbit", 2_500_000_000),
            ("1Gbit/s", 1_000_000_000),
            ("1 Gbit/s", 1_000_000_000),
            ("119.4MB/s", 955_200_000),
            ("64KiB/s", 524_288),
            ("1B/s", 8),
            ("56kbit", 56_000),
            ("0bit", 0),
        ];
        for (text, bits) in table {
            assert_eq!(text.parse(), Ok(Rate::from_bits_per_second(*bits)), "{text}");
        }
    }

    #[test]
    fn refuses_and_names_the_rest() {
        for text in [
            "", "1", "1 g", "gbit", "-1gbit", "infgbit", "1e9bit", "1gbit/h", "1MiB", "1mib/s",
            "1gbit x",
        ] {
            assert_eq!(text.parse::<Rate>(), Err(UnitError::Rate(text.into())), "{text}");
        }
        for text in ["100mbps", "1Gbps", "10Mb/s", "10mb/s"] {
            assert_eq!(text.parse::<Rate>(), Err(UnitError::Ambiguous(text.into())), "{text}");
        }
        assert!(matches!("99999999tbit".parse::<Rate>(), Err(UnitError::TooLarge { .. })));
    }

    #[test]
    fn prints_both_units() {
        let table: &[(u64, &str)] = &[
            (955_200_000, "119.4 MB/s (0.955 Gbit/s)"),
            (400_000_000_000, "50000.0 MB/s (400.000 Gbit/s)"),
            (7_999_600, "1.0 MB/s (0.008 Gbit/s)"),
            (56_000, "7.0 kB/s (0.056 Mbit/s)"),
            (80, "10 B/s (80 bit/s)"),
            (0, "0 B/s (0 bit/s)"),
        ];
        for (bits, text) in table {
            assert_eq!(Rate::from_bits_per_second(*bits).to_string(), *text);
        }
    }

    #[test]
    fn no_time_gives_no_rate() {
        assert_eq!(Rate::from_bytes_over(1, Nanos::ZERO), None);
        assert_eq!(Rate::from_bytes_over(0, Nanos(1)), Some(Rate::default()));
        assert_eq!(
            Rate::from_bytes_over(u64::MAX, Nanos(1)),
            Some(Rate::from_bits_per_second(u64::MAX))
        );
    }

    proptest! {
        #[test]
        fn never_panics(text in ".*", number in "[0-9]{1,30}", unit in "[a-zA-Z/]{0,7}") {
            let _ = text.parse::<Rate>();
            if let Ok(rate) = format!("{number}{unit}").parse::<Rate>() {
                prop_assert!(!rate.to_string().is_empty());
            }
        }

        #[test]
        fn bytes_over_a_time_are_its_rate(bytes in 1u64..1 << 50, nanos in 1_000u64..1 << 50) {
            let rate = Rate::from_bytes_over(bytes, Nanos(nanos)).expect("time went by");
            let bits = bytes as f64 * 8e9 / nanos as f64;
            prop_assert!((rate.bits_per_second() as f64 - bits).abs() <= 0.5 + 1e-9 * bits);
        }
    }
}
