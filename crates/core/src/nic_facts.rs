//! NICs: what an agent reports of them, and their Ethernet addresses.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

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

/// An Ethernet address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ethernet(pub [u8; 6]);

impl Ethernet {
    /// The address of a topology's NIC: locally administered, told from its place.
    pub fn of(nic: usize) -> Self {
        let [.., b2, b1, b0] = (nic as u64).to_be_bytes();
        Self([0x02, 0x88, 0x00, b2, b1, b0])
    }

    /// Whether it is one that topologies and labs make up (`02:88:..`), which no real NIC has.
    #[must_use]
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

/// Reads `02:88:00:00:00:01`.
impl FromStr for Ethernet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let byte = |pair: &str| (pair.len() == 2).then(|| u8::from_str_radix(pair, 16).ok())?;
        let bytes: Option<Vec<u8>> = text.split(':').map(byte).collect();
        let six = bytes.and_then(|bytes| <[u8; 6]>::try_from(bytes).ok());
        six.map(Self).ok_or_else(|| {
            format!("{text:?} is no Ethernet address: write one as 02:88:00:00:00:01")
        })
    }
}
