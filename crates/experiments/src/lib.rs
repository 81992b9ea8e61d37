//! Scenarios: experiments as data, rerun on this machine and printed beside the published figures.
//!
//! Each kind of experiment has a directory: the sections of its file (`job.rs`), the runs
//! (`mod.rs`), and the printed table (`table.rs`).
//!
//! # Where to change what
//!
//! - `experiment.rs` has all kinds; `copy/table.rs` prints an experiment with copies.
//! - `tests/roots/` makes `docs/roots/lines.md` and the pictures of the kept runs there.

#![forbid(unsafe_code)]

pub mod args;
mod balance;
mod broadcast;
mod claim;
pub mod command;
mod copy;
pub mod demo;
mod experiment;
pub mod facts;
mod farm;
mod file;
mod judged;
mod line;
mod moves;
mod pairs;
mod ping;
mod placements;
mod predicted;
mod result;
mod scaling;
mod scenario_lab;
mod sections;
mod stage;
mod stripes;
mod table;
#[cfg(test)]
mod tests;

pub use claim::Measure;
pub use experiment::{Experiment, Table};
pub use file::{Scenario, all, find};
pub use judged::{Account, Judged, Standing, Tally, wrapped};
pub use line::{Constant, Law, Line, Portion};
pub use result::ScenarioResult;
pub use scenario_lab::ScenarioLab;
pub use stage::Stage;
