//! What exists: the nodes of a cluster, and the texts that name them.
//!
//! Everything here turns text that people wrote into plain values and back, and reads nothing
//! itself: what lies outside (files, groups, the allocation) comes in through
//! [`nodelist::Sources`].

pub mod file;
mod inventory;
pub mod nodelist;
pub mod target;

pub use inventory::{Cluster, DEFAULT_FANOUT, Launcher, Node, Ssh, UnknownNode};
