//! The slowest and the fastest job, and their difference.

use serde::{Deserialize, Serialize};

/// The slowest and the fastest of several jobs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The time of the slowest job, in seconds.
    pub slowest: f64,
    /// The index of the slowest job.
    pub slowest_at: usize,
    /// The time of the fastest job, in seconds.
    pub fastest: f64,
    /// The index of the fastest job.
    pub fastest_at: usize,
    /// The difference in seconds (DIFF).
    pub difference: f64,
    /// The difference as a fraction of the slowest time, from 0 to 1 (DIFF %).
    pub share: f64,
}

/// Returns the spread of `seconds`; `None` if empty.
pub fn spread(seconds: &[f64]) -> Option<Spread> {
    let order = |one: &(usize, &f64), two: &(usize, &f64)| one.1.total_cmp(two.1);
    // Of equal times, the first is returned, both as the slowest and as the fastest.
    let (fastest_at, &fastest) = seconds.iter().enumerate().min_by(order)?;
    let (slowest_at, &slowest) = seconds.iter().enumerate().rev().max_by(order)?;
    let difference = slowest - fastest;
    let share = if slowest > 0.0 { difference / slowest } else { 0.0 };
    Some(Spread { slowest, slowest_at, fastest, fastest_at, difference, share })
}
