//! The agent: the process on a node that obeys the head's orders.
//!
//! The control channel has threads of its own, so that no disk and no full socket can silence a node.

#![forbid(unsafe_code)]

mod agent;
mod balance;
mod chain;
mod comparison;
mod conditions;
mod disk;
mod exec;
mod farm;
mod files;
mod giving;
mod greeters;
mod listener;
mod look;
mod orders;
mod part;
mod part_reader;
mod probe;
mod seat;
mod session;
mod survey;
mod view;

pub use agent::{AgentConfig, AgentError, run_agent};
pub use farm::{JobExecutor, Place, facts, guard};
