//! Repeats what deviates: other programs disturb a measurement, but a fault remains.

use super::report::Measured;

/// What was seen of a round.
#[derive(Debug)]
pub(super) struct Watched {
    /// The measurements of its flows.
    pub(super) flows: Vec<Measured>,
    /// Its anomalies as text.
    pub(super) anomalies: Vec<String>,
}

impl Watched {
    /// Returns the number of anomalies and the largest deviation of a flow: the smaller, the
    /// better.
    fn badness(&self) -> (usize, f64) {
        (self.anomalies.len(), deviation(&self.flows))
    }
}

/// The maximum number of repetitions of a deviating measurement.
const AGAIN: usize = 4;

/// Measures until `is_well` accepts the measurements and there are no anomalies, [`AGAIN`] times
/// more at most. Otherwise returns the round that deviates least: a fault is at least as bad each
/// time.
pub(super) fn confirmed<E>(
    mut measure: impl FnMut() -> Result<Watched, E>,
    is_well: impl Fn(&[Measured]) -> bool,
) -> Result<Watched, E> {
    let mut least = measure()?;
    for _ in 0..AGAIN {
        if is_well(&least.flows) && least.anomalies.is_empty() {
            break;
        }
        let next = measure()?;
        let is_good = is_well(&next.flows) && next.anomalies.is_empty();
        if is_good || next.badness() < least.badness() {
            least = next;
        }
    }
    Ok(least)
}

/// Returns a second measurement of a round in which something deviates: the flows that deviate in
/// both, and the anomalies of both. One busy moment of this machine makes all flows deviate.
pub(super) fn twice<E>(mut measure: impl FnMut() -> Result<Watched, E>) -> Result<Watched, E> {
    let mut first = measure()?;
    if first.flows.iter().all(Measured::holds) && first.anomalies.is_empty() {
        return Ok(first);
    }
    let second = measure()?;
    for (flow, again) in first.flows.iter_mut().zip(second.flows) {
        if !flow.holds() && off(&again) < off(flow) {
            *flow = again;
        }
    }
    Ok(Watched { flows: first.flows, anomalies: second.anomalies })
}

/// Returns the largest relative deviation of `flows`.
fn deviation(flows: &[Measured]) -> f64 {
    flows.iter().map(off).fold(0.0, f64::max)
}

fn off(flow: &Measured) -> f64 {
    flow.ratio().map_or(0.0, |ratio| (ratio - 1.0).abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of one flow whose rate is so many percent of the theory, with or without an anomaly.
    fn rounds(percents: &[(u32, bool)]) -> impl FnMut() -> Result<Watched, ()> {
        let mut rounds = percents.iter().copied();
        move || {
            let (percent, odd) = rounds.next().ok_or(())?;
            let flow = Measured {
                from: "a".into(),
                to: "b".into(),
                at_once: 1,
                goodput: f64::from(percent),
                theory: Some(100.0),
                tolerance: 0.01,
            };
            let anomalies = if odd { vec!["odd".to_owned()] } else { vec![] };
            Ok(Watched { flows: vec![flow], anomalies })
        }
    }

    fn percent(watched: Watched) -> (u32, bool) {
        (watched.flows[0].goodput as u32, !watched.anomalies.is_empty())
    }

    #[test]
    fn one_disturbed_measurement_accuses_nobody() {
        let all_well = |flows: &[Measured]| flows.iter().all(Measured::holds);
        let found = |percents: &[(u32, bool)]| confirmed(rounds(percents), all_well).map(percent);
        assert_eq!(found(&[(100, false)]), Ok((100, false)));
        assert_eq!(found(&[(119, false), (100, true), (100, false)]), Ok((100, false)));
        // A fault that remains is reported with its smallest deviation.
        let fault = [(50, false), (119, true), (70, false), (69, false), (71, true)];
        assert_eq!(found(&fault), Ok((70, false)));
    }

    #[test]
    fn a_round_is_repeated_before_its_flows_are() {
        let found = |percents: &[(u32, bool)]| twice(rounds(percents)).map(percent);
        assert_eq!(found(&[(100, false)]), Ok((100, false)));
        assert_eq!(found(&[(119, true), (100, false)]), Ok((100, false)));
        assert_eq!(found(&[(119, false), (50, true)]), Ok((119, true)));
        assert_eq!(found(&[(100, true), (119, false)]), Ok((100, false)));
    }
}
