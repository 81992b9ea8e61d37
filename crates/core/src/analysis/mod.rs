//! What measurements say: pure functions from numbers to verdicts: distributions, knees, outliers,
//! who among pairs is at fault, and what a disk's figures say about its settings.

mod histogram;
mod outlier;
pub mod pairs;
mod sweep;
pub mod tuning;

pub use histogram::Histogram;
pub use outlier::{Outlier, slow_ones};
pub use sweep::{is_flat, knee};
