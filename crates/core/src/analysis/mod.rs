//! What measurements mean: distributions, knees, outliers, and what a disk's figures say about its
//! settings. Pure arithmetic on figures that others took.

mod histogram;
mod outlier;
mod sweep;
pub mod tuning;

pub use histogram::Histogram;
pub use outlier::{Outlier, slow_ones};
pub use sweep::{is_flat, knee};
