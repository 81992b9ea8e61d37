//! Simulates copies without an operating system, for development only. It shows that the protocol
//! survives deaths, stalls and changed bytes.
//!
//! The simulator drives the same machines as the agents (`garland_protocol`) in virtual
//! nanoseconds: links with a rate and a latency, relays that forward slices while a block still
//! arrives, disks, control messages, and the mishaps of a [`Schedule`]. Equal seeds give equal
//! runs.

#![forbid(unsafe_code)]

mod agenda;
mod engine;
mod link;
mod node;

mod run;
mod schedule;
mod vault;
mod world;

pub use engine::simulate;
pub use garland_sys::world::Random;
pub use run::{NodeRun, Run};
pub use schedule::{Mishap, Schedule, What};
pub use world::{NodeWorld, SinkKind, World};
