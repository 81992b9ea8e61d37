//! The head's side of each operation (copy, comparison, probe, survey, farm ...): drives its state
//! machine over the control channels of all agents. The machines are in `garland_protocol`; here
//! are channels, threads, files, and what machines need at random.
//!
//! # Where to change what
//!
//! - `copy/` drives the head of a copy, `farm/controller.rs` that of a farm, `farm/stager.rs`
//!   copies of files of jobs. All other operations: a function here makes its ids and keys, and
//!   runs the machine with `Session::run`.
//! - `agent_set` has the channels to all agents, and dials again.
//! - `carried` has the smaller program that `garland` carries for nodes.

#![forbid(unsafe_code)]

mod agent_set;
mod agents;
mod balance;
mod chain;
mod command;
mod compare;
mod copy;
mod fabric_helper;
mod farm;
mod meeting;
mod names;
mod names_patience;
mod outcome;
pub mod program;
mod session;
mod stat;
mod survey;

pub use garland_protocol::copy::{Moments, NodeOutcome};

pub use balance::{Exchange, RoundOutcome};
pub use chain::{LinkedNeighbours, count_links, link_neighbours, stand_chain};
pub use command::{CommandEnd, CommandEnds, CommandNews, CommandRequest, run_command};
pub use compare::{CompareRequest, CompareSource, compare};
pub use copy::{Agent, CopyJob, Ends, Latecomers, Newcomer, Pipeline, Progress, run_copy};
pub use fabric_helper::bring as bring_helper;
pub use farm::{FarmEnd, Stager, StagerSession, run_farm};
pub use meeting::meet;
pub use names::{AskedAgent, NamesQuestion, NamesReply, ask_names};
pub use names_patience::{NamesPatience, PatienceMark};
pub use outcome::Outcome;
pub use session::Session;
pub use stat::{Looked, examine, stat};
pub use survey::Survey;
