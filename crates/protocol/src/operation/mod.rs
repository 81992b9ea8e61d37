//! Operations: the state machines by which the head gives orders to agents and collects what they
//! answer. A copy has its own machine, [`Head`](crate::Head).

pub mod balance;
mod interface;
mod meetings;
mod query;
mod silence;

pub use interface::{AgentEvent, Operation, Orders};
pub use meetings::{MeetingKeys, MeetingRound, Pair, PairEnd};
pub use query::{Answers, Query};
pub use silence::Silence;
