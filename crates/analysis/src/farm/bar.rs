//! The bars of 2004: fifty letters are all of the time.

/// Letters of a whole bar.
pub const BAR: usize = 50;

/// A share longer than this many times the whole is cut: it would break any screen.
const MOST: f64 = 2.0;

/// A bar of `share` (1 is the whole): `O` for each fiftieth, rounded; one `+` behind it where it was
/// cut.
#[must_use]
pub fn bar(share: f64) -> String {
    let shown = if share.is_finite() { share.clamp(0.0, MOST) } else { 0.0 };
    let letters = (shown * BAR as f64).round() as usize;
    let cut = if share.is_finite() && share > MOST { "+" } else { "" };
    format!("{}{cut}", "O".repeat(letters))
}
