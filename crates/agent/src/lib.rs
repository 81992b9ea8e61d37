//! The agent: the process on a node which executes the head's orders.
//!
//! The control channel has threads of its own, so that neither a disk that hangs nor a full socket
//! can silence a node.

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
mod retirement;
mod run;
mod session;
mod stat;
mod survey;
mod threads_of_keys;
mod view;
mod waiter;

pub use agent::{AgentConfig, AgentError};
pub use farm::{JobExecutor, Place, facts, guard};
pub use giving::OpenProgram;
pub use listening::ListenError;
pub use names::NameStore;
pub use run::{run_agent, serve};
