//! Drives the protocol's machines: the simulated counterpart of agents and head.

mod control;
mod links;
mod mishaps;
mod steps;
mod thread;
mod work;

pub use steps::simulate;
