//! Operations: the state machines by which the head gives orders to agents and collects what they
//! answer. A copy has its own machine, [`Head`](crate::copy::Head).

pub mod balance;
mod chain;
mod channels;
mod command;
mod compare;
mod disk;
mod examine;
mod interface;
mod meetings;
mod names;
mod query;
mod rest;
mod shared_reads;
mod silence;
mod stat;
mod survey;
mod turns;
mod unchanged;
mod view;
pub mod wires;

pub use chain::{Links, count_links, stand_chain};
pub use channels::{ChannelFate, ChannelState, Channels, DialEnd};
pub use command::CommandRun;
pub use compare::{Comparison, ComparisonEnd, ComparisonWork, SharedSource};
pub use disk::{DiskCourse, DiskEnd, DiskNode};
pub use examine::examine;
pub use interface::{AgentEvent, Operation, Orders};
pub use meetings::{MeetingKeys, MeetingRound, Pair, PairEnd};
pub use names::{NAMES_PATIENCE, NamesAnswer, names};
pub use query::{Answers, Query};
pub use rest::Rest;
pub use shared_reads::SharedDigests;
pub use silence::{SILENCE_BY_LOGIN_NS, Silence};
pub use stat::stat;
pub use survey::OwedAnswers;
pub use turns::Turns;
pub use unchanged::NodeChanges;
pub use view::{NodeNews, View};
