use std::net::Ipv4Addr;

use super::super::*;
use super::*;

fn basis(nodes: u32) -> Basis {
    Basis::numbered("try", nodes).at(Rate::from_bits_per_second(100_000_000))
}

/// Returns the routes of a node: destination, NICs and neighbours.
fn routes(topology: &Topology, node: NodeId) -> Vec<String> {
    let hop = |hop: &NextHop| {
        let via = hop.via.map_or_else(String::new, |via| format!(" via {via}"));
        format!("{}{via}", topology.nics[hop.nic].name)
    };
    let own = topology.routes.iter().filter(|route| route.node == node);
    own.map(|route| {
        let hops: Vec<String> = route.hops.iter().map(hop).collect();
        format!("{}/{} {}", route.to, route.prefix, hops.join(" or "))
    })
    .collect()
}

#[test]
fn a_switch_and_a_hub_have_a_nic_a_node() {
    for topology in [switch(&basis(3), None), hub(&basis(3))] {
        assert_eq!((topology.nodes.len(), topology.nics.len(), topology.media.len()), (4, 4, 1));
        assert_eq!(topology.nodes[3].name, "n3");
        assert_eq!(topology.nics[3].address, Some(Ipv4Addr::new(10, 88, 0, 13)));
        assert_eq!(topology.nics[3].address, Some(topology.nodes[3].address));
        assert_eq!(topology.nics[0].reach, Reach::Subnet(16));
        assert_eq!(topology.nics[2].ethernet.to_string(), "02:88:00:00:00:02");
        assert!(topology.routes.is_empty());
    }
}

#[test]
fn a_star_gives_the_head_one_address_on_all_its_nics() {
    let names = ["srv", "n2", "n3", "n4"].map(str::to_owned).to_vec();
    let subnet = "192.168.1.0/24".parse().unwrap();
    let of_2004 = Basis { subnet, ..Basis::named("p2p-star", names) };
    let isolated = star(&of_2004, Between::Isolated);
    let head: Vec<_> = isolated.nics_of(0).map(|(_, nic)| (nic.name.as_str(), nic.reach)).collect();
    let peer = |last| Reach::Peer(Ipv4Addr::new(192, 168, 1, last));
    assert_eq!(head, [("eth0", peer(2)), ("eth1", peer(3)), ("eth2", peer(4))]);
    assert!(isolated.nics_of(0).all(|(_, nic)| nic.address == Some(isolated.nodes[0].address)));
    assert!(isolated.nics.is_sorted_by_key(|nic| nic.node));
    assert_eq!((isolated.routes.len(), isolated.nodes[0].forwards), (0, false));
    for wire in &isolated.media {
        assert_eq!((wire.kind, wire.cable.kind.as_str()), (MediumKind::Wire, "crossed"));
    }
    assert!((0..3).all(|wire| isolated.stations(wire).count() == 2));

    let forwarded = star(&of_2004, Between::Forwarded);
    assert!(forwarded.nodes[0].forwards);
    assert_eq!(routes(&forwarded, 2), ["192.168.1.0/24 eth0 via 192.168.1.1"]);
}

#[test]
fn a_bond_has_the_address_or_its_nics_have() {
    for selector in [Selector::Packet, Selector::Flow] {
        let topology = bonded(&basis(2), 2, Segment::Hub, selector);
        assert_eq!((topology.bonds.len(), topology.nics.len(), topology.media.len()), (3, 6, 2));
        let bond = &topology.bonds[1];
        assert_eq!((bond.node, &bond.nics, bond.selector), (1, &vec![2, 3], selector));
        assert_eq!(bond.address, topology.nodes[1].address);
        assert!(
            topology.nics.iter().all(|nic| nic.reach == Reach::Nobody && nic.address.is_none())
        );
    }
    let topology = bonded(&basis(2), 3, Segment::Switch, Selector::Subflow);
    let addresses: Vec<_> = topology.nics_of(1).filter_map(|(_, nic)| nic.address).collect();
    assert_eq!(addresses, [88, 89, 90].map(|net| Ipv4Addr::new(10, net, 0, 11)));
    assert_eq!(topology.bonds[1].address, addresses[0]);
}

fn four_by_four(joined: Joined, both: Option<Selector>) -> Topology {
    mesh(&basis(15), &Mesh { columns: 4, segment: Segment::Hub, joined, both })
}

#[test]
fn a_routed_mesh_goes_by_its_corners() {
    let one = four_by_four(Joined::Routed, None);
    assert_eq!((one.media.len(), one.nics.len(), one.routes.len()), (8, 32, 240));
    assert!(one.media.iter().all(|medium| matches!(medium.kind, MediumKind::Hub { .. })));
    assert!((0..8).all(|bus| one.stations(bus).count() == 4));
    assert!(one.nodes.iter().all(|node| node.forwards));
    // From row 1, column 1 to its row, its column, and a remote node.
    let head = routes(&one, 0);
    assert_eq!(head[0], "10.88.0.11/32 eth0 via 10.89.0.11");
    assert_eq!(head[3], "10.88.0.14/32 eth1 via 10.93.0.14");
    assert_eq!(head[4], "10.88.0.15/32 eth0 via 10.89.0.11");
    let both = routes(&four_by_four(Joined::Routed, Some(Selector::Flow)), 0);
    assert_eq!(both[0], head[0]);
    assert_eq!(both[4], "10.88.0.15/32 eth0 via 10.89.0.11 or eth1 via 10.93.0.14");
}

