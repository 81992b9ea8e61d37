//! From a node list to connected agents: [`inventory`] resolves node lists, [`launch`] starts
//! agents (ssh, Slurm, local processes, labs), [`standing`] keeps records of standing agents,
//! [`default_nodes`] returns their nodes for users who name none, [`processes`] and [`ending`] tell
//! whether they have ended, [`claims`] which node has which, and [`builder::FleetBuilder`] returns
//! the agent or the error of each node of a command.
//!
//! # Where to change what
//!
//! - [`standing`] has the record of a standing agent, and how far its start is;
//!   `builder/beginning.rs` writes it around the start.
//! - Proofs that an agent has ended: [`processes`] (by a login: `launch/ssh/processes.sh`) and
//!   [`ending`].
//! - [`members`] tells agents who the members of the cluster are.
//! - A launcher is a file in `launch/`, chosen in `launchers.rs` (`local` and `lab` in
//!   `builder.rs`); its name is in `core/src/cluster/inventory.rs` and `args.rs`.
//! - How the program comes to nodes: `launch/{binary,bootstrap.sh,spread}`.
//! - Where a firewall keeps the head from an agent's port: `FleetBuilder::connect` tries
//!   `launch/ssh/bridge.rs`, and the record keeps the login.
//! - `builder/replacing.rs` asks agents of other releases to end. The patience of the head at a
//!   greeting: `CONNECT_TIMEOUT` in `standing.rs`.

#![forbid(unsafe_code)]

pub mod args;
pub mod at_once;
pub mod builder;
pub mod claims;
pub mod context;
pub mod default_nodes;
pub mod destination;
pub mod ending;
pub mod here;
pub mod inventory;
pub mod join_listener;
pub mod launch;
pub mod members;
pub mod processes;
pub mod reach;
pub mod shell_expansion;
pub mod standing;
