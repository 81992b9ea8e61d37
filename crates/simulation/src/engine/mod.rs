//! What drives the machines: the simulated counterpart of an agent and of the command.

mod control;
mod links;
mod mishaps;
mod steps;
mod thread;
mod work;

pub use steps::simulate;
