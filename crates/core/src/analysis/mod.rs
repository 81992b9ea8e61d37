//! What measurements mean: distributions, the parameters of LogGP, knees, outliers, who of many is at
//! fault, what concurrent copies wait for, and what a disk's figures say about its settings. Numbers in, verdicts out; samples are
//! whole nanoseconds.

pub mod balance;
mod histogram;
mod knee;
mod line;
mod loggp;
mod outlier;
pub mod pairs;
mod sweep;
pub mod tuning;

pub use histogram::{Histogram, ROOM};
pub use knee::{Knee, Load, find_knee};
pub use line::{Line, fit_line};
pub use loggp::{LogGp, Network, loggp};
pub use outlier::{Outlier, slow_ones};
pub use sweep::{is_flat, knee};
