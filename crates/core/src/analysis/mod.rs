//! What measurements mean: pure functions from numbers to verdicts. Samples are whole nanoseconds.

mod histogram;
mod knee;
mod line;
mod loggp;
pub mod pairs;

pub use histogram::{Histogram, ROOM};
pub use knee::{Knee, Load, find_knee};
pub use line::{Line, fit_line};
pub use loggp::{LogGp, Network, loggp};
