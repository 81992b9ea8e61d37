//! Scenarios: experiments as data, rerun on this machine and printed beside what was published.

mod bench;
mod file;
mod pipes;
mod table;

pub use bench::Bench;
pub use file::{Experiment, Scenario, Tool, all, find, text};
pub use pipes::copy_by_pipes;
pub use table::{Row, ScenarioResult};
