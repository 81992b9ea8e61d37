//! From a node list to connected agents: [`inventory`] resolves node lists, [`launch`] starts
//! agents (ssh, Slurm, local processes, labs), [`standing`] keeps records of standing agents,
//! [`processes`] and [`ending`] tell whether they have ended, [`claims`] which node has which, and
//! [`builder::FleetBuilder`] returns the agent or the error of each node of a command.

#![forbid(unsafe_code)]

pub mod args;
pub mod at_once;
pub mod builder;
pub mod claims;
pub mod context;
pub mod destination;
pub mod ending;
pub mod here;
pub mod inventory;
pub mod join_listener;
pub mod launch;
pub mod processes;
pub mod reach;
pub mod standing;
