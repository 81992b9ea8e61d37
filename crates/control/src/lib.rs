//! The head's side of each operation (copy, comparison, probe, survey, farm ...): drives its state
//! machine over the control channels of all agents.

#![forbid(unsafe_code)]

mod agent_set;
mod agents;
mod balance;
mod chain;
mod command;
mod compare;
mod copy;
mod disk;
mod fabric_helper;
mod farm;
mod outcome;
mod probe;
mod query;
mod session;
mod shared_reads;
mod silence;
mod stat;
mod survey;
mod view;

pub use balance::{CopyPair, Exchange, PairOutcome, PreparedFile, RoundJob, RoundOutcome};
pub use chain::{Links, count_links, stand_chain};
pub use command::{CommandEnd, run_command, shut_down};
pub use compare::{CompareOutcome, CompareRequest, CompareSource, Shared, compare};
pub use copy::{Agent, CopyJob, Ends, Newcomer, Pipeline, Progress, run_copy};
pub use disk::{DiskCourse, DiskEnd, DiskNode};
pub use fabric_helper::bring as bring_helper;
pub use farm::{FarmEnd, Stager, run_farm};
pub use garland_protocol::{Moments, NodeOutcome};
pub use outcome::Outcome;
pub use probe::{MeetingRound, Pair, PairEnd};
pub use session::Session;
pub use stat::{Stats, stat};
pub use survey::Survey;
pub use view::{NodeNews, View};
