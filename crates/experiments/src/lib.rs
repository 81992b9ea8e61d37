//! Scenarios: experiments as data, rerun on this machine and printed beside what was published.
//!
//! An experiment is a kind with a folder of its own: what its file says and what is done (`mod.rs`),
//! and what is printed (`table.rs`).

#![forbid(unsafe_code)]

pub mod args;
mod balance;
mod broadcast;
pub mod command;
mod copy;
pub mod demo;
mod experiment;
mod farm;
mod file;
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

pub use experiment::{Experiment, Table};
pub use file::{Scenario, all, find};
pub use result::ScenarioResult;
pub use scenario_lab::ScenarioLab;
pub use stage::Stage;
