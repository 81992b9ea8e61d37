//! The goals that Garland's figures must reach in contests.

use std::fmt;

use serde::Serialize;

/// A goal for Garland's figures, relative to those of its peers or absolute.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Goal {
    /// Upper limit as a multiple of the best peer's figure, for times.
    AtMost(f64),
    /// Lower limit as a multiple of the best peer's figure, for rates.
    AtLeast(f64),
    /// Largest difference from each peer's figure, as a share of it.
    Near(f64),
    /// Absolute upper limit.
    Below(f64),
}

impl Goal {
    /// Returns a number that grows as `ratio` gets worse; the largest one belongs to the best peer.
    pub(crate) fn badness(self, ratio: f64) -> f64 {
        match self {
            Self::AtMost(_) | Self::Below(_) => ratio,
            Self::AtLeast(_) => -ratio,
            Self::Near(_) => (ratio - 1.0).abs(),
        }
    }

    /// Returns whether the goal is reached by `ratios`, Garland's figures divided by those of the
    /// peers, and by `own`, Garland's figure. Both are rounded to hundredths first, as they are
    /// printed.
    pub(crate) fn is_reached(self, ratios: &[f64], own: f64) -> bool {
        let hundredths = |value: f64| (value * 100.0).round() / 100.0;
        let ratios: Vec<f64> = ratios.iter().copied().map(hundredths).collect();
        let own = hundredths(own);
        match self {
            Self::Below(most) => own <= most,
            _ if ratios.is_empty() => false,
            Self::AtMost(most) => ratios.iter().all(|&ratio| ratio <= most),
            Self::AtLeast(least) => ratios.iter().all(|&ratio| ratio >= least),
            Self::Near(share) => {
                ratios.iter().all(|&ratio| hundredths((ratio - 1.0).abs()) <= share)
            }
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(most) => write!(f, "at most {most:.2} times the best peer's"),
            Self::AtLeast(least) => write!(f, "at least {least:.2} times the best peer's"),
            Self::Near(share) => write!(f, "within {:.0} % of the peer's", share * 100.0),
            Self::Below(most) => write!(f, "at most {most}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_reached_by_all_peers_or_not_at_all() {
        assert!(Goal::AtMost(1.0).is_reached(&[0.9, 1.0], 5.0));
        assert!(!Goal::AtMost(1.0).is_reached(&[0.9, 1.01], 5.0));
        assert!(Goal::AtMost(1.0).is_reached(&[1.004], 5.0), "shown as 1.00");
        assert!(!Goal::AtLeast(1.0).is_reached(&[0.99], 5.0));
        assert!(Goal::Near(0.05).is_reached(&[0.95, 1.05], 5.0));
        assert!(!Goal::Near(0.05).is_reached(&[1.06], 5.0));
        assert!(!Goal::AtLeast(1.0).is_reached(&[], 5.0), "there is no peer to compare with");
        assert!(Goal::Below(0.79).is_reached(&[], 0.79));
        assert!(!Goal::Below(0.79).is_reached(&[0.1], 0.8));
    }

    #[test]
    fn the_best_peer_is_the_one_that_is_hardest_to_reach() {
        let worst = |goal: Goal| {
            let ratios = [0.5, 1.2, 0.9];
            ratios.into_iter().max_by(|a, b| goal.badness(*a).total_cmp(&goal.badness(*b)))
        };
        assert_eq!(worst(Goal::AtMost(1.0)), Some(1.2));
        assert_eq!(worst(Goal::AtLeast(1.0)), Some(0.5));
        assert_eq!(worst(Goal::Near(0.05)), Some(0.5));
    }
}
