//! The head's side of the balance test of disks and network.
//!
//! Every copy is an ordinary copy of one hop, from a node to its partner or to itself. The node
//! which has the file takes the head's index in the plan and feeds it; the head only decides, over
//! the control channels. A local copy differs from a remote one in its hop, which is the node's
//! loopback.

mod ask;
mod exchange;
mod job;
mod pair;
mod round;

pub use exchange::{Exchange, PreparedFile, RoundOutcome};
pub use job::{CopyPair, RoundJob};
pub use pair::PairOutcome;
