//! What an interval needs to judge.

/// The least number of valid runs that judge a statement.
pub const RUNS: usize = 3;

/// The number of runs of an experiment of which one takes less than [`SHORT_S`] seconds.
pub const MANY_RUNS: usize = 9;

/// The seconds below which a run is repeated [`MANY_RUNS`] times, instead of [`RUNS`] times.
pub const SHORT_S: f64 = 20.0;

/// The largest half-width of an interval that judges whether a figure came out, as a share of the
/// median.
pub const WIDEST: f64 = 0.05;

/// The least probability that an interval of the median has, where there are runs enough for it.
pub const CONFIDENCE: f64 = 0.95;

/// By how much a figure may be off that a law computes, as a share of it: as much as predictions
/// may be off in the median.
pub const LAW_ERROR: f64 = 0.03;
