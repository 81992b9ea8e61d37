//! The network configuration of one node, independent of any tool.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use garland_core::nic_facts::Ethernet;

use super::super::{Bond, Nic, NicId, NodeId, Reach, Route, Selector, Topology, same_network};
use super::ConfigFault;

/// Maps the topology's name of a NIC to its device name on the real machine, where the names
/// differ: `eth0` to `enp3s0`.
pub type NicNames = BTreeMap<String, String>;

/// The network configuration of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// The topology's name.
    pub topology: String,
    /// The node's name.
    pub node: String,
    /// The address on the loopback device; set if no NIC and no bond has the node's address.
    pub loopback: Option<Ipv4Addr>,
    /// The NICs of the node, in the topology's order.
    pub interfaces: Vec<Interface>,
    /// The bonds that are network devices, in the topology's order.
    pub bonds: Vec<BondDevice>,
    /// The routes. Those to direct neighbours come first, since others may depend on them.
    pub routes: Vec<NodeRoute>,
    /// The further addresses that MPTCP connections use.
    pub endpoints: Vec<Endpoint>,
    /// Whether the node forwards packets.
    pub forwards: bool,
}

/// A network device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// The device name on the machine. If `ethernet` is set, the name in the topology, which the
    /// machine need not use.
    pub name: String,
    /// The Ethernet address that identifies the device; `None` if the name identifies it.
    pub ethernet: Option<Ethernet>,
}

/// A NIC to configure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The NIC's device.
    pub device: Device,
    /// The largest packet, in bytes.
    pub mtu: u16,
    /// The address of the NIC; `None` for a NIC of a bond below IP.
    pub address: Option<InterfaceAddress>,
    /// The bond that the NIC belongs to, as an index into [`NodeConfig::bonds`]; `None` if the NIC
    /// belongs to no bond or to a bond of subflows.
    pub bond: Option<usize>,
}

/// An address of a device, with the length of its network prefix or with its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceAddress {
    /// The device's own address.
    pub address: Ipv4Addr,
    /// The prefix length of the network, in bits; 32 with a peer.
    pub prefix: u8,
    /// The address of the other end of a wire; `None` for a network with several stations.
    pub peer: Option<Ipv4Addr>,
}

/// A bond that is a network device of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BondDevice {
    /// The device's name.
    pub name: String,
    /// The NICs of the bond, as indices into [`NodeConfig::interfaces`].
    pub members: Vec<usize>,
    /// The bonding mode, as Linux names it.
    pub mode: &'static str,
    /// The transmit hash policy; `None` for modes that do not hash packets.
    pub hash: Option<&'static str>,
    /// The address of the bond.
    pub address: InterfaceAddress,
    /// The largest packet, in bytes.
    pub mtu: u16,
}

/// A route of the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRoute {
    /// The address of the destination host or network.
    pub to: Ipv4Addr,
    /// The prefix length of `to`, in bits.
    pub prefix: u8,
    /// The next hops, at least one.
    pub hops: Vec<Hop>,
    /// The source address of packets; `None` for the address of the outgoing device.
    pub source: Option<Ipv4Addr>,
    /// How one of several hops is selected.
    pub selector: Selector,
}

/// The next hop of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The device that sends.
    pub device: Device,
    /// The address of the router; `None` if the destination is a neighbour.
    pub via: Option<Ipv4Addr>,
    /// Whether the router is outside of the device's subnet.
    pub onlink: bool,
}

/// An address that MPTCP announces to its peers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The announced address.
    pub address: Ipv4Addr,
    /// The device that has the address.
    pub device: Device,
}

