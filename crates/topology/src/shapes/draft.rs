//! A topology under construction by a shape.

use std::net::Ipv4Addr;

use super::super::*;
use super::Basis;

/// The MTU of Ethernet without jumbo frames, in bytes.
const MTU: u16 = 1500;

/// A topology to which media, NICs and routes are added. NICs are plugged in node by node.
pub(super) struct Draft<'b> {
    /// The parameters of the shape.
    pub(super) basis: &'b Basis,
    /// The topology so far.
    pub(super) topology: Topology,
}

impl<'b> Draft<'b> {
    /// Creates a draft with all nodes, each with its address in the network of the basis.
    pub(super) fn new(basis: &'b Basis) -> Self {
        let node = |(number, name): (u32, &String)| Node::new(name, basis.subnet.address(number));
        let topology = Topology {
            name: basis.name.clone(),
            nodes: (0..).zip(&basis.nodes).map(node).collect(),
            ..Topology::default()
        };
        Self { basis, topology }
    }

    /// Returns the number of nodes.
    pub(super) fn nodes(&self) -> usize {
        self.topology.nodes.len()
    }

    /// Returns the address of a node.
    pub(super) fn address(&self, node: NodeId) -> Ipv4Addr {
        self.topology.nodes[node].address
    }

    /// Adds a medium with the rate of the basis.
    pub(super) fn medium(&mut self, name: String, kind: MediumKind) -> MediumId {
        self.medium_at(name, kind, None)
    }

    /// Adds a medium with the rate `rate`, or that of the basis.
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
            cable: Cable { kind: cable.to_owned(), ..Cable::default() },
            ..Medium::default()
        });
        self.topology.media.len() - 1
    }

    /// Adds a NIC to a node, `eth0` and up.
    pub(super) fn plug(
        &mut self,
        node: NodeId,
        medium: MediumId,
        address: Option<Ipv4Addr>,
        reach: Reach,
    ) -> NicId {
        let place = self.topology.nics.len();
        // NICs are added node by node, so those of this node are the last ones.
        let own = self.topology.nics.iter().rev().take_while(|nic| nic.node == node).count();
        self.topology.nics.push(Nic {
            node,
            name: format!("eth{own}"),
            medium,
            address,
            reach,
            ethernet: Ethernet::from_index(place),
            mtu: MTU,
            price: Price::default(),
        });
        place
    }

    /// Adds a NIC with an address in a network that all stations of the medium share.
    pub(super) fn plug_in(&mut self, node: NodeId, medium: MediumId, subnet: Subnet) -> NicId {
        self.plug(node, medium, Some(subnet.of_node(node)), Reach::Subnet(subnet.prefix()))
    }

    /// Adds a NIC at one end of a wire, with the address of the node.
    pub(super) fn plug_peer(&mut self, node: NodeId, wire: MediumId, peer: NodeId) -> NicId {
        let address = self.address(node);
        let peer = self.address(peer);
        self.plug(node, wire, Some(address), Reach::Peer(peer))
    }

    /// Adds a route of `node` to the address `to`.
    pub(super) fn host_route(
        &mut self,
        node: NodeId,
        to: Ipv4Addr,
        hops: Vec<NextHop>,
        selector: Selector,
    ) {
        self.topology.routes.push(Route { node, to, prefix: 32, hops, selector });
    }

    /// Adds a route of `node` to a network.
    pub(super) fn net_route(&mut self, node: NodeId, to: Subnet, hop: NextHop) {
        self.topology.routes.push(Route {
            node,
            to: to.network(),
            prefix: to.prefix(),
            hops: vec![hop],
            selector: Selector::default(),
        });
    }
}
