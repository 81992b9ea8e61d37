//! The key of a cluster: with it, a node reads names and their contents by itself (`garland get` on a node).

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use super::bounds::within;
use super::channel::{KeyPair, PublicKey};
use super::keys::Secret;
use super::record_key::RecordKey;

/// The maximum number of nodes in a cluster key: the key fits into a message.
pub const CLUSTER_NODES_MAX: usize = 800;

/// The maximum number of addresses of a node.
const ADDRESSES_MAX: usize = 4;

/// What a node needs to read names and contents from standing agents. Whoever has it can read what is named, and
/// change nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClusterKey {
    /// The private key with which members greet agents.
    pub member: Secret,
    /// The public key by which agents recognise members.
    pub public: PublicKey,
    /// The key by which the records of names are recognised.
    pub records: RecordKey,
    /// The name of the node that has this key; empty until its agent has found itself among the others.
    pub node: String,
    /// The directory below which that agent resolves all paths (raw bytes).
    pub root: Vec<u8>,
    /// The standing agents, ordered by name; the first ones keep the names.
    pub agents: Vec<ClusterAgent>,
}

/// A standing agent of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterAgent {
    /// The node's name.
    pub name: String,
    /// The node's addresses, one for each rail.
    pub addresses: Vec<IpAddr>,
    /// The agent's port.
    pub port: u16,
    /// The agent's public key.
    pub key: PublicKey,
    /// The name of the node's rack, if known.
    pub rack: Option<String>,
}

impl PartialEq for ClusterKey {
    fn eq(&self, other: &Self) -> bool {
        self.to_bytes() == other.to_bytes()
    }
}

impl Eq for ClusterKey {}

impl ClusterKey {
    /// Returns the key's bytes, which [`parse`](Self::parse) reads.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("every value can be serialised")
    }

    /// Parses a key; `None` if the bytes are none, or a value is out of bounds.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes::<Self>(bytes).ok().filter(|key| key.check().is_ok())
    }

    /// Checks that the values from the wire or a file are within limits.
    ///
    /// # Errors
    /// Names the value that is out of bounds.
    pub fn check(&self) -> Result<(), String> {
        within("agents of a cluster", self.agents.len(), 0..=CLUSTER_NODES_MAX)?;
        let addresses = self.agents.iter().map(|agent| agent.addresses.len());
        within("addresses", addresses.max().unwrap_or(0), 0..=ADDRESSES_MAX)
    }

    /// Returns the key pair with which members greet agents.
    #[must_use]
    pub fn keys(&self) -> KeyPair {
        KeyPair { private: self.member.clone(), public: self.public }
    }
}

impl ClusterAgent {
    /// Returns the socket addresses of the agent.
    #[must_use]
    pub fn sockets(&self) -> Vec<SocketAddr> {
        self.addresses.iter().map(|address| SocketAddr::new(*address, self.port)).collect()
    }
}
