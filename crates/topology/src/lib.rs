//! A topology: nodes, their NICs, the media that join them, and how packets find their way.
//!
//! It is the value that the emulated lab, the generated network configuration, the cabling check
//! and the bounds are made from. It is resolved: every NIC has its address, every route is written
//! out. What people write is a short `[topology]` section that names a shape.
//!
//! Indices ([`NodeId`], [`NicId`], [`MediumId`]) are places in the vectors of one [`Topology`].

#![forbid(unsafe_code)]

pub mod bounds;
mod check;
pub mod config;
mod crossing;
pub mod drawing;
pub mod file;
mod forwarding;
mod inventory;
pub mod miswiring;
mod nic_name;
pub mod paths;
mod resource;
pub mod shapes;
pub mod sizing;
mod subnet;
pub mod verify;

pub use check::{LONGEST_DEVICE, MOST_NODES, TopologyFault};
pub use forwarding::Forwarding;
pub use inventory::Inventory;
pub use nic_name::NicName;
pub use resource::Resource;
pub use subnet::Subnet;

use std::fmt;
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use garland_core::nic_facts::Ethernet;
use garland_core::units::{Nanos, Rate};

/// A node's place in [`Topology::nodes`].
pub type NodeId = usize;
/// A NIC's place in [`Topology::nics`].
pub type NicId = usize;
/// A medium's place in [`Topology::media`].
pub type MediumId = usize;

/// Nodes, NICs and media, with addresses and routes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    /// What people call it.
    pub name: String,
    /// The nodes; the first one is the head.
    pub nodes: Vec<Node>,
    /// What joins the nodes.
    pub media: Vec<Medium>,
    /// The NICs of all nodes, in order of their nodes and then of their names.
    pub nics: Vec<Nic>,
    /// Media joined to each other: a switch's port on a bus, a leaf's cable to its spine.
    pub uplinks: Vec<Uplink>,
    /// NICs that a node uses as one.
    pub bonds: Vec<Bond>,
    /// The routes of all nodes beyond those that a NIC's own address and prefix make.
    pub routes: Vec<Route>,
}

/// One machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// The address others reach it by. It is that of a NIC, of a bond, or, where a node has several
    /// ways, one of its own on the loopback device.
    pub address: Ipv4Addr,
    /// Whether it passes on packets that aren't for it.
    pub forwards: bool,
    /// Its share of one processor, in thousandths; all that the machine has when none is given.
    pub cpu: Option<u32>,
    /// How fast its disk reads and writes; as fast as the machine's when none is given.
    pub disk: Option<Rate>,
    /// Its price without NICs.
    pub price: Price,
}

/// A NIC of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nic {
    /// Whose it is.
    pub node: NodeId,
    /// The device's name on the node, `eth0` and up.
    pub name: String,
    /// The medium it is plugged into.
    pub medium: MediumId,
    /// Its address; none when a bond that works below IP has it.
    pub address: Option<Ipv4Addr>,
    /// How the other stations of the medium are reached.
    pub reach: Reach,
    /// Its Ethernet address, locally administered.
    pub ethernet: Ethernet,
    /// The largest packet, in bytes.
    pub mtu: u16,
    /// Its price.
    pub price: Price,
}

/// The stations that are reached through a NIC without a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    /// All stations whose address has the same prefix of this length.
    Subnet(u8),
    /// One address: the other end of a wire (`/32` with a peer).
    Peer(Ipv4Addr),
    /// None: the NIC is part of a bond below IP.
    Nobody,
}

/// What joins NICs, or other media.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Medium {
    /// Its name: a letter and then letters, digits and `-`.
    pub name: String,
    /// What it is.
    pub kind: MediumKind,
    /// Bits per second on the wire: of the whole hub, of each direction of a switch's port or of a
    /// wire. `None` is as fast as the machine goes; a hub always has one.
    pub rate: Option<Rate>,
    /// How long a frame takes from end to end; 0 where nothing is known.
    pub latency: Nanos,
    /// Bytes that wait for a port before frames are lost; by rate when none is given.
    pub buffer: Option<u64>,
    /// What it costs, without cables.
    pub price: Price,
    /// The cables it takes, one a NIC (one a wire).
    pub cable: Cable,
}

