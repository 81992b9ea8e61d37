//! The head's side of the disk/net balance test: which copies run at once, and how they went.
//!
//! Every copy is a lane of the one engine, of one hop: from a node to its partner or to itself. The
//! node that has the file takes the head's place in the copy's plan and feeds it; the head itself
//! only decides, over the control channels, as it does for any copy. A local copy differs from a
//! remote one in nothing but its hop, which is the node's own loopback instead of a wire.

mod ask;
mod exchange;
mod pair;
mod round;

pub use exchange::{CopyPair, Exchange, PreparedFile, RoundJob, RoundOutcome};
pub use pair::PairOutcome;
pub use round::RoundEnd;
