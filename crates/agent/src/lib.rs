//! The agent: the process on a node which executes the head's orders.
//!
//! The control channel has threads of its own, so that neither a disk that hangs nor a full socket
//! can silence a node.
//!
//! # Where to change what
//!
//! - `session` admits orders and awaits the next connection of its peer, `orders` gives them to
//!   the part that they are for, `files/service.rs` admits requests for files.
//! - `agent/members.rs` keeps who the members are; `names/store.rs` has records,
//!   `names/holdings.rs` what is served, `names/fetchers.rs` who fetches; `files/verified.rs`
//!   serves blocks, also of files that still arrive.
//! - `files/job_folders.rs` checks what nodes of a farm reach on the head; `farm/departure.rs`
//!   lets a running job go.
//! - `comparison` finds what an interrupted copy left; `agent/copies.rs` says where a sink is;
//!   `retirement` ends this agent for another release; `probe/mod.rs` has the patience of two
//!   agents that meet.

#![forbid(unsafe_code)]

mod agent;
mod audit;
mod balance;
mod chain;
mod comparison;
mod conditions;
mod controller;
mod copy_task;
mod disk;
mod error;
mod examination;
mod exec;
mod expected;
mod farm;
mod files;
mod giving;
mod known_members;
mod listener;
mod listening;
mod log;
mod names;
mod orders;
mod part_reader;
mod probe;
mod progress;
mod retirement;
mod run;
mod session;
mod stat;
mod survey;
mod threads_of_keys;
mod view;
mod waiter;

pub use agent::{AgentConfig, AgentError};
pub use farm::{JobExecutor, Place, guard, node_facts};
pub use giving::OpenProgram;
pub use listening::ListenError;
pub use names::NameStore;
pub use run::{run_agent, serve};
