//! What an agent tells of its NICs.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use super::super::Ethernet;

/// A NIC as its node sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicFacts {
    /// The device's name.
    pub name: String,
    /// Its Ethernet address.
    pub ethernet: Ethernet,
    /// Whether something answers at the other end of its cable.
    pub carrier: bool,
    /// Bits per second that it has agreed on; none where it doesn't say.
    pub speed: Option<u64>,
    /// Whether it sends and receives at once; none where it doesn't say.
    pub duplex: Option<Duplex>,
    /// The largest packet, in bytes.
    pub mtu: u32,
    /// Its addresses.
    pub addresses: Vec<Ipv4Addr>,
}

/// Whether a NIC sends and receives at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Duplex {
    /// One at a time.
    Half,
    /// Both at once.
    Full,
}

/// A probe that came in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Heard {
    /// The NIC that it came in by.
    pub by: String,
    /// The node that sent it: its place in the topology.
    pub node: u32,
    /// The NIC that it left by.
    pub nic: String,
}
