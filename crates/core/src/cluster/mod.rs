//! The nodes of a cluster, and the node lists and targets that name them.
//!
//! This module converts texts to values and back, and does no I/O. Files, groups and the Slurm
//! allocation come in through [`nodelist::Sources`].

pub mod file;
mod inventory;
pub mod listen;
pub mod nodelist;
pub mod peer_address;
pub mod target;

pub use inventory::{
    Cluster, DEFAULT_FANOUT, Launcher, Node, Ssh, UnknownNode, parse_dead_after, parse_max_life,
};
