//! An emulated cluster on this machine: network namespaces that are connected by emulated media. It
//! needs no daemon, no Docker, and no root privileges where the kernel lets users create
//! namespaces.
//!
//! A [`Spec`] describes a lab; [`plan::steps`] turns it into steps that can be printed; a keeper
//! process ([`keeper`]) executes them in its own namespaces and then waits. When the keeper ends
//! for any reason, the kernel removes the processes, devices and mounts of the lab, so no code is
//! needed to undo the steps. Only the control groups of a lab with CPU limits survive a crash; they
//! are empty, and the next command removes them.
//!
//! A program that calls [`Lab::up`] or [`Lab::check`] is executed again as the keeper, the warden
//! or the probe. So its `main` must begin with [`hidden::main`], before it starts a thread.
//!
//! # Where to change what
//!
//! - A medium is a file in `medium/`, chosen in `mod.rs` there; the compiler names further
//!   matches.
//! - What holds the frames of media with a delay is `delay/`.
//! - Conditions of the time of a node are put into effect by `node.rs`, `vintage.rs` and
//!   `programs.rs`.

mod apply;
mod bond;
pub mod check;
mod counters;
mod delay;
mod delayed;
pub mod device;
mod error;
pub mod fault;
mod fault_in;
mod feature;
pub mod hidden;
pub mod keeper;
mod lab;
pub mod medium;
mod node;
pub mod plan;
mod probe;
mod programs;
mod record;
mod role;
mod route;
mod run;
mod shape;
pub mod shaping;
mod share;
pub mod slow;
mod spec;
mod state;
mod status;
mod step;
mod takedown;
mod tool;
mod vintage;
mod warden;
mod writer;

pub use counters::PortCounters;
pub use delay::{DelayBy, DelayCounters, DelayRecord};
pub use error::LabError;
pub use lab::Lab;
pub use record::Record;
pub use spec::Spec;
pub use state::StateDir;
pub use status::{MediumStatus, NicStatus, NodeStatus, Status};
pub use warden::Warden;
