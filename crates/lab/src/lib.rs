//! An emulated cluster on this machine: network namespaces joined by emulated media, without
//! daemon, without Docker, and without root where the kernel lets users make namespaces.
//!
//! A [`Spec`] describes a lab; [`plan::steps`] turns it into steps that can be printed; a keeper process
//! ([`keeper`]) executes them in its own namespaces and then waits. Everything hangs
//! on the keeper: when it ends, for whatever reason, the kernel takes processes, devices and mounts
//! away, so undoing the steps is ending the keeper and needs no code that could fail to run. Only
//! control groups, where nodes have a share of a processor, are left by a crash; they are empty, and
//! the next command removes them.
//!
//! A program that calls [`Lab::up`] or [`Lab::check`] is started again as the keeper, the warden or
//! the probe, so its `main` begins with [`hidden::main`], before it makes a thread.

mod apply;
mod bond;
pub mod check;
mod counters;
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
mod warden;
mod writer;

pub use counters::PortCounters;
pub use error::LabError;
pub use lab::Lab;
pub use record::Record;
pub use spec::Spec;
pub use state::StateDir;
pub use status::{MediumStatus, NicStatus, NodeStatus, Status};
pub use warden::Warden;
