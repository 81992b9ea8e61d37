//! Limits on what a peer may cost before it has proved that it knows a key or a secret, and how
//! long a connecting side waits for the other one.

use std::time::Duration;

/// The maximum number of strangers: connections of which nothing shows yet that they know a key or
/// a secret. When another one comes, the oldest of the address with most of them is closed.
pub const STRANGERS: usize = 512;

/// The maximum number of strangers of one address: a neighbour's 64 lanes that wait for their copy,
/// and some more. When another one comes, the oldest of them is closed.
pub const STRANGERS_OF_ADDRESS: usize = 72;

/// The maximum number of connections that were answered, because only the holder of a key or secret
/// can have made what they sent, and that have not proved yet that it is no repetition. When
/// another one comes, the oldest of the key or secret with most of them is closed.
pub const PROVING: usize = 512;

/// The timeout for a peer's greeting: all of it must arrive within this time.
pub const GREETING: Duration = Duration::from_secs(5);

/// How long a greeting waits for the order that announces its connection to this node.
pub const ORDER: Duration = Duration::from_secs(5);

/// How long a peer that fetches the program waits for the order that announces its ticket.
pub const TICKET: Duration = Duration::from_secs(1);

/// The maximum length in bytes of the first frame.
pub const MESSAGE: usize = 256;

/// The timeout for connecting a link or a mount to a node, and again for the answer to its
/// greeting.
pub const ANSWER: Duration = Duration::from_secs(2);

/// How long bytes that an agent sent to its head may stay unacknowledged before the connection
/// counts as broken.
pub const UNACKNOWLEDGED: Duration = Duration::from_millis(2500);

/// How long an agent waits for another connection of a session whose connection broke, unless the
/// head asks for more: as long as a silent node is not dead, and two attempts of its head.
pub const RESUME: Duration = Duration::from_secs(6);

/// How long a session may be silent before its head opens another connection.
pub const SILENCE: Duration = Duration::from_secs(1);

/// How long the first bytes over a parked connection may stay unacknowledged before the connection
/// counts as broken.
pub const PARKED: Duration = Duration::from_millis(500);
