//! Jobs on agents: which node has which job, and the way of its files there and back.

mod controller;
mod running;
mod stager;
mod workers;

pub use controller::{FarmEnd, FarmNews, FarmNode, FarmWork, run_farm};
pub use stager::Stager;
