//! Operations: the state machines by which the head gives orders to agents and collects what they
//! answer. A copy has its own machine, [`Head`](crate::Head).

pub mod balance;
mod compare;
mod interface;
mod meetings;
mod query;
mod shared_reads;
mod silence;

pub use compare::{Comparison, ComparisonEnd, SharedSource};
pub use interface::{AgentEvent, Operation, Orders};
pub use meetings::{MeetingKeys, MeetingRound, Pair, PairEnd};
pub use query::{Answers, Query};
pub use shared_reads::SharedDigests;
pub use silence::Silence;
