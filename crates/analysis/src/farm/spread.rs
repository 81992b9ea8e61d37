//! How far apart the jobs were: the slowest, the fastest, and their difference.

use serde::{Deserialize, Serialize};

/// The slowest and the fastest of several jobs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Seconds of the slowest.
    pub slowest: f64,
    /// Which one it is, a place in the list.
    pub slowest_at: usize,
    /// Seconds of the fastest.
    pub fastest: f64,
    /// Which one it is.
    pub fastest_at: usize,
    /// DIFF: seconds between them.
    pub difference: f64,
    /// DIFF %: that by the slowest one's seconds, from 0 to 1.
    pub share: f64,
}

/// The spread of `seconds`; none of no job.
#[must_use]
pub fn spread(seconds: &[f64]) -> Option<Spread> {
    let order = |one: &(usize, &f64), two: &(usize, &f64)| one.1.total_cmp(two.1);
    // Of equal ones the first counts, for both.
    let (fastest_at, &fastest) = seconds.iter().enumerate().min_by(order)?;
    let (slowest_at, &slowest) = seconds.iter().enumerate().rev().max_by(order)?;
    let difference = slowest - fastest;
    let share = if slowest > 0.0 { difference / slowest } else { 0.0 };
    Some(Spread { slowest, slowest_at, fastest, fastest_at, difference, share })
}
