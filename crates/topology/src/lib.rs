//! Topologies: nodes, their NICs, the media that connect them, and the routes of packets.
//!
//! The emulated lab, the generated network configuration, the cabling check and the bounds are
//! derived from a [`Topology`]. It is resolved: every NIC has its address, and every route is
//! listed. Users write a short `[topology]` section that names a shape.
//!
//! [`NodeId`], [`NicId`] and [`MediumId`] are indices into the vectors of one [`Topology`].
//!
//! # Where to change what
//!
//! - A kind of network configuration is a file in `config/`, named in `format.rs`, chosen in
//!   `mod.rs` there.
//! - A medium: its kind is `MediumKind` in `lib.rs`, its limits are in `crossing.rs` and
//!   `check/media.rs`, its word in `file/explicit.rs`; how it is emulated: `lab/src/medium/`.
//! - The built-in scenarios, and how a topology is found by name: `scenarios.rs`.
//! - Conditions of the time of a node: `vintage.rs` (`half_duplex.rs` for ports).

#![forbid(unsafe_code)]

pub mod bounds;
mod check;
pub mod config;
mod crossing;
pub mod drawing;
pub mod file;
mod forwarding;
mod half_duplex;
mod inventory;
pub mod miswiring;
mod nic_name;
pub mod paths;
mod resource;
pub mod scenarios;
pub mod shapes;
pub mod sizing;
mod subnet;
pub mod verify;
mod vintage;

use std::fmt;
use std::net::Ipv4Addr;

use garland_core::nic_facts::Ethernet;
use garland_core::units::{Nanos, Rate};
use serde::{Deserialize, Serialize};

pub use check::{LONGEST_DEVICE, MOST_NODES, TopologyFault};
pub use forwarding::Forwarding;
pub use inventory::Inventory;
pub use nic_name::NicName;
pub use resource::Resource;
pub use subnet::{Subnet, same_network};
pub use vintage::{OldTcp, Vintage};

/// The index of a node in [`Topology::nodes`].
pub type NodeId = usize;
/// The index of a NIC in [`Topology::nics`].
pub type NicId = usize;
/// The index of a medium in [`Topology::media`].
pub type MediumId = usize;

/// Nodes, NICs and media, with addresses and routes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    /// The topology's name.
    pub name: String,
    /// The nodes; the first one is the head.
    pub nodes: Vec<Node>,
    /// The hubs, switches and wires.
    pub media: Vec<Medium>,
    /// The NICs of all nodes, in order of their nodes and then of their names.
    pub nics: Vec<Nic>,
    /// Cables between media, such as from a leaf to a spine.
    pub uplinks: Vec<Uplink>,
    /// Bonds: groups of NICs that a node uses as one.
    pub bonds: Vec<Bond>,
    /// The routes of all nodes, except those that follow from the addresses and prefixes of NICs.
    pub routes: Vec<Route>,
}

/// A machine of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The node's name.
    pub name: String,
    /// The address by which other nodes reach the node: that of a NIC or a bond, or, if there are
    /// several paths to the node, an address on its loopback device.
    pub address: Ipv4Addr,
    /// Whether the node forwards packets of other nodes.
    pub forwards: bool,
    /// The node's limit of CPU time, in thousandths of one CPU; `None` for no limit.
    pub cpu: Option<u32>,
    /// The rate limit of the node's disk for reads and writes; `None` for no limit.
    pub disk: Option<Rate>,
    /// The conditions of the time of the node.
    #[serde(default)]
    pub vintage: Vintage,
    /// The price of the node without NICs.
    pub price: Price,
}

/// A NIC of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nic {
    /// The node that the NIC belongs to.
    pub node: NodeId,
    /// The device name on the node, `eth0` and up.
    pub name: String,
    /// The medium that the NIC is plugged into.
    pub medium: MediumId,
    /// The address of the NIC; `None` if the NIC is part of a bond below IP, which has the address.
    pub address: Option<Ipv4Addr>,
    /// The stations that the NIC reaches without a route.
    pub reach: Reach,
    /// The Ethernet address of the NIC: the one in the file, or a locally administered one.
    pub ethernet: Ethernet,
    /// The largest packet, in bytes.
    pub mtu: u16,
    /// The price of the NIC.
    pub price: Price,
}

