//! What measurements mean: distributions, the parameters of LogGP, the knee of a curve, and who of
//! many is at fault. Numbers in, numbers out; samples are whole nanoseconds.

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
