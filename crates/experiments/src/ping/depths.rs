//! The model of gets in flight: what one get alone and the most in flight say about the numbers
//! between.

use std::fmt;

use garland_analysis::queue::cycles;

use super::job::{Ping, PublishedLine};

/// Returns the predicted time per get with `in_flight` gets in flight; `None` if `in_flight` is 0.
/// `alone` and `most` are the times per get alone and with the most in flight, in the same unit.
/// The model is a closed queueing network of one server and a delay: the server needs the time per
/// get at the highest rate, and the delay is the rest of a round trip.
pub fn pipelined(alone: f64, most: f64, in_flight: u32) -> Option<f64> {
    let gap = most.min(alone);
    let cycle = cycles(alone - gap, &[gap], in_flight).pop()?;
    Some(cycle / f64::from(in_flight))
}

/// Writes the predicted and, in brackets, the actual microseconds per get of each depth, and the
/// largest error. Writes nothing if `lines` is empty.
pub fn write_told(f: &mut fmt::Formatter<'_>, of: &str, lines: &[(u32, f64, f64)]) -> fmt::Result {
    let Some((worst, off)) = lines
        .iter()
        .map(|(depth, told, actual)| (depth, (told / actual - 1.0) * 100.0))
        .max_by(|one, other| one.1.abs().total_cmp(&other.1.abs()))
    else {
        return Ok(());
    };
    write!(f, "{of}: predicted from the first and the last of these:")?;
    for (depth, told, actual) in lines {
        write!(f, " b {depth} {told:.3} uSec ({actual:.3})")?;
    }
    writeln!(f, "; at worst {off:+.0} %, b {worst}")
}

/// Returns each published depth between the first and the last with its predicted and its published
/// microseconds: what the limits of the adapter, a get alone and its highest rate, say about them.
pub fn adapter(experiment: &Ping) -> Vec<(u32, f64, f64)> {
    let deep_size = experiment.job.deep_size;
    let mut lines: Vec<&PublishedLine> =
        experiment.published.iter().filter(|line| line.bytes == deep_size).collect();
    lines.sort_by_key(|line| line.in_flight);
    let [alone, between @ .., most] = lines.as_slice() else { return Vec::new() };
    let alone_us = alone.us.middle();
    let most_us = most.us.middle();
    let told = |line: &&PublishedLine| {
        Some((line.in_flight, pipelined(alone_us, most_us, line.in_flight)?, line.us.middle()))
    };
    between.iter().filter_map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of 2005, from its first and last line.
    #[test]
    fn published_times_of_elan4_follow_from_the_first_and_the_last() {
        let scenario = garland_topology::scenarios::text("elan4-2005").unwrap();
        let experiment: Ping = toml::from_str(scenario).unwrap();
        let told = adapter(&experiment);
        let of = |(depth, told, published): (u32, f64, f64)| {
            assert!((told / published - 1.0).abs() < 0.17, "{depth}: {told} against {published}");
            (depth, published)
        };
        let wanted = [(2, 1.32), (4, 1.04), (8, 0.84), (16, 0.82)];
        assert_eq!(told.into_iter().map(of).collect::<Vec<_>>(), wanted);
        assert_eq!(pipelined(2.35, 0.79, 0), None);
    }
}
