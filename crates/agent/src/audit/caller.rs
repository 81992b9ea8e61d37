//! Who has a session.

use std::net::SocketAddr;

use garland_protocol::Role;
use garland_protocol::wire::PublicKey;

/// A peer that proved who it is.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The address of its first connection.
    pub peer: SocketAddr,
    /// Its key.
    pub key: PublicKey,
    /// What it is.
    pub role: Role,
}
