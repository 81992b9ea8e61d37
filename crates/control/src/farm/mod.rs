//! Runs jobs on agents: assigns jobs to nodes, and copies their files.

mod controller;
mod running;
mod stager;
mod transfer;
mod transfers;
mod workers;

pub use controller::{FarmEnd, FarmNews, FarmNode, FarmWork, run_farm};
pub use stager::Stager;
