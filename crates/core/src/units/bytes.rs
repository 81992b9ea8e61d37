//! Numbers of bytes: `64KiB` to 65 536 and back.

use super::decimal;
use super::error::{UnitError, excerpt};

/// Parses a number of bytes such as `1MiB`, `64KiB`, `1.5 GiB`, `10MB`, `1g`, `4096`.
///
/// Units are case-insensitive. Single letters (`K`, `M`, `G`, `T`, `P`) and IEC names (`KiB`, ...)
/// are powers of 1024, and `kB`, `MB`, ... are powers of 1000, as in the GNU coreutils (`dd`,
/// `split`, `truncate`). Fractions are rounded to the nearest byte.
///
/// ```
/// use garland_core::units::bytes;
/// assert_eq!(bytes::parse("1M"), Ok(1 << 20));
/// assert_eq!(bytes::parse("10MB"), Ok(10_000_000));
/// assert!(bytes::parse("10 apples").is_err());
/// ```
///
/// # Errors
/// [`UnitError::Bytes`] if the text is anything else, [`UnitError::TooLarge`] above 2^64 - 1 bytes.
pub fn parse(text: &str) -> Result<u64, UnitError> {
    let wrong = || UnitError::Bytes(excerpt(text));
    let (number, unit) = decimal::split(text).ok_or_else(wrong)?;
    let multiple = factor(unit).ok_or_else(wrong)?;
    number
        .times(multiple)
        .ok_or_else(|| UnitError::TooLarge { text: excerpt(text), most: format(u64::MAX) })
}

/// Formats a number of bytes in the largest IEC unit that gives at least 1, with two decimals: `512
/// B`, `1.00 GiB`.
///
/// ```
/// use garland_core::units::bytes;
/// assert_eq!(bytes::format(1 << 30), "1.00 GiB");
/// ```
pub fn format(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    for (power, unit) in (1u32..).zip(UNITS) {
        let one = 1u128 << (10 * power);
        let hundredths = (u128::from(bytes) * 100 + one / 2) / one;
        // The unit is chosen by the rounded value: 1 048 575 bytes are 1.00 MiB, not 1024.00 KiB.
        if hundredths < 1024 * 100 {
            return format!("{}.{:02} {unit}", hundredths / 100, hundredths % 100);
        }
    }
    unreachable!("2^64 bytes are 16 EiB")
}

fn factor(unit: &str) -> Option<u64> {
    let (power, step) = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => (0, 1024),
        "k" | "kib" => (1, 1024),
        "m" | "mib" => (2, 1024),
        "g" | "gib" => (3, 1024),
        "t" | "tib" => (4, 1024),
        "p" | "pib" => (5, 1024),
        "kb" => (1, 1000),
        "mb" => (2, 1000),
        "gb" => (3, 1000),
        "tb" => (4, 1000),
        "pb" => (5, 1000),
        _ => return None,
    };
    Some(u64::pow(step, power))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parses_what_it_documents() {
        let table: &[(&str, u64)] = &[
            ("0", 0),
            ("4096", 4096),
            ("17B", 17),
            ("1k", 1024),
            ("64KiB", 65_536),
            ("64 kib", 65_536),
            ("1MiB", 1 << 20),
            ("1M", 1 << 20),
            ("1g", 1 << 30),
            ("1.5G", 3 << 29),
            ("10MB", 10_000_000),
            ("86.4MB", 86_400_000),
            ("2kb", 2000),
            (" 1T ", 1 << 40),
            ("0.5", 1),
            ("18446744073709551615", u64::MAX),
            ("1.0000000000000000000000001K", 1024),
        ];
        for (text, bytes) in table {
            assert_eq!(parse(text), Ok(*bytes), "{text}");
        }
    }

    #[test]
    fn refuses_and_names_the_rest() {
        for text in [
            "",
            "-1",
            "+1",
            "M",
            ".5",
            "5.",
            "1e3",
            "1 Mi B",
            "1,000",
            "0x10",
            "10 äpfel",
            "NaN",
            "1Mbit",
        ] {
            assert_eq!(parse(text), Err(UnitError::Bytes(text.into())), "{text}");
        }
        for text in ["18446744073709551616", "16384P", "99999999999999999999999"] {
            let message = parse(text).expect_err(text).to_string();
            assert_eq!(message, format!("`{text}` is too large: the maximum is 16.00 EiB"));
        }
        let long = "x".repeat(100_000);
        assert!(parse(&long).expect_err("no number").to_string().len() < 300);
    }

    #[test]
    fn formats_by_the_rounded_value() {
        let table: &[(u64, &str)] = &[
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (86_400_000, "82.40 MiB"),
            ((1 << 20) - 1, "1.00 MiB"),
            (1 << 30, "1.00 GiB"),
            (u64::MAX, "16.00 EiB"),
        ];
        for (bytes, text) in table {
            assert_eq!(format(*bytes), *text);
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in ".*") {
            let _ = parse(&text);
        }

        #[test]
        fn what_is_printed_is_within_half_a_hundredth_of_what_was_meant(bytes: u64) {
            let text = format(bytes);
            // u64::MAX itself prints as 16.00 EiB, which is one byte too much.
            if let Some((number, unit)) = text.split_once(' ').filter(|(_, unit)| *unit != "EiB") {
                let back = parse(&format!("{number}{unit}")).expect("printed by us");
                prop_assert!(back.abs_diff(bytes) as f64 <= 0.0051 * factor(unit).expect("printed by us") as f64);
            }
        }
    }
}
