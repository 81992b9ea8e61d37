//! Simulates copies without an operating system, for development only. It shows that the protocol
//! survives deaths, stalls and changed bytes.
//!
//! `tests/worlds` runs whole copies, heads and agents, in simulated worlds (`garland_sys::world`):
//! all production code but the kernel. What follows is about `tests/chaos` and its simulator.
//!
//! The simulator drives the same machines as the agents (`garland_protocol`) in virtual
//! nanoseconds: links with a rate and a latency, relays that forward slices while a block still
//! arrives, disks, control messages, and the mishaps of a [`Schedule`]. Equal seeds give equal
//! runs.
//!
//! # Where to change what
//!
//! - What the result of a copy says (`control::Outcome`) is seen in `tests/worlds` only: the
//!   simulator's `NodeRun` has what its judge needs.
//! - What befalls heads and agents: `tests/worlds/fate.rs`, by `sys/src/world/` (`disk.rs`: what
//!   a loss of power leaves). On real processes, wires and disks: `cli/tests/soak_faults/`.

#![forbid(unsafe_code)]

mod agenda;
mod engine;
mod link;
mod node;

mod run;
mod schedule;
mod seeds;
mod vault;
mod world;

pub use garland_sys::world::Random;

pub use engine::simulate;
pub use run::{NodeRun, Run};
pub use schedule::{Mishap, Schedule, What};
pub use seeds::Seeds;
pub use world::{NodeWorld, SinkKind, World};
