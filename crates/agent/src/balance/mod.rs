//! Copies between the disks of pairs of nodes, or within a node, all at once: the disk/net balance
//! test.
//!
//! Every copy is a lane of the one engine, of one hop: from a node to its partner or to itself. The
//! node that has the file takes the head's place in the copy's plan and feeds it; the head itself
//! only decides, over the control channels, as it does for any copy. A local copy differs from a
//! remote one in nothing but its hop, which is the node's own loopback instead of a wire.

mod feeding;
mod file;
mod service;

pub use service::BalanceService;
