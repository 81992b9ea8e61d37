//! The head's side of the balance test of disks and network.
//!
//! Every copy is an ordinary copy of one hop, from a node to its partner or to itself. The source
//! node feeds the copy, and has index 0 in the plan; the head only makes the decisions, and sends
//! them over the control channels. The hop of a local copy is the node's loopback.

mod exchange;
mod job;
mod pair;
mod round;

pub use exchange::{Exchange, PreparedFile, RoundOutcome};
pub use job::{CopyPair, RoundJob};
pub use pair::PairOutcome;