impl NodeConfig {
    /// Returns the configuration of `node`. A NIC is identified by its name in `names`. If that has
    /// none, the NIC's real Ethernet address identifies it, or else its name in the topology.
    ///
    /// # Errors
    /// When `names` contains unknown NICs or invalid device names.
    pub fn for_node(
        topology: &Topology,
        node: NodeId,
        names: &NicNames,
    ) -> Result<Self, ConfigFault> {
        let this = &topology.nodes[node];
        let nics: Vec<(NicId, &Nic)> = topology.nics_of(node).collect();
        let devices = name_devices(&this.name, &nics, names)?;
        let bonds: Vec<&Bond> = topology.bonds.iter().filter(|bond| bond.node == node).collect();
        let made: Vec<&Bond> =
            bonds.iter().copied().filter(|bond| bond.selector != Selector::Subflow).collect();
        let interfaces: Vec<Interface> = nics
            .iter()
            .zip(&devices)
            .map(|((id, nic), device)| Interface {
                device: device.clone(),
                mtu: nic.mtu,
                address: address(nic),
                bond: made.iter().position(|bond| bond.nics.contains(id)),
            })
            .collect();
        let place = |id: &NicId| nics.iter().position(|(nic, _)| nic == id);
        let bond_devices: Vec<BondDevice> =
            made.iter().map(|bond| bond_device(bond, &interfaces, place)).collect();
        let mut config = Self {
            topology: one_line(&topology.name),
            node: one_line(&this.name),
            loopback: None,
            bonds: bond_devices,
            interfaces,
            routes: Vec::new(),
            endpoints: Vec::new(),
            forwards: this.forwards,
        };
        config.loopback = Some(this.address).filter(|&own| config.device_of(own).is_none());
        let subflows = bonds.iter().filter(|bond| bond.selector == Selector::Subflow);
        // A connection is opened with the first address; the others are announced.
        config.endpoints = subflows
            .flat_map(|bond| bond.nics.iter().skip(1))
            .filter_map(|id| config.interfaces.get(place(id)?))
            .filter_map(|interface| {
                let address = interface.address?.address;
                Some(Endpoint { address, device: interface.device.clone() })
            })
            .collect();
        let routes = topology.routes.iter().filter(|route| route.node == node);
        config.routes = routes.map(|route| config.route(route, this.address, place)).collect();
        config.routes.retain(|route| !route.hops.is_empty());
        config.routes.sort_by_key(|route| route.hops.iter().any(|hop| hop.via.is_some()));
        config.named()?;
        Ok(config)
    }

    /// Returns the first line of every file, without the comment sign.
    pub(super) fn title(&self) -> String {
        format!("{} in the topology {}; written by garland net config", self.node, self.topology)
    }

    /// Returns the devices that have an address, except the loopback device.
    #[must_use]
    pub fn addressed(&self) -> Vec<Device> {
        let nics = self.interfaces.iter().filter(|interface| interface.address.is_some());
        let bonds = self.bonds.iter().map(BondDevice::device);
        nics.map(|interface| interface.device.clone()).chain(bonds).collect()
    }

    /// Returns the routes that can be added when `device` is activated. Devices are activated in
    /// order, NICs before bonds; a route through several devices belongs to the last one.
    pub fn routes_at<'a>(&'a self, device: &'a Device) -> impl Iterator<Item = &'a NodeRoute> {
        let order = self.addressed();
        let rank = move |hop: &Hop| order.iter().position(|known| *known == hop.device);
        self.routes.iter().filter(move |route| {
            route.hops.iter().max_by_key(|hop| rank(hop)).is_some_and(|hop| hop.device == *device)
        })
    }

    fn device_of(&self, address: Ipv4Addr) -> Option<Device> {
        let nics = self.interfaces.iter().map(|nic| (nic.address, nic.device.clone()));
        let bonds = self.bonds.iter().map(|bond| (Some(bond.address), bond.device()));
        let mut all = nics.chain(bonds);
        all.find(|(own, _)| own.is_some_and(|own| own.address == address)).map(|(_, device)| device)
    }

    /// Converts a route of the topology. `source`, the node's address, becomes the source of
    /// packets only if a device of the route has another address.
    fn route(
        &self,
        route: &Route,
        source: Ipv4Addr,
        place: impl Fn(&NicId) -> Option<usize>,
    ) -> NodeRoute {
        let mut same = true;
        let hops = route.hops.iter().filter_map(|hop| {
            let interface = self.interfaces.get(place(&hop.nic)?)?;
            let bond = interface.bond.map(|bond| &self.bonds[bond]);
            let device = bond.map_or_else(|| interface.device.clone(), BondDevice::device);
            let own = bond.map_or(interface.address, |bond| Some(bond.address));
            same &= own.is_some_and(|own| own.address == source);
            let onlink = hop.via.is_some_and(|via| !own.is_some_and(|own| own.covers(via)));
            Some(Hop { device, via: hop.via, onlink })
        });
        let hops: Vec<Hop> = hops.collect();
        NodeRoute {
            to: route.to,
            prefix: route.prefix,
            hops,
            source: Some(source).filter(|_| !same),
            selector: route.selector,
        }
    }

