//! Analysis of measurements: distributions, LogGP parameters, knees, outliers, faulty nodes and
//! pairs, the limits of concurrent copies, farms of jobs, disk tuning, disturbing conditions of
//! nodes, clocks, the ledger of a run, forecasts, and grades of published statements. Functions
//! take numbers and return verdicts; samples are in nanoseconds.
//!
//! # Where to change what
//!
//! - The ledger: causes and their words in `ledger/cause.rs`; attribution in `weigh.rs`,
//!   `disks.rs`, `walk.rs`, `wires.rs`; faults and gains in `faults.rs`, and what remains without
//!   a fault in `rest.rs`. It is judged against faults from outside in `cli/tests/truth/`.

#![forbid(unsafe_code)]

pub mod balance;
pub mod clock;
pub mod conditions;
pub mod farm;
pub mod forecast;
pub mod grade;
mod jumps;
mod knee;
pub mod ledger;
mod line;
mod loggp;
mod outlier;
pub mod pairs;
pub mod queue;
pub mod tuning;

pub use jumps::find_jumps;
pub use knee::{Knee, LoadPoint, find_knee, is_flat, knee};
pub use line::{Line, fit_line};
pub use loggp::{LogGp, Network, loggp};
pub use outlier::{Outlier, slow_ones};
