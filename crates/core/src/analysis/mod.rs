//! What measurements mean: distributions, knees, outliers, and what a disk's figures say about its
//! settings. Pure arithmetic on figures that others took.

mod histogram;
mod knee;
mod outlier;
pub mod tuning;

pub use histogram::Histogram;
pub use knee::{is_flat, knee};
pub use outlier::{Outlier, slow_ones};
