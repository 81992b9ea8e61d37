//! Runs jobs on agents: drives the protocol's machine of a farm, and copies the jobs' files.

mod controller;
mod stager;
mod transfers;

pub use controller::{FarmEnd, run_farm};
pub use stager::{Stager, StagerSession};
