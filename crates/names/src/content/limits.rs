//! How long is waited for holders: no wait is endless.

use std::time::Duration;

/// The interval between two checks whether a wait goes on.
pub const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The time after which a holder that answers nothing is left alone. Nodes say before that they did
/// not answer.
pub const ANSWER_MAX: Duration = Duration::from_secs(40);

/// The longest time that a reader waits for a block, from whomever. An origin may take as long to
/// answer.
pub const BLOCK_MAX: Duration = Duration::from_secs(300);

/// The rate in bytes per second below which waiting readers also read from nodes of the next rank:
/// no network of a cluster is so slow, but what a node fetches from afar may come so slowly.
pub const SLOW_NODES: u64 = 1 << 20;

/// The rate in bytes per second below which they also read from the origin, which is far away and
/// read once for all nodes, if possible.
pub const SLOW_ORIGIN: u64 = 64 << 10;
