//! The members of a cluster: nodes that read names and their contents by themselves (`garland get`
//! on a node). Each has a key of its own, whose private half never leaves it.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::bounds::within;
use crate::names::record_key::RecordKey;
use crate::wire::Secret;
use crate::wire::{KeyPair, PublicKey};

/// The maximum number of standing agents in a list of members.
pub const CLUSTER_NODES_MAX: usize = 4096;

/// The maximum length of an encoded list of members in bytes: the pieces of an order have more
/// room.
pub const ROSTER_MAX: usize = 4 << 20;

/// The maximum number of addresses of a node.
const ADDRESSES_MAX: usize = 4;

/// The maximum length of the name of a node or rack in bytes.
const NODE_NAME_MAX: usize = 260;

/// The members of a cluster, as its controller tells them to each agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roster {
    /// The key by which the records of names are recognised.
    pub records: RecordKey,
    /// The standing agents, ordered by name; the first ones keep the names.
    pub agents: Vec<ClusterAgent>,
}

/// What a node needs to read names and contents from standing agents. Its agent keeps it in a file
/// of mode 0600. Whoever can read that file can read what is named, and can change nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClusterKey {
    /// The private key with which this node greets agents.
    pub member: Secret,
    /// The public key by which agents recognise this node.
    pub public: PublicKey,
    /// The name of this node.
    pub node: String,
    /// The directory below which this node's agent resolves all paths (raw bytes).
    pub root: Vec<u8>,
    /// The members.
    pub roster: Roster,
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
    /// The public key with which commands on the node greet other agents; `None` if the node is no
    /// member: its agent did not tell one.
    pub member: Option<PublicKey>,
    /// The name of the node's rack, if known.
    pub rack: Option<String>,
}

impl PartialEq for ClusterKey {
    fn eq(&self, other: &Self) -> bool {
        self.to_bytes() == other.to_bytes()
    }
}

impl Eq for ClusterKey {}

impl Roster {
    /// Returns the list's bytes, which [`parse`](Self::parse) reads.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        encoded(self)
    }

    /// Parses a list.
    ///
    /// # Errors
    /// When the bytes are none, or a value is out of bounds.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        within("bytes of a list of members", bytes.len(), 0..=ROSTER_MAX)?;
        let parsed = postcard::from_bytes::<Self>(bytes);
        let roster = parsed.map_err(|_| "the list of members is damaged".to_owned())?;
        roster.check()?;
        Ok(roster)
    }

    fn check(&self) -> Result<(), String> {
        within("agents of a cluster", self.agents.len(), 0..=CLUSTER_NODES_MAX)?;
        for agent in &self.agents {
            within("addresses", agent.addresses.len(), 0..=ADDRESSES_MAX)?;
            let rack = agent.rack.as_ref().map_or(0, String::len);
            within("bytes of a name", agent.name.len().max(rack), 0..=NODE_NAME_MAX)?;
        }
        Ok(())
    }

    /// Returns the agent with this public key, if it is in the list.
    #[must_use]
    pub fn agent(&self, key: &PublicKey) -> Option<&ClusterAgent> {
        self.agents.iter().find(|agent| agent.key == *key)
    }
}

impl ClusterKey {
    /// The maximum length of the file of a key in bytes.
    pub const FILE_MAX: u64 = 16 << 20;

    /// Returns the key's bytes, which [`parse`](Self::parse) reads.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        encoded(self)
    }

    /// Parses a key; `None` if the bytes are none, or a value is out of bounds.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes::<Self>(bytes).ok().filter(|key| key.roster.check().is_ok())
    }

    /// Returns the key pair with which this node greets agents.
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

fn encoded(value: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(value).expect("every value can be serialised")
}
