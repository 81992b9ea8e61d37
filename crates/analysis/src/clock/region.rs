//! The lines that satisfy all bounds: a convex region of (offset, rate), clipped by one bound after
//! another.

/// The maximum difference in rate of two clocks, in nanoseconds per second (1000 ppm): crystals are
/// within 100 ppm, and time daemons slew by at most 500 ppm.
const RATE_MAX: f64 = 1_000_000.0;

/// The maximum difference of offsets within one piece, in nanoseconds; real ones are far smaller.
const OFFSET_MAX: f64 = 1e12;

/// The error from reading clocks in whole nanoseconds.
const ROUNDING: f64 = 1.0;

/// Whether the offset is below or above a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Below,
    Above,
}

/// A convex polygon of lines, by its corners: offset at second 0 (nanoseconds) and rate
/// (nanoseconds per second).
#[derive(Clone, Debug)]
pub(super) struct Region {
    corners: Vec<(f64, f64)>,
}

impl Region {
    /// Returns the region of all lines that a clock can follow.
    pub fn whole() -> Self {
        let a = OFFSET_MAX;
        let b = RATE_MAX;
        Self { corners: vec![(-a, -b), (a, -b), (a, b), (-a, b)] }
    }

    /// Returns the part of the region on `side` of `limit` at the second `at`; `None` if empty.
    pub fn clip(&self, at: f64, limit: f64, side: Side) -> Option<Self> {
        // The distance of a corner's line from the bound; negative outside.
        let depth = |corner: &(f64, f64)| {
            let value = corner.0 + corner.1 * at;
            ROUNDING
                + match side {
                    Side::Below => limit - value,
                    Side::Above => value - limit,
                }
        };
        if self.corners.iter().all(|corner| depth(corner) >= 0.0) {
            return Some(self.clone());
        }
        let mut corners = Vec::with_capacity(self.corners.len() + 1);
        let before = self.corners.iter().cycle().skip(self.corners.len() - 1);
        for (last, corner) in before.zip(&self.corners) {
            let from = depth(last);
            let to = depth(corner);
            if (from < 0.0) != (to < 0.0) {
                let share = from / (from - to);
                let between = |a: f64, b: f64| a + share * (b - a);
                corners.push((between(last.0, corner.0), between(last.1, corner.1)));
            }
            if to >= 0.0 {
                corners.push(*corner);
            }
        }
        corners.dedup();
        (!corners.is_empty()).then_some(Self { corners })
    }

    /// Returns the minimum and maximum offset at the second `at`.
    pub fn interval(&self, at: f64) -> (f64, f64) {
        self.range(|corner| corner.0 + corner.1 * at)
    }

    /// Returns the minimum and maximum rate, in nanoseconds per second.
    pub fn rates(&self) -> (f64, f64) {
        self.range(|corner| corner.1)
    }

    fn range(&self, of: impl Fn(&(f64, f64)) -> f64) -> (f64, f64) {
        let values = self.corners.iter().map(of);
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_leave_an_interval_and_contradictions_nothing() {
        let region = Region::whole().clip(0.0, 100.0, Side::Below).unwrap();
        let region = region.clip(0.0, 60.0, Side::Above).unwrap();
        let (low, high) = region.interval(0.0);
        assert!((low - 59.0).abs() < 1e-3 && (high - 101.0).abs() < 1e-3, "{low} to {high}");
        assert!(region.clip(0.0, 200.0, Side::Above).is_none());
        // Ten seconds later the offset can be anywhere within 1000 ppm.
        let (low, high) = region.interval(10.0);
        assert!(low < -9.9e6 && high > 9.9e6, "{low} to {high}");
        let later = region.clip(10.0, 0.0, Side::Above).unwrap();
        let (low, high) = later.clip(10.0, 0.0, Side::Below).unwrap().interval(5.0);
        assert!(low >= 29.0 && high <= 51.5, "{low} to {high}");
    }
}