/// The kinds of media.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MediumKind {
    /// One shared half-duplex medium for all stations, as a coaxial bus or a repeater.
    Hub {
        /// Whether stations that want to send at once lose time to collisions, as on Ethernet: up
        /// to 7 % of the rate with full frames (Metcalfe and Boggs, 1976). Without them the medium
        /// is shared fairly and loses nothing, which is what the bounds assume.
        collisions: bool,
    },
    /// Full duplex ports, store and forward.
    Switch {
        /// What all ports together can pass on; without limit when none is given.
        backplane: Option<Rate>,
    },
    /// Two NICs, full duplex.
    Wire,
}

/// Two media joined: `from`'s port at `to`. On a hub the port is one of its stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uplink {
    /// One medium, a switch.
    pub from: MediumId,
    /// The other one, a hub or a switch.
    pub to: MediumId,
    /// Bits per second each way; the slower medium's when none is given.
    pub rate: Option<Rate>,
}

/// NICs used as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bond {
    /// Whose NICs they are.
    pub node: NodeId,
    /// The device's name, `bond0`; it exists only for [`Selector::Packet`] and [`Selector::Flow`].
    pub name: String,
    /// The NICs, two at least.
    pub nics: Vec<NicId>,
    /// What chooses the NIC.
    pub selector: Selector,
    /// The bond's address; for [`Selector::Subflow`] that of its first NIC.
    pub address: Ipv4Addr,
    /// The length of its network's prefix.
    pub prefix: u8,
}

/// What chooses among several NICs or routes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Selector {
    /// Packet by packet in turn: one connection uses all, and its packets overtake each other
    /// (Linux bonding's balance-rr, the bonding of 1996).
    #[default]
    Packet,
    /// A connection keeps to one (balance-xor with layer3+4, LACP, equal-cost routes).
    Flow,
    /// Every connection is several, one on each (MPTCP).
    Subflow,
}

/// A route of a node. What it sends has [`Node::address`] as its source, whatever the NIC; replies may
/// come by another NIC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// Whose route it is.
    pub node: NodeId,
    /// Where it leads.
    pub to: Ipv4Addr,
    /// Bits of `to` that count; 32 is one host.
    pub prefix: u8,
    /// The next hops; with several, `selector` chooses.
    pub hops: Vec<NextHop>,
    /// What chooses among several hops: packets or flows.
    pub selector: Selector,
}

/// The next hop of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextHop {
    /// Through which NIC; any one of a bond that works below IP stands for the bond.
    pub nic: NicId,
    /// To which station of its medium; none when the destination itself is one.
    pub via: Option<Ipv4Addr>,
}

/// A price, in hundredths of whatever currency the file is in.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Price(pub u64);

/// `15.00`.
impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}.{:02}", self.0 / 100, self.0 % 100))
    }
}

/// The cables of a medium.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cable {
    /// Its type: `direct`, `crossed`, `dac`, `fibre`; whatever the file says.
    pub kind: String,
    /// The price of one.
    pub price: Price,
}

impl Topology {
    /// The node of this name.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.nodes.iter().position(|node| node.name == name)
    }

    /// The NICs of a node, in order.
    pub fn nics_of(&self, node: NodeId) -> impl Iterator<Item = (NicId, &Nic)> {
        self.nics.iter().enumerate().filter(move |(_, nic)| nic.node == node)
    }

    /// The NICs plugged into a medium, in order.
    pub fn stations(&self, medium: MediumId) -> impl Iterator<Item = (NicId, &Nic)> {
        self.nics.iter().enumerate().filter(move |(_, nic)| nic.medium == medium)
    }

    /// A medium that two nodes are both on, the first one of `one`'s NICs that has it.
    pub fn medium_between(&self, one: NodeId, other: NodeId) -> Option<MediumId> {
        let mut own = self.nics_of(one).map(|(_, nic)| nic.medium);
        own.find(|medium| self.stations(*medium).any(|(_, at)| at.node == other))
    }

    /// For each medium the first one of those that uplinks join it to, itself included: media with
    /// the same are one broadcast domain.
    pub fn segments(&self) -> Vec<MediumId> {
        let mut first: Vec<MediumId> = (0..self.media.len()).collect();
        let root = |first: &[MediumId], mut medium: MediumId| {
            while first[medium] != medium {
                medium = first[medium];
            }
            medium
        };
        for uplink in &self.uplinks {
            let (a, b) = (root(&first, uplink.from), root(&first, uplink.to));
            first[a.max(b)] = a.min(b);
        }
        (0..self.media.len()).map(|medium| root(&first, medium)).collect()
    }
}
