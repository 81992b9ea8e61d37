//! Bars of text as published in 2004: fifty letters stand for the whole time.

/// The number of letters in the bar of the whole time.
pub const BAR: usize = 50;

/// The maximum share that is shown; longer bars do not fit on a screen.
const MAX_SHARE: f64 = 1.3;

/// Returns the bar of `share` (1 is the whole): one `O` per fiftieth, rounded, and a final `+` if
/// it was cut.
pub fn bar(share: f64) -> String {
    let shown = if share.is_finite() { share.clamp(0.0, MAX_SHARE) } else { 0.0 };
    let letters = (shown * BAR as f64).round() as usize;
    let cut = if share.is_finite() && share > MAX_SHARE { "+" } else { "" };
    format!("{}{cut}", "O".repeat(letters))
}
