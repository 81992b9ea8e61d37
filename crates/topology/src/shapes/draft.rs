//! A topology while a shape is being drawn.

use std::net::Ipv4Addr;

use super::super::*;
use super::Basis;

/// The largest packet of an Ethernet without jumbo frames.
const MTU: u16 = 1500;

/// A topology to which media, NICs and routes are added. NICs are plugged in node by node.
pub(super) struct Draft<'b> {
    basis: &'b Basis,
    topology: Topology,
}

impl<'b> Draft<'b> {
    /// All nodes, each with its address in the basis' network, and nothing else.
    pub(super) fn new(basis: &'b Basis) -> Self {
        let node = |(number, name): (u32, &String)| Node {
            name: name.clone(),
            address: basis.subnet.address(number),
            forwards: false,
            cpu: None,
            disk: None,
            price: Price::default(),
        };
        let topology = Topology {
            name: basis.name.clone(),
            nodes: (0..).zip(&basis.nodes).map(node).collect(),
            media: Vec::new(),
            nics: Vec::new(),
            uplinks: Vec::new(),
            bonds: Vec::new(),
            routes: Vec::new(),
        };
        Self { basis, topology }
    }

    /// How many nodes there are.
    pub(super) fn nodes(&self) -> usize {
        self.topology.nodes.len()
    }

    /// A node's address.
    pub(super) fn address(&self, node: NodeId) -> Ipv4Addr {
        self.topology.nodes[node].address
    }

    /// Where addresses are taken from.
    pub(super) fn subnet(&self) -> Subnet {
        self.basis.subnet
    }

    /// Gives a node this number in another network.
    pub(super) fn number(&mut self, node: NodeId, subnet: Subnet, number: usize) {
        self.topology.nodes[node].address =
            subnet.address(u32::try_from(number).unwrap_or(u32::MAX));
    }

    /// A medium of the basis' rate.
    pub(super) fn medium(&mut self, name: String, kind: MediumKind) -> MediumId {
        self.medium_at(name, kind, None)
    }

    /// A medium of a rate of its own, or of the basis'.
    pub(super) fn medium_at(
        &mut self,
        name: String,
        kind: MediumKind,
        rate: Option<Rate>,
    ) -> MediumId {
        let cable = match kind {
            MediumKind::Wire => "crossed",
            MediumKind::Hub { .. } | MediumKind::Switch { .. } => "direct",
        };
        self.topology.media.push(Medium {
            name,
            kind,
            rate: rate.or(self.basis.rate),
            latency: Nanos::ZERO,
            buffer: None,
            price: Price::default(),
            cable: Cable { kind: cable.to_owned(), price: Price::default() },
        });
        self.topology.media.len() - 1
    }

    /// A further NIC of a node, `eth0` and up.
    pub(super) fn plug(
        &mut self,
        node: NodeId,
        medium: MediumId,
        address: Option<Ipv4Addr>,
        reach: Reach,
    ) -> NicId {
        let place = self.topology.nics.len();
        // They come node by node, so the node's own are the last ones.
        let own = self.topology.nics.iter().rev().take_while(|nic| nic.node == node).count();
        self.topology.nics.push(Nic {
            node,
            name: format!("eth{own}"),
            medium,
            address,
            reach,
            ethernet: Ethernet::of(place),
            mtu: MTU,
            price: Price::default(),
        });
        place
    }

    /// A NIC with an address of a network that all stations of the medium share.
    pub(super) fn plug_in(&mut self, node: NodeId, medium: MediumId, subnet: Subnet) -> NicId {
        let address = subnet.address(u32::try_from(node).unwrap_or(u32::MAX));
        self.plug(node, medium, Some(address), Reach::Subnet(subnet.prefix()))
    }

    /// One end of a wire, with the node's own address.
    pub(super) fn plug_peer(&mut self, node: NodeId, wire: MediumId, peer: NodeId) -> NicId {
        let (address, peer) = (self.address(node), self.address(peer));
        self.plug(node, wire, Some(address), Reach::Peer(peer))
    }

    /// A route of `node` to the address `to`.
    pub(super) fn host_route(
        &mut self,
        node: NodeId,
        to: Ipv4Addr,
        hops: Vec<NextHop>,
        selector: Selector,
    ) {
        self.topology.routes.push(Route { node, to, prefix: 32, hops, selector });
    }

    /// A route of `node` to a whole network.
    pub(super) fn net_route(&mut self, node: NodeId, to: Subnet, hop: NextHop) {
        self.topology.routes.push(Route {
            node,
            to: to.network(),
            prefix: to.prefix(),
            hops: vec![hop],
            selector: Selector::default(),
        });
    }

    /// Lets a node pass on packets.
    pub(super) fn forward(&mut self, node: NodeId) {
        self.topology.nodes[node].forwards = true;
    }

    /// A port of a switch at another medium.
    pub(super) fn uplink(&mut self, from: MediumId, to: MediumId, rate: Option<Rate>) {
        self.topology.uplinks.push(Uplink { from, to, rate });
    }

    /// NICs used as one.
    pub(super) fn bond(&mut self, bond: Bond) {
        self.topology.bonds.push(bond);
    }

    /// The topology.
    pub(super) fn done(self) -> Topology {
        self.topology
    }
}
