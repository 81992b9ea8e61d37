//! The agent and the head: they drive the protocol's machines with real sockets and files.
//!
//! The data plane is plain threads and blocking calls: one thread a lane moves blocks, one writes
//! them; the control channel has threads of its own, so that no disk and no full socket can silence
//! a node.

mod agent;
mod attributes;
mod awake;
mod balance;
mod budget;
mod calls;
mod chain;
mod command;
mod conditions;
mod conduit;
mod connection;
mod disk;
mod exec;
mod farm;
mod feed;
mod files;
mod gauge;
mod giving;
mod greeters;
mod greeting;
mod head;
mod image;
mod known;
mod lane;
mod lanes;
mod leaving;
mod link;
mod listener;
mod log;
mod look;
mod member;
mod orders;
mod outcome;
mod pace;
mod packing;
mod parking;
mod part;
mod pool;
mod probe;
mod queue;
mod read_back;
mod recorder;
mod seat;
mod session;
mod shell;
mod source;
mod stall;
mod store;
mod survey;
mod switchboard;
mod timed;
mod tree;
mod usage;
mod view;
mod writer;
mod writing;

pub use agent::{AgentConfig, AgentError, ReadyLine, run_agent};
pub use balance::{Errand, ErrandCourse, Exchange, RoundCourse, RoundEnd, RoundJob, Stocked};
pub use chain::{Links, count_links, stand_chain};
pub use command::{CommandEnd, run_command, shut_down};
pub use connection::{Connection, ConnectionError, connect_agent};
pub use disk::{DiskCourse, DiskEnd, DiskNode, test_disks};
pub use farm::{
    Bench, Carrier, FarmEnd, FarmNews, FarmNode, FarmWork, Place, facts, guard, run_farm,
};
pub use feed::FeedError;
pub use greeting::introduce;
pub use head::{Agent, CopyJob, Ends, Newcomer, Pipeline, Progress, Tracing, run_copy};
pub use image::Image;
pub use known::{Answered, Asked, Asking, Opened, Records, Shared, compare};
pub use link::LinkError;
pub use look::{Seen, look};
pub use outcome::{Moments, NodeOutcome, Outcome};
pub use pace::Pace;
pub use packing::Packing;
pub use probe::{Pair, PairEnd, Party, bring_helper};
pub use source::{Content, Source, SourceError, StreamSource};
pub use store::reason;
pub use survey::Survey;
pub use timed::Timed;
pub use tree::{LeftOut, ScanError, ScanOptions, Tally, TreeSource, name_of};
pub use view::{Watched, watch};