/// The stations that are reached through a NIC without a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    /// All stations whose addresses have the same prefix of this length in bits.
    Subnet(u8),
    /// One address, that of the other end of a wire (`/32` with a peer).
    Peer(Ipv4Addr),
    /// No stations: the NIC is part of a bond below IP, which has the address.
    Nobody,
}

/// A hub, a switch or a wire. It connects NICs or other media.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Medium {
    /// The medium's name: a letter, followed by letters, digits, `-` and `_`.
    pub name: String,
    /// Whether the medium is a hub, a switch or a wire.
    pub kind: MediumKind,
    /// The rate in bits per second on the wire: of the whole hub, or of each direction of a wire or
    /// of a port of a switch. `None` means no limit; a hub must have a rate.
    pub rate: Option<Rate>,
    /// The time from the moment at which a frame has left its sender's queue until it reaches the
    /// other end of the medium: one way, so that a round trip over the medium takes twice as long.
    /// 0 if it is not known or does not count.
    pub delay: Nanos,
    /// The size of a port's buffer in bytes; derived from the rate if `None`.
    pub buffer: Option<u64>,
    /// The price of the medium without cables.
    pub price: Price,
    /// The cables of the medium: one per NIC, or one for a wire.
    pub cable: Cable,
}

/// The kinds of media.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MediumKind {
    /// One shared half-duplex medium for all stations, such as a coaxial bus or a repeater.
    Hub {
        /// Whether stations that send at the same time lose time to collisions, as on Ethernet: up
        /// to 7 % of the rate with full frames (Metcalfe and Boggs, 1976). Without collisions the
        /// medium is shared fairly and loses nothing; the bounds assume this.
        collisions: bool,
    },
    /// A switch with full-duplex ports, store and forward.
    Switch {
        /// The total rate of all ports together; `None` for no limit.
        backplane: Option<Rate>,
    },
    /// A full-duplex cable between two NICs.
    #[default]
    Wire,
}

impl Node {
    /// Returns a node that forwards no packets, without limits and without a price.
    pub(crate) fn new(name: &str, address: Ipv4Addr) -> Self {
        let price = Price::default();
        let vintage = Vintage::default();
        let name = name.to_owned();
        Self { name, address, forwards: false, cpu: None, disk: None, vintage, price }
    }
}

impl MediumKind {
    /// Whether the medium is a hub.
    pub fn is_hub(self) -> bool {
        matches!(self, Self::Hub { .. })
    }

    /// Returns the rate of the backplane of a switch, if it has one.
    pub fn backplane(self) -> Option<Rate> {
        match self {
            Self::Switch { backplane } => backplane,
            Self::Hub { .. } | Self::Wire => None,
        }
    }
}

/// A cable between two media. If `to` is a hub, the port of `from` is one of its stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uplink {
    /// The medium at one end, a switch.
    pub from: MediumId,
    /// The medium at the other end, a hub or a switch.
    pub to: MediumId,
    /// The rate of each direction; `None` for that of the slower medium.
    pub rate: Option<Rate>,
}

/// Several NICs of a node that are used as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bond {
    /// The node that the bond belongs to.
    pub node: NodeId,
    /// The device name, `bond0`. The device exists only with [`Selector::Packet`] and
    /// [`Selector::Flow`].
    pub name: String,
    /// The bonded NICs, at least two.
    pub nics: Vec<NicId>,
    /// How a NIC is selected for a packet.
    pub selector: Selector,
    /// The address of the bond; with [`Selector::Subflow`] the address of its first NIC.
    pub address: Ipv4Addr,
    /// The prefix length of the bond's network, in bits.
    pub prefix: u8,
}

