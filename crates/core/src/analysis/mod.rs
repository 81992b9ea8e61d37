//! What measurements mean: distributions, the parameters of LogGP, the knee of a curve, and who of
//! many is at fault. Numbers in, numbers out; samples are whole nanoseconds.

mod histogram;
mod knee;
mod line;
mod loggp;
pub mod pairs;

pub use histogram::{Histogram, ROOM};
pub use knee::{Knee, Load, find_knee};
pub use line::{Line, fit_line};
pub use loggp::{LogGp, Network, loggp};
