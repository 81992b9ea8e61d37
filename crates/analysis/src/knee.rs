//! The knee of a depth sweep: the depth beyond which more operations in flight only add latency,
//! and the bottleneck there.

/// The measurements with one number of operations in flight (the depth).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadPoint {
    /// The number of operations in flight.
    pub depth: u32,
    /// The mean time between completed operations, in nanoseconds: the duration divided by their
    /// number.
    pub each_ns: f64,
    /// The CPU utilization of the initiator, from 0 to 1.
    pub initiator: f64,
    /// The CPU utilization of the target, from 0 to 1.
    pub target: f64,
    /// The utilization of the wire, from 0 to 1; `None` if unknown.
    pub wire: Option<f64>,
}

/// The bottleneck at the knee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knee {
    /// The round trip: the best depth is the largest one measured, and no resource is saturated
    /// there.
    RoundTrip,
    /// The initiator's CPU.
    Initiator,
    /// The target's CPU.
    Target,
    /// The wire.
    Wire,
    /// None of these: another resource, which was not measured.
    Unknown,
}

/// The minimum utilization of a saturated resource.
const FULL: f64 = 0.85;

/// Relative gains of a rate below this value count as no gain.
const NOTHING: f64 = 0.05;

/// Returns the index in `rates`, measured at ascending depths, of the smallest depth with at least
/// 95 % of the best rate; `None` without rates.
pub fn knee(rates: &[f64]) -> Option<usize> {
    let best = rates.iter().copied().fold(0.0, f64::max);
    (best > 0.0).then(|| rates.iter().position(|&rate| rate >= best * (1.0 - NOTHING)))?
}

/// Returns whether the last two of `rates` gained nothing over the best rate before them, so that a
/// sweep can stop.
pub fn is_flat(rates: &[f64]) -> bool {
    let Some(before) = rates.len().checked_sub(2).filter(|&before| before > 0) else {
        return false;
    };
    let best = rates[..before].iter().copied().fold(0.0, f64::max);
    rates[before..].iter().all(|&rate| rate < best * (1.0 + NOTHING))
}

/// Returns the index in `loads` (ascending depths) of the knee, and the bottleneck there; `None`
/// without measurements.
pub fn find_knee(loads: &[LoadPoint]) -> Option<(usize, Knee)> {
    let rates: Vec<f64> = loads.iter().map(|load| 1.0 / load.each_ns).collect();
    let at = knee(&rates)?;
    let load = &loads[at];
    let candidates = [
        (load.wire.unwrap_or(0.0), Knee::Wire),
        (load.target, Knee::Target),
        (load.initiator, Knee::Initiator),
    ];
    let fullest = candidates.into_iter().max_by(|one, two| one.0.total_cmp(&two.0))?;
    // The last depth is the best: more operations in flight might gain more.
    let falls = at + 1 == loads.len() && loads.len() > 1;
    Some((
        at,
        match fullest {
            (share, who) if share >= FULL => who,
            _ if falls || loads.len() == 1 => Knee::RoundTrip,
            _ => Knee::Unknown,
        },
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns a sweep with a round trip of `trip` ns and a part that takes `gap` ns per operation.
    fn sweep(trip: f64, gap: f64) -> Vec<LoadPoint> {
        let load = |depth: u32| {
            let each_ns = (trip / f64::from(depth)).max(gap);
            LoadPoint { depth, each_ns, initiator: 0.3, target: gap / each_ns, wire: None }
        };
        (0..7).map(|power| load(1 << power)).collect()
    }

    #[test]
    fn the_knee_is_where_more_brings_nothing() {
        let rates = [100.0, 200.0, 390.0, 500.0, 505.0, 503.0];
        assert_eq!(knee(&rates), Some(3));
        assert!(!is_flat(&rates[..4]));
        assert!(!is_flat(&rates[..5]));
        assert!(is_flat(&rates));
    }

    #[test]
    fn what_never_gains_has_its_knee_at_once() {
        assert_eq!(knee(&[100.0, 101.0, 99.0]), Some(0));
        assert_eq!(knee(&[]), None);
        assert_eq!(knee(&[0.0]), None);
        assert!(!is_flat(&[1.0]));
    }

    #[test]
    fn a_fall_isn_t_a_gain() {
        assert_eq!(knee(&[100.0, 200.0, 150.0]), Some(1));
    }

    #[test]
    fn elan4s_knee_is_where_the_round_trip_is_hidden() {
        // 2.36 µs alone, at best 0.79 µs per operation: L / g is 3.
        let loads = sweep(2360.0, 790.0);
        let (at, binds) = find_knee(&loads).unwrap();
        assert_eq!((loads[at].depth, binds), (4, Knee::Target));
    }

    #[test]
    fn a_curve_that_still_falls_is_bound_by_the_round_trip() {
        let loads = sweep(1e6, 1.0);
        assert_eq!(find_knee(&loads), Some((6, Knee::RoundTrip)));
        assert_eq!(find_knee(&[]), None);
    }

    #[test]
    fn nobody_is_accused_without_evidence() {
        let mut loads = sweep(2360.0, 790.0);
        loads.iter_mut().for_each(|load| load.target = 0.2);
        assert_eq!(find_knee(&loads), Some((2, Knee::Unknown)));
        loads.iter_mut().for_each(|load| load.wire = Some(0.97));
        assert_eq!(find_knee(&loads), Some((2, Knee::Wire)));
    }

    proptest! {
        #[test]
        fn beyond_the_knee_nothing_is_gained(trip in 1.0..1e6_f64, gap in 1.0..1e4_f64) {
            let loads = sweep(trip, gap);
            let (at, _) = find_knee(&loads).unwrap();
            for load in &loads[at..] {
                prop_assert!(load.each_ns >= loads[at].each_ns / 1.06);
            }
            for load in &loads[..at] {
                prop_assert!(load.each_ns > loads[at].each_ns);
            }
        }
    }
}
