//! The balance test of disks and network: every node creates a file; then come rounds of copies.
//!
//! Every copy is an ordinary copy of one hop, from a node to its partner or to itself. The source
//! node feeds the copy, and has index 0 in the plan; the head only makes the decisions, and sends
//! them over the control channels. The hop of a local copy is the node's loopback.

mod job;
mod pair;
mod queries;
mod round;

pub use job::{CopyPair, RoundJob};
pub use pair::{CopyKeys, PairOutcome};
pub use queries::{PreparedFile, account, prepare, stock};
pub use round::BalanceRound;
