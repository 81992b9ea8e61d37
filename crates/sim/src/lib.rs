//! A plan and a world become a run, without an operating system.
//!
//! The simulator drives the very machines that the agents drive (`garland_core::proto`) through
//! virtual nanoseconds: links with a rate and a latency, relays that pass slices on while a block
//! still arrives, disks, control messages, and whatever a [`Schedule`] does to them. It serves two
//! ends: to predict how long a copy takes, and to prove that the protocol survives deaths, stalls
//! and changed bytes. The same seed gives the same run. [`flow`] predicts without blocks, for
//! clusters of any size.

mod agenda;
mod engine;
pub mod flow;
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
