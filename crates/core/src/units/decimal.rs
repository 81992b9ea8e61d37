//! Exact decimal numbers with a unit: `2.5gbit` is exactly 2 500 000 000.

/// Splits `2.5 gbit` into its number and its unit; `None` unless it begins with digits (`2`, `2.5`,
/// not `.5` or `2.`).
pub(super) fn split(text: &str) -> Option<(Decimal<'_>, &str)> {
    let text = text.trim();
    let (whole, rest) = leading_digits(text)?;
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(after) => leading_digits(after)?,
        None => ("", rest),
    };
    Some((Decimal { whole, fraction }, rest.trim_start()))
}

/// The digits before and after the point of a number without sign or exponent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decimal<'a> {
    whole: &'a str,
    fraction: &'a str,
}

impl Decimal<'_> {
    /// Returns the number times `factor`, rounded to the nearest integer; `None` beyond 64 bits.
    pub(super) fn times(self, factor: u64) -> Option<u64> {
        /// The number of used digits of the fraction: further digits do not change the rounded
        /// result, and 10^18 keeps the product within 128 bits.
        const KEPT: usize = 18;
        let whole: u64 = self.whole.parse().ok()?;
        let kept = &self.fraction[..self.fraction.len().min(KEPT)];
        let mut numerator = 0u128;
        let mut denominator = 1u128;
        for digit in kept.bytes() {
            numerator = numerator * 10 + u128::from(digit - b'0');
            denominator *= 10;
        }
        let part = (numerator * u128::from(factor) + denominator / 2) / denominator;
        let total = u128::from(whole) * u128::from(factor) + part;
        u64::try_from(total).ok()
    }
}

fn leading_digits(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}
