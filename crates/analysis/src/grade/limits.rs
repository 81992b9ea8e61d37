//! What an interval needs to judge.

/// The least number of valid runs that judge a statement.
pub const RUNS: usize = 3;

/// The largest half-width of an interval that judges, as a share of the median.
pub const WIDEST: f64 = 0.05;
