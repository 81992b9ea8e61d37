//! The commands, one module each. The function `run` of a module turns arguments into a request,
//! and refuses options without effect. It turns the request into a plan, runs the plan in a session
//! with agents, and prints the result. Arguments are in [`args`]. Commands that measure are in
//! `garland-measure`, jobs in `garland-farm`.
//!
//! # Where to change what
//!
//! - `runs.rs` prints the list of stored runs, which `garland_results::listed` reads.
//! - `net/config.rs` says how users apply a network configuration (`installs_nothing`); its word
//!   is in `args/net.rs`.
//! - `report/wiring.rs` asks which cables data crosses.
//! - `cp/sources.rs` and `cp/objects.rs` open remote sources, `cp/from_nodes.rs` what is on nodes.

#![forbid(unsafe_code)]

pub mod args;
pub mod cp;
pub mod down;
pub mod exec;
pub mod explain;
pub mod forecast;
pub mod key;
pub mod lab_command;
pub mod lab_result;
pub mod lab_run;
pub mod mount_command;
pub mod net;
pub mod plan;
pub mod report;
pub mod runs;
pub mod spool;
pub mod status;
pub mod trace;
pub mod up;