    /// Checks that the names of all devices are valid and unique.
    fn named(&self) -> Result<(), ConfigFault> {
        let mut seen = std::collections::BTreeSet::new();
        let nics = self.interfaces.iter().map(|interface| &interface.device.name);
        for name in nics.chain(self.bonds.iter().map(|bond| &bond.name)) {
            if !is_device_name(name) {
                let node = self.node.clone();
                let nic = name.clone();
                return Err(ConfigFault::DeviceName { node, nic, name: name.clone() });
            }
            if !seen.insert(name) {
                let node = self.node.clone();
                return Err(ConfigFault::SameDevice { node, name: name.clone() });
            }
        }
        Ok(())
    }
}

impl BondDevice {
    /// Returns the bond's device.
    #[must_use]
    pub fn device(&self) -> Device {
        Device { name: self.name.clone(), ethernet: None }
    }
}

impl InterfaceAddress {
    /// Whether `other` is the peer, or, without a peer, in the network of this address.
    fn covers(self, other: Ipv4Addr) -> bool {
        match self.peer {
            Some(peer) => peer == other,
            None => same_network(self.address, other, self.prefix),
        }
    }
}

fn name_devices(
    node: &str,
    nics: &[(NicId, &Nic)],
    names: &NicNames,
) -> Result<Vec<Device>, ConfigFault> {
    if let Some(nic) = names.keys().find(|&name| nics.iter().all(|(_, nic)| nic.name != *name)) {
        let has = nics.iter().map(|(_, nic)| nic.name.clone()).collect();
        return Err(ConfigFault::UnknownNic { node: node.to_owned(), nic: nic.clone(), has });
    }
    let device = |nic: &Nic| match names.get(&nic.name) {
        Some(name) if !is_device_name(name) => Err(ConfigFault::DeviceName {
            node: node.to_owned(),
            nic: nic.name.clone(),
            name: name.clone(),
        }),
        Some(name) => Ok(Device { name: name.clone(), ethernet: None }),
        None => {
            let ethernet = Some(nic.ethernet).filter(|ethernet| !ethernet.is_made_up());
            Ok(Device { name: nic.name.clone(), ethernet })
        }
    };
    nics.iter().map(|(_, nic)| device(nic)).collect()
}

fn address(nic: &Nic) -> Option<InterfaceAddress> {
    let address = nic.address?;
    match nic.reach {
        Reach::Subnet(prefix) => Some(InterfaceAddress { address, prefix, peer: None }),
        Reach::Peer(peer) => Some(InterfaceAddress { address, prefix: 32, peer: Some(peer) }),
        Reach::Nobody => None,
    }
}

fn bond_device(
    bond: &Bond,
    interfaces: &[Interface],
    place: impl Fn(&NicId) -> Option<usize>,
) -> BondDevice {
    let members: Vec<usize> = bond.nics.iter().filter_map(place).collect();
    let (mode, hash) = match bond.selector {
        Selector::Packet => ("balance-rr", None),
        Selector::Flow | Selector::Subflow => ("balance-xor", Some("layer3+4")),
    };
    BondDevice {
        name: bond.name.clone(),
        mode,
        hash,
        address: InterfaceAddress { address: bond.address, prefix: bond.prefix, peer: None },
        mtu: members.iter().map(|&member| interfaces[member].mtu).min().unwrap_or(1500),
        members,
    }
}

/// Whether a device name is valid in Linux and needs no quotes in any format.
fn is_device_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=15).contains(&name.len())
        && name.bytes().all(plain)
        && name.as_bytes()[0].is_ascii_alphanumeric()
}

/// Removes control characters from a name, so that it cannot end a comment.
fn one_line(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_control()).collect()
}
