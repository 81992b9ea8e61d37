//! What measurements mean: distributions, the parameters of LogGP, knees, outliers, who of many is at
//! fault, what concurrent copies wait for, what many jobs on many nodes came to, what a disk's figures
//! say about its settings, what about a node spoils figures, and what more nodes would buy. Numbers in,
//! verdicts out; samples are whole nanoseconds.

#![forbid(unsafe_code)]

pub mod balance;
pub mod clock;
pub mod conditions;
pub mod farm;
pub mod forecast;
mod jumps;
mod knee;
pub mod ledger;
mod line;
mod loggp;
mod outlier;
pub mod pairs;
pub mod queue;
pub mod tuning;

pub use jumps::jumps;
pub use knee::{Knee, LoadPoint, find_knee, is_flat, knee};
pub use line::{Line, fit_line};
pub use loggp::{LogGp, Network, loggp};
pub use outlier::{Outlier, slow_ones};
