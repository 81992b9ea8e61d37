//! From a node list to connected agents: the [`inventory`] says which nodes there are, [`launch`] starts
//! agents (ssh, Slurm, local processes, labs), [`standing`] remembers those that stay, and
//! [`builder::FleetBuilder`] gives a command its agents, or the reason why a node has none.

#![forbid(unsafe_code)]

pub mod args;
pub mod at_once;
pub mod builder;
pub mod context;
pub mod destination;
pub mod here;
pub mod inventory;
pub mod join_listener;
pub mod launch;
pub mod reach;
pub mod standing;
