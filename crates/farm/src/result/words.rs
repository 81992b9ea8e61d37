//! Formats figures as text.

use super::summary::Summary;

/// Formats a time in seconds as `12.34 s`, or, from a minute on, as `41m12s`; `-` if it is not
/// finite.
pub fn took(seconds: f64) -> String {
    if !seconds.is_finite() {
        return "-".to_owned();
    }
    if seconds < 59.995 {
        return format!("{:.2} s", seconds.max(0.0));
    }
    let whole = seconds.round() as u64;
    format!("{}m{:02}s", whole / 60, whole % 60)
}

/// Formats a power, rounded down: without decimals from 10 on, otherwise with two.
pub fn power(value: f64) -> String {
    match value {
        value if value >= 10.0 => format!("{:.0}", value.floor()),
        value => format!("{:.2}", (value * 100.0).floor() / 100.0),
    }
}

/// Formats a share in percent, with two decimals.
pub fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// Returns a summary such as `a cluster of 3 PCs at 300 MHz over p2p-star equals one PC of 820 MHz
/// for 24 jobs`; none if the cluster cannot be compared with one machine. `powers` are those of the
/// nodes.
pub fn write_sentence(summary: &Summary, powers: &[f64]) -> Option<String> {
    let standing = summary.standing.as_ref()?;
    let unit = &summary.unit;
    let mut kinds: Vec<String> = powers.iter().map(|one| power(*one)).collect();
    kinds.dedup();
    let at = match kinds.as_slice() {
        [one] => format!("at {one} {unit}"),
        several if several.len() <= 4 => format!("at {} {unit}", several.join(", ")),
        _ => format!("with {} {unit} together", power(standing.theory)),
    };
    let over = summary.network.as_ref().map(|name| format!(" over {name}")).unwrap_or_default();
    let nodes = match powers.len() {
        1 => "1 PC".to_owned(),
        many => format!("{many} PCs"),
    };
    let jobs = match summary.jobs.all {
        1 => "1 job".to_owned(),
        many => format!("{many} jobs"),
    };
    Some(format!(
        "a cluster of {nodes} {at}{over} equals one PC of {} {unit} for {jobs}",
        power(standing.equivalent)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_seconds_or_in_minutes_and_seconds() {
        assert_eq!([took(0.004), took(59.994), took(59.996)], ["0.00 s", "59.99 s", "1m00s"]);
        assert_eq!([took(2472.0), took(6459.4), took(f64::NAN)], ["41m12s", "107m39s", "-"]);
    }

    #[test]
    fn power_is_rounded_down() {
        assert_eq!([power(820.56), power(9.999), power(0.5)], ["820", "9.99", "0.50"]);
    }
}
