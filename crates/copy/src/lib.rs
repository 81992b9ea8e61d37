//! Copies as a library. [`spec::CopySpec`] says what is copied and how; [`planned::PlannedCopy`]
//! copies to nodes, [`gathering::PlannedGather`] from them. Commands, spools and names make a spec,
//! and get a result; who shows the progress is an [`observer::Observer`]. Nothing here reads a
//! command line or prints a result.
//!
//! Both have a [`session::Session`]: a run, phases, agents, and an end. A copy to nodes:
//! [`source::CopySource`] is opened, [`planning`] makes the plan, the fleet is assembled,
//! [`incremental`] leaves out what the nodes have, [`attempt`] copies.
//!
//! # Where to change what
//!
//! - [`planning`] makes the plan: `known_wires` has what is known of wires, `calibration`
//!   measures what processors cost here, `handling` says what options do to that.
//! - `lane_count` splits lanes where one thread cannot keep up with a wire.
//! - `reachability` changes a plan where nodes are reached through ssh only.
//! - `command_line` keeps the command, so that a copy goes on after its head was killed.
//! - `incremental` asks what a rerun of a tree leaves out; `changes` folds what nodes say of it
//!   (`-v`).

#![forbid(unsafe_code)]

mod attempt;
pub mod calibration;
mod chain;
pub mod changes;
pub mod command_line;
pub mod ends;
pub mod gathering;
mod handling;
mod incremental;
mod injections;
pub mod known_wires;
mod lane_count;
mod limit;
pub mod lists;
pub mod observer;
pub mod overtime;
pub mod place;
pub mod planned;
mod planning;
mod reachability;
pub mod session;
mod shape;
pub mod source;
pub mod spec;