#[test]
fn a_switched_mesh_routes_nothing_in_software() {
    let topology = four_by_four(Joined::Switched, Some(Selector::Packet));
    assert_eq!((topology.media.len(), topology.uplinks.len()), (10, 8));
    assert!(topology.nodes.iter().all(|node| !node.forwards));
    assert!(topology.routes.iter().flat_map(|route| &route.hops).all(|hop| hop.via.is_some()));
    let head = routes(&topology, 0);
    assert_eq!(head[0], "10.88.0.11/32 eth0 via 10.89.0.11");
    assert_eq!(head[4], "10.88.0.15/32 eth0 via 10.89.0.15 or eth1 via 10.90.0.15");
    let one = routes(&four_by_four(Joined::Switched, None), 0);
    assert_eq!(one[3], "10.88.0.14/32 eth1 via 10.90.0.14");
    assert_eq!(one[4], "10.88.0.15/32 eth0 via 10.89.0.15");
}

#[test]
fn any_number_of_nodes_gives_a_topology() {
    for nodes in 0..12_usize {
        let names = (0..nodes).map(|number| format!("n{number}")).collect();
        let basis = Basis::named("try", names);
        for columns in 0..6 {
            for joined in [Joined::Routed, Joined::Switched] {
                let built =
                    mesh(&basis, &Mesh { columns, segment: Segment::Hub, joined, both: None });
                let pairs = nodes * nodes.saturating_sub(1);
                assert_eq!(built.routes.len(), pairs);
                assert!(built.routes.iter().all(|route| route.hops.len() == 1));
            }
        }
        assert_eq!(star(&basis, Between::Forwarded).nodes.len(), nodes);
        for first in 0..14 {
            let measures = JoinedStars { first, trunk: None, wires: 0, selector: Selector::Flow };
            assert_eq!(joined_stars(&basis, &measures).nodes.len(), nodes);
        }
        assert_eq!(ring(&basis).nodes.len(), nodes);
        assert_eq!(full_mesh(&basis).nodes.len(), nodes);
        let measures = LeafSpine { leaves: 20, spines: 0, uplink: None };
        assert_eq!(leaf_spine(&basis, &measures).nics.len(), nodes);
        assert_eq!(bonded(&basis, 0, Segment::Hub, Selector::Flow).nics.len(), 0);
    }
}

#[test]
fn two_joined_stars_have_a_trunk() {
    let measures = |wires| JoinedStars {
        first: 4,
        trunk: Some(Rate::from_bits_per_second(1_000_000_000)),
        wires,
        selector: Selector::Packet,
    };
    let one = joined_stars(&basis(7), &measures(1));
    assert_eq!((one.media.len(), one.nics.len(), one.bonds.len()), (7, 14, 0));
    assert_eq!(one.media[6].rate, measures(1).trunk);
    assert_eq!(one.nodes[4].address, Ipv4Addr::new(10, 89, 0, 10));
    assert_eq!(routes(&one, 0), ["10.89.0.0/16 eth3 via 10.89.0.10"]);
    assert_eq!(
        routes(&one, 7),
        ["10.88.0.0/16 eth0 via 10.89.0.10", "10.89.0.0/16 eth0 via 10.89.0.10"]
    );
    let two = joined_stars(&basis(7), &measures(2));
    assert_eq!((two.media.len(), two.nics.len(), two.bonds.len()), (8, 16, 2));
    assert_eq!(routes(&two, 4), ["10.88.0.0/16 eth3 via 10.90.0.10"]);
}

#[test]
fn a_ring_goes_the_shorter_way() {
    let topology = ring(&basis(4));
    assert_eq!((topology.media.len(), topology.nics.len()), (5, 10));
    assert_eq!(
        routes(&topology, 0),
        ["10.88.0.12/32 eth0 via 10.88.0.11", "10.88.0.13/32 eth1 via 10.88.0.14"]
    );
    assert_eq!(ring(&basis(1)).media.len(), 1);
}

#[test]
fn a_full_mesh_has_a_wire_a_pair() {
    let topology = full_mesh(&basis(4));
    assert_eq!((topology.media.len(), topology.nics.len(), topology.routes.len()), (10, 20, 0));
    for (wire, medium) in topology.media.iter().enumerate() {
        let ends: Vec<String> =
            topology.stations(wire).map(|(_, nic)| nic.node.to_string()).collect();
        assert_eq!(medium.name, format!("wire{}", ends.join("-")));
    }
}

#[test]
fn leaves_have_as_many_nodes_each_and_rails_all() {
    let measures = LeafSpine { leaves: 4, spines: 2, uplink: Some(Rate::from_bits_per_second(1)) };
    let topology = leaf_spine(&basis(15), &measures);
    assert_eq!((topology.media.len(), topology.uplinks.len()), (6, 8));
    assert!((0..4).all(|leaf| topology.stations(leaf).count() == 4));
    let topology = rail(&basis(3), 2);
    assert_eq!((topology.media.len(), topology.nics.len(), topology.bonds.len()), (2, 8, 0));
    assert_eq!(topology.nics[7].address, Some(Ipv4Addr::new(10, 89, 0, 13)));
}
