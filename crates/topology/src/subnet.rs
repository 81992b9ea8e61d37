//! Address allocation: all addresses of a topology are computed from the number of a node, so no
//! state is needed.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use garland_core::malformed::Malformed;
use serde::{Deserialize, Serialize};

use super::NodeId;

/// An IPv4 network from which nodes get their addresses.
///
/// ```
/// use garland_topology::Subnet;
/// assert_eq!(Subnet::default().address(3).to_string(), "10.88.0.13");
/// let of_2004: Subnet = "192.168.1.0/24".parse()?;
/// assert_eq!(of_2004.address(0).to_string(), "192.168.1.1");
/// # Ok::<(), garland_core::malformed::Malformed>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Subnet {
    network: Ipv4Addr,
    prefix: u8,
}

/// The number of nodes per value of an address's third byte in a large network. The last byte is
/// never 0 to 9 or 250 to 255.
const PER_ROW: u32 = 240;

/// The longest prefix of a large network, in bits.
const LARGE: u8 = 16;

impl Subnet {
    /// Returns the network with this prefix length that contains `address`. The prefix is limited
    /// to 8 to 30.
    pub fn new(address: Ipv4Addr, prefix: u8) -> Self {
        let prefix = prefix.clamp(8, 30);
        Self { network: Ipv4Addr::from_bits(address.to_bits() & mask(prefix)), prefix }
    }

    /// Returns the network's first address, which no node has.
    pub fn network(self) -> Ipv4Addr {
        self.network
    }

    /// Returns the length of the network prefix, in bits.
    pub fn prefix(self) -> u8 {
        self.prefix
    }

    /// Returns the number of addresses that nodes can have.
    pub fn room(self) -> u32 {
        if self.prefix <= LARGE {
            (1 << (24 - self.prefix)) * PER_ROW
        } else {
            (1 << (32 - self.prefix)) - 2
        }
    }

    /// Returns the address of node `number`; the head has number 0. In a network of `/16` or
    /// larger, addresses start at 10 in the last byte: in 10.88.0.0/16 the head has 10.88.0.10 and
    /// number 3 has 10.88.0.13. In smaller networks they start at 1: in 192.168.1.0/24 these two
    /// have 192.168.1.1 and 192.168.1.4. Numbers from [`room`](Self::room) on wrap around to 0.
    pub fn address(self, number: u32) -> Ipv4Addr {
        let number = number % self.room();
        let host = if self.prefix <= LARGE {
            (number / PER_ROW) * 256 + 10 + number % PER_ROW
        } else {
            number + 1
        };
        Ipv4Addr::from_bits(self.network.to_bits() | host)
    }

    /// Returns the network of the same size that is `places` networks after this one.
    pub fn after(self, places: u32) -> Self {
        let step = places.wrapping_shl(u32::from(32 - self.prefix));
        Self { network: Ipv4Addr::from_bits(self.network.to_bits().wrapping_add(step)), ..self }
    }

    /// Returns the address of `node` in this network; the index of the node is its number.
    pub(super) fn of_node(self, node: NodeId) -> Ipv4Addr {
        self.address(u32::try_from(node).unwrap_or(u32::MAX))
    }
}

/// Whether two addresses are in the same network with a prefix of this length in bits.
pub fn same_network(one: Ipv4Addr, other: Ipv4Addr, prefix: u8) -> bool {
    (one.to_bits() ^ other.to_bits()) & mask(prefix) == 0
}

/// Returns the network mask of a prefix.
pub(super) fn mask(prefix: u8) -> u32 {
    u32::MAX.checked_shl(u32::from(32 - prefix.min(32))).unwrap_or(0)
}

/// The network `10.88.0.0/16`.
impl Default for Subnet {
    fn default() -> Self {
        Self::new(Ipv4Addr::new(10, 88, 0, 0), 16)
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.prefix)
    }
}

impl FromStr for Subnet {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let parts = text.split_once('/');
        let parts = parts.and_then(|(net, bits)| Some((net.parse().ok()?, bits.parse().ok()?)));
        let Some((address, prefix)) = parts else {
            return Err(Malformed::new(text, "a network: write one such as 10.88.0.0/16"));
        };
        if !(8..=30).contains(&prefix) {
            return Err(Malformed::new(text, "a usable network: its prefix must be 8 to 30"));
        }
        let subnet = Self::new(address, prefix);
        if subnet.network != address {
            let why = format!("a network: it has bits beyond its prefix: write {subnet}");
            return Err(Malformed::new(text, why));
        }
        Ok(subnet)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_number_has_its_own_address() {
        let subnet = Subnet::default();
        let all: HashSet<_> = (0..=1000).map(|number| subnet.address(number)).collect();
        assert_eq!(all.len(), 1001);
        assert_eq!(subnet.address(0), Ipv4Addr::new(10, 88, 0, 10));
        assert_eq!(subnet.address(1000), Ipv4Addr::new(10, 88, 4, 50));
        assert!(all.iter().all(|address| same_network(*address, subnet.network(), 16)));
        assert!(!same_network(subnet.network(), subnet.after(1).address(0), 16));
        assert_eq!(subnet.after(2).to_string(), "10.90.0.0/16");
    }

    #[test]
    fn small_networks_begin_at_one() {
        let subnet: Subnet = "192.168.1.0/29".parse().unwrap();
        assert_eq!((subnet.room(), subnet.address(5)), (6, Ipv4Addr::new(192, 168, 1, 6)));
        assert_eq!(subnet.address(6), subnet.address(0));
        assert_eq!(subnet.after(1).to_string(), "192.168.1.8/29");
    }

    #[test]
    fn what_is_no_network_says_so() {
        for wrong in ["", "10.0.0.0", "10.0.0.0/31", "10.0.0.1/24", "10.0.0/8", "10.0.0.0/x"] {
            assert!(wrong.parse::<Subnet>().is_err(), "{wrong}");
        }
    }
}
