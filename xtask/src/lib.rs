//! Code that chores and benchmarks share: installation of packages, and a clock.

pub mod clock;
pub mod packages;
