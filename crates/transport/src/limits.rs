//! What a peer may cost before it has proved that it knows a key or a secret, and how long a side
//! that connects waits for the other one.

use std::time::Duration;

/// The maximum number of connections that have not completed their greeting; others are closed
/// before a thread or a buffer is spent on them.
pub const PEERS: usize = 256;

/// The maximum number of such connections per address: a neighbour's 64 lanes, and some more.
pub const PEERS_OF_ADDRESS: usize = 72;

/// Timeout for everything that a peer sends in its greeting.
pub const GREETING: Duration = Duration::from_secs(5);

/// How long a greeting waits for the order that announces its connection to this node.
pub const ORDER: Duration = Duration::from_secs(5);

/// How long a greeting waits for the order that announces its ticket for the program.
pub const TICKET: Duration = Duration::from_secs(1);

/// The longest message of a handshake, and the longest first frame, in bytes.
pub const MESSAGE: usize = 256;

/// Timeout for connecting a link or a mount to a node, and for the answer to its greeting.
pub const ANSWER: Duration = Duration::from_secs(2);

/// How long a parked connection may leave a greeting unacknowledged.
pub const PARKED: Duration = Duration::from_millis(500);
