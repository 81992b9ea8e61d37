//! The state of NICs as agents report it, and Ethernet addresses.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::malformed::Malformed;

/// The state of a NIC as reported by its node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicFacts {
    /// The name of the network device, such as `eth0`.
    pub name: String,
    /// The NIC's Ethernet address.
    pub ethernet: Ethernet,
    /// Whether the NIC has a link (carrier).
    pub carrier: bool,
    /// The negotiated rate in bits per second, if reported.
    pub speed: Option<u64>,
    /// The negotiated duplex mode, if reported.
    pub duplex: Option<Duplex>,
    /// The MTU in bytes.
    pub mtu: u32,
    /// The NIC's IPv4 addresses.
    pub addresses: Vec<Ipv4Addr>,
}

/// The duplex mode of a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Duplex {
    /// Half duplex.
    Half,
    /// Full duplex.
    Full,
}

/// A probe packet that a node received.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Heard {
    /// The name of the NIC that received the packet.
    pub by: String,
    /// The index of the sending node in the topology.
    pub node: u32,
    /// The name of the NIC that sent the packet.
    pub nic: String,
}

/// An Ethernet (MAC) address of 48 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ethernet(pub [u8; 6]);

impl Ethernet {
    /// Returns the locally administered address of the NIC with this index in a topology. Only the
    /// low 24 bits of the index are used.
    pub fn from_index(nic: usize) -> Self {
        let [.., b2, b1, b0] = (nic as u64).to_be_bytes();
        Self([0x02, 0x88, 0x00, b2, b1, b0])
    }

    /// Returns whether this is a generated address (`02:88:..`) of a topology or lab. Real NICs do
    /// not have such addresses.
    pub fn is_made_up(self) -> bool {
        self.0[..2] == [0x02, 0x88]
    }
}

impl fmt::Display for Ethernet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// Parses six hexadecimal bytes of two digits each: `02:88:00:00:00:01`.
impl FromStr for Ethernet {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let byte = |pair: &str| (pair.len() == 2).then(|| u8::from_str_radix(pair, 16).ok())?;
        let bytes: Option<Vec<u8>> = text.split(':').map(byte).collect();
        let six = bytes.and_then(|bytes| <[u8; 6]>::try_from(bytes).ok());
        let form = "an Ethernet address: write six bytes such as 02:88:00:00:00:01";
        six.map(Self).ok_or_else(|| Malformed::new(text, form))
    }
}
