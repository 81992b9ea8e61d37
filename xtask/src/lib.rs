//! What the chores and the benchmarks share: installing tools, and a clock.

pub mod clock;
pub mod packages;