/// How one of several NICs or next hops is selected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Selector {
    /// Packet by packet, in turn. A connection uses all NICs or next hops, and its packets overtake
    /// each other (balance-rr of Linux bonding, the bonding of 1996).
    #[default]
    Packet,
    /// By connection: all packets of a connection use the same NIC or next hop (balance-xor with
    /// layer3+4, LACP, equal-cost routes).
    Flow,
    /// By subflow: every connection has a subflow on each NIC (MPTCP).
    Subflow,
}

/// A route of a node. Packets have [`Node::address`] as their source, whatever NIC they use;
/// replies may arrive at another NIC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// The node that has the route.
    pub node: NodeId,
    /// The destination host, or a network with `prefix` below 32.
    pub to: Ipv4Addr,
    /// The prefix length of the destination, in bits; 32 for one host.
    pub prefix: u8,
    /// The next hops; `selector` selects one of them.
    pub hops: Vec<NextHop>,
    /// How one of several hops is selected: by packet or by flow.
    pub selector: Selector,
}

/// The next hop of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextHop {
    /// The NIC that sends. Any NIC of a bond that works below IP stands for the bond.
    pub nic: NicId,
    /// The address of the neighbour; `None` if the destination itself is a neighbour.
    pub via: Option<Ipv4Addr>,
}

/// A price in hundredths of the currency of the file.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Price(pub u64);

/// Prints the price with two decimals: `15.00`.
impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}.{:02}", self.0 / 100, self.0 % 100))
    }
}

/// The cables of a medium.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cable {
    /// The kind of cable as in the file, such as `direct`, `crossed`, `dac` or `fibre`.
    pub kind: String,
    /// The price of one cable.
    pub price: Price,
}

impl Topology {
    /// Finds a node by its name.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.nodes.iter().position(|node| node.name == name)
    }

    /// Returns the NICs of a node, in order.
    pub fn nics_of(&self, node: NodeId) -> impl Iterator<Item = (NicId, &Nic)> {
        self.nics.iter().enumerate().filter(move |(_, nic)| nic.node == node)
    }

    /// Returns the NICs that are plugged into a medium, in order.
    pub fn stations(&self, medium: MediumId) -> impl Iterator<Item = (NicId, &Nic)> {
        self.nics.iter().enumerate().filter(move |(_, nic)| nic.medium == medium)
    }

    /// Returns the first medium of `one` that `other` is on, too; `None` if they share no medium.
    pub fn medium_between(&self, one: NodeId, other: NodeId) -> Option<MediumId> {
        let mut own = self.nics_of(one).map(|(_, nic)| nic.medium);
        own.find(|medium| self.stations(*medium).any(|(_, at)| at.node == other))
    }

    /// Returns, for each medium, the medium with the lowest index in its broadcast domain. Media
    /// that uplinks join, directly or through other media, are one broadcast domain.
    pub fn segments(&self) -> Vec<MediumId> {
        let uplinks = self.uplinks.iter().map(|uplink| (uplink.from, uplink.to));
        first_connected(self.media.len(), uplinks)
    }

    /// Returns the uplinks of a medium: the index of each, and the medium at its other end.
    pub fn uplinks_at(&self, medium: MediumId) -> impl Iterator<Item = (usize, MediumId)> {
        self.uplinks.iter().enumerate().filter_map(move |(id, uplink)| match medium {
            medium if medium == uplink.from => Some((id, uplink.to)),
            medium if medium == uplink.to => Some((id, uplink.from)),
            _ => None,
        })
    }
}

/// Returns, for each of `count` items, the lowest item of its group. Items that `pairs` connect,
/// directly or through other items, are one group.
fn first_connected(count: usize, pairs: impl Iterator<Item = (usize, usize)>) -> Vec<usize> {
    let mut first: Vec<usize> = (0..count).collect();
    let root = |first: &[usize], mut item: usize| {
        while first[item] != item {
            item = first[item];
        }
        item
    };
    for (one, two) in pairs {
        let one = root(&first, one);
        let two = root(&first, two);
        first[one.max(two)] = one.min(two);
    }
    (0..count).map(|item| root(&first, item)).collect()
}
