//! A plan and a world become a run, without an operating system. Development only: it proves that the
//! protocol survives deaths, stalls and changed bytes.
//!
//! The simulator drives the very machines that the agents drive (`garland_protocol`) through virtual
//! nanoseconds: links with a rate and a latency, relays that pass slices on while a block still
//! arrives, disks, control messages, and whatever a [`Schedule`] does to them. The same seed gives the
//! same run.

#![forbid(unsafe_code)]

mod agenda;
mod engine;
mod link;
mod node;
mod random;
mod run;
mod schedule;
mod vault;
mod world;

pub use engine::simulate;
pub use random::Random;
pub use run::{NodeRun, Run};
pub use schedule::{Mishap, Schedule, What};
pub use world::{NodeWorld, SinkKind, World};
