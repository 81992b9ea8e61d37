use std::net::Ipv4Addr;

use garland_core::units::Rate;

use super::super::shapes::*;
use super::super::*;

fn basis(nodes: u32) -> Basis {
    Basis::numbered("try", nodes).at(Rate::from_bits_per_second(10_000_000))
}

fn fault(topology: &Topology) -> String {
    topology.check().expect_err("a topology that can't be").to_string()
}

/// Returns the fault of a topology after a change.
fn after(mut topology: Topology, change: impl FnOnce(&mut Topology)) -> String {
    assert_eq!(topology.check(), Ok(()));
    change(&mut topology);
    fault(&topology)
}

fn mesh_of_nine() -> Topology {
    let measures = Mesh { columns: 3, segment: Segment::Hub, joined: Joined::Routed, both: None };
    mesh(&basis(8), &measures)
}

#[test]
fn every_shape_can_be() {
    for nodes in [1, 2, 3, 15, 40] {
        let common = basis(nodes);
        let mut shapes = vec![
            hub(&common),
            switch(&common, None),
            star(&common, Between::Isolated),
            star(&common, Between::Forwarded),
        ];
        for selector in [Selector::Packet, Selector::Flow, Selector::Subflow] {
            shapes.push(bonded(&common, 2, Segment::Hub, selector));
        }
        for joined in [Joined::Routed, Joined::Switched] {
            for both in [None, Some(Selector::Packet), Some(Selector::Flow)] {
                for columns in [1, 2, 4] {
                    shapes.push(mesh(
                        &common,
                        &Mesh { columns, segment: Segment::Hub, joined, both },
                    ));
                }
            }
        }
        shapes.extend([ring(&common), full_mesh(&common), rail(&common, 3)]);
        for (leaves, spines) in [(1, 1), (2, 1), (4, 3)] {
            shapes.push(leaf_spine(&common, &LeafSpine { leaves, spines, uplink: None }));
        }
        for wires in [1, 2] {
            for first in [1, 2, 9] {
                let selector = Selector::Flow;
                let measures = JoinedStars { first, trunk: common.rate, wires, selector };
                shapes.push(joined_stars(&common, &measures));
            }
        }
        for shape in shapes {
            assert_eq!(shape.check(), Ok(()), "{shape:?}");
        }
    }
}

#[test]
fn the_largest_switch_can_be_and_no_larger_one() {
    assert_eq!(switch(&basis(1000), None).check(), Ok(()));
    let lines = [
        fault(&switch(&basis(1001), None)),
        fault(&switch(&basis(0), None)),
        fault(&switch(&Basis::named("x", vec![]), None)),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r"
    1002 nodes: a topology has at most 1001 with the head, since a Linux bridge has 1023 ports; use fewer nodes
    node n0 is the only node: a topology needs at least two
    the topology has no nodes: name at least two, the head first
    ");
}

#[test]
fn names_must_be_possible_and_different() {
    let switch_of_three = || switch(&basis(3), None);
    let lines = [
        after(switch_of_three(), |t| t.nodes[1].name = "n_1".into()),
        after(switch_of_three(), |t| t.nodes[1].name = "-n".into()),
        after(switch_of_three(), |t| t.nodes[1].name = "n".repeat(64)),
        after(switch_of_three(), |t| t.nodes[1].name = "N2".into()),
        after(switch_of_three(), |t| t.nodes[1].name = "Localhost".into()),
        after(switch_of_three(), |t| t.nics[1].name = "ethernet-of-node".into()),
        after(switch_of_three(), |t| t.nics[1].name = "lo".into()),
        after(switch_of_three(), |t| t.media[0].name = "a/b".into()),
        after(mesh_of_nine(), |t| t.nics[1].name = "eth0".into()),
        after(mesh_of_nine(), |t| t.media[1].name = "row1".into()),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r#"
    "n_1" is not a valid node name: a host name consists of letters, digits, `-` and `.`, begins and ends with a letter or digit, and has at most 63 bytes
    "-n" is not a valid node name: a host name consists of letters, digits, `-` and `.`, begins and ends with a letter or digit, and has at most 63 bytes
    "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" is not a valid node name: a host name consists of letters, digits, `-` and `.`, begins and ends with a letter or digit, and has at most 63 bytes
    two nodes have the name n2: rename one of them
    "Localhost" is the name that each machine has for itself: rename the node
    "ethernet-of-node" is not a valid name for a NIC or bond of n1: the name of a network device begins with a letter, consists of letters, digits, `-` and `_`, and has at most 15 bytes
    two devices of n1 have the name lo: rename one of them
    "a/b" is not a valid name for a medium: the name of a network device begins with a letter, consists of letters, digits, `-` and `_`, and has at most 15 bytes
    two devices of n0 have the name eth0: rename one of them
    two media have the name row1: rename one of them
    "#);
}

#[test]
fn media_must_join_all_nodes() {
    let star_of_three = || star(&basis(3), Between::Isolated);
    let switched = || {
        let measures =
            Mesh { columns: 2, segment: Segment::Hub, joined: Joined::Switched, both: None };
        mesh(&basis(3), &measures)
    };
    let zero = Some(Rate::default());
    let lines = [
        after(hub(&basis(2)), |t| t.media[0].rate = None),
        after(hub(&basis(2)), |t| t.media[0].rate = zero),
        after(star_of_three(), |t| t.nics[5].medium = 0),
        after(star_of_three(), |t| t.nics[5].node = 0),
        after(star_of_three(), |t| drop(t.nics.pop())),
        after(switch(&basis(3), None), |t| drop(t.nics.pop())),
        after(switch(&basis(3), None), |t| {
            t.media.push(Medium { name: "spare".into(), ..t.media[0].clone() });
        }),
        after(switched(), |t| t.uplinks[0].to = t.uplinks[0].from),
        after(switched(), |t| t.uplinks[0] = Uplink { from: 0, to: 4, rate: None }),
        after(switched(), |t| t.uplinks[0].rate = zero),
        after(switched(), |t| t.media[0].kind = MediumKind::Wire),
        after(switched(), |t| t.nics[3].medium = 99),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r"
    medium hub is a hub without a rate; a hub needs one, since all its stations share it: set `rate`, for instance to 10mbit
    medium hub has the rate 0, which passes no packets: set another rate, or omit `rate` for no limit
    wire wire1 needs exactly two NICs, but has 3
    two devices of n0 have the name eth0: rename one of them
    wire wire3 needs exactly two NICs, but has 1
    node n3 is not connected to n0: no path of media and other nodes leads there; add a cable
    medium spare connects nothing: plug NICs into it, or remove it
    the uplink from rows to rows is not possible: both ends are the same medium; name two different media
    the uplink from row1 to rows is not possible: only a switch has uplinks; exchange `from` and `to`, or make `from` a switch
    the uplink from rows to row1 is not possible: its rate is 0; omit `rate` to use the rate of the slower medium
    the uplink from rows to row1 is not possible: `to` is a wire, which has no ports for uplinks; make `to` a hub or a switch
    NIC eth1 refers to medium 99, but the topology has only 6; they are numbered from 0
    ");
}

#[test]
fn addresses_must_be_possible_and_different() {
    let switch_of_three = || switch(&basis(3), None);
    let ip = Ipv4Addr::new;
    let lines = [
        after(switch_of_three(), |t| t.nics[2].address = Some(ip(10, 88, 0, 11))),
        after(switch_of_three(), |t| t.nodes[2].address = ip(127, 0, 0, 1)),
        after(switch_of_three(), |t| t.nodes[2].address = ip(224, 0, 0, 1)),
        after(switch_of_three(), |t| t.nodes[2].address = ip(0, 0, 0, 0)),
        after(switch_of_three(), |t| t.nics[2].address = Some(ip(10, 88, 255, 255))),
        after(switch_of_three(), |t| t.nics[2].address = None),
        after(switch_of_three(), |t| t.nics[2].reach = Reach::Nobody),
        after(switch_of_three(), |t| t.nics[2].reach = Reach::Subnet(32)),
        after(switch_of_three(), |t| t.nics[2].reach = Reach::Peer(t.nodes[2].address)),
        after(switch_of_three(), |t| t.nics[2].mtu = 500),
        after(switch_of_three(), |t| t.nics[2].ethernet = Ethernet::from_index(1)),
        after(switch_of_three(), |t| t.nics[2].ethernet = Ethernet([0xff; 6])),
        after(star(&basis(3), Between::Isolated), |t| t.nics[2].reach = t.nics[1].reach),
        after(switch_of_three(), |t| t.nodes[2].address = ip(10, 99, 0, 1)),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r"
    n1 and eth0 of n2 have the same address 10.88.0.11: change one of them
    n2 has the invalid address 127.0.0.1: this is a loopback address; use one such as 10.88.0.10
    n2 has the invalid address 224.0.0.1: this is a multicast or reserved address; use one such as 10.88.0.10
    n2 has the invalid address 0.0.0.0: no host can have an address in 0.0.0.0/8; use one such as 10.88.0.10
    eth0 of n2: 10.88.255.255/16 is the address of the network or its broadcast address: use an address in between
    eth0 of n2: it has no address: set one, or make it part of a bond
    eth0 of n2: it has the address 10.88.0.12, but neither a network prefix nor a peer: move the address to its bond
    eth0 of n2: its network prefix is 32, but must be 8 to 31
    eth0 of n2: its peer has the same address 10.88.0.12: set `peer` to the address of the other end
    eth0 of n2: its MTU is 500, but IPv4 needs at least 576
    eth0 of n1 and eth0 of n2 have the same address 02:88:00:00:00:01: change one of them
    eth0 of n2: ff:ff:ff:ff:ff:ff is not the Ethernet address of a NIC: use one such as 02:88:00:00:00:01
    eth2 of n0: it leads to 10.88.0.12/32 like eth1, but the kernel would use only one of them: use another network, or bond them
    packets from n0 to n2 do not arrive: n0 has no route to 10.99.0.1; add one
    ");
}

#[test]
fn bonds_need_two_nics_of_their_own() {
    let by = |selector| bonded(&basis(2), 2, Segment::Switch, selector);
    let ip = Some(Ipv4Addr::new(10, 77, 0, 1));
    let lines = [
        after(by(Selector::Packet), |t| t.bonds[1].nics.truncate(1)),
        after(by(Selector::Packet), |t| t.bonds[1].nics = vec![2, 2]),
        after(by(Selector::Packet), |t| t.bonds[2].nics = vec![3, 4]),
        after(by(Selector::Packet), |t| t.bonds[2].nics[0] = 99),
        after(by(Selector::Flow), |t| drop(t.bonds.pop())),
        after(by(Selector::Flow), |t| t.bonds[1].prefix = 0),
        after(by(Selector::Flow), |t| {
            (t.nics[2].address, t.nics[2].reach) = (ip, Reach::Subnet(16));
        }),
        after(by(Selector::Subflow), |t| t.bonds[1].nics.reverse()),
        after(by(Selector::Subflow), |t| {
            (t.nics[3].address, t.nics[3].reach) = (None, Reach::Nobody);
        }),
        fault(&bonded(&basis(2), 1, Segment::Switch, Selector::Flow)),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r"
    bond bond0 of n1: it has 1 NIC, but a bond needs at least two
    bond bond0 of n1: eth0 is part of bond0 already; a NIC can be in one bond only
    bond bond0 of n2: eth1 is part of bond0 already; a NIC can be in one bond only
    bond bond0 refers to NIC 99, but the topology has only 6; they are numbered from 0
    eth0 of n2: it has no address and is in no bond: set an address, or bond it
    bond bond0 of n1: its network prefix is 0, but must be 8 to 31
    bond bond0 of n1: eth0 has an address, but the selectors packet and flow work below IP: move the address to the bond
    bond bond0 of n1: its address differs from that of its first NIC eth1: set both to the same address
    bond bond0 of n1: eth1 has no address, but a subflow needs one: set one
    bond bond0 of n0: it has 1 NIC, but a bond needs at least two
    ");
}

#[test]
fn routes_must_lead_there() {
    let ip = Ipv4Addr::new;
    let hop = |nic, via| NextHop { nic, via: Some(via) };
    let star_of_three = || star(&basis(3), Between::Forwarded);
    let lines = [
        after(star_of_three(), |t| t.routes[0].hops.clear()),
        after(star_of_three(), |t| t.routes[0].prefix = 33),
        after(star_of_three(), |t| t.routes[0].prefix = 8),
        after(star_of_three(), |t| t.routes[0].hops[0].nic = 0),
        after(star_of_three(), |t| t.routes[0].hops[0].nic = 100),
        after(star_of_three(), |t| t.routes[0].hops[0] = hop(3, ip(10, 88, 0, 12))),
        after(star_of_three(), |t| t.routes[0].node = 2),
        after(star_of_three(), |t| t.nodes[0].forwards = false),
        after(mesh_of_nine(), |t| t.nodes[1].forwards = false),
        after(mesh_of_nine(), |t| t.routes[0].to = t.nodes[0].address),
        after(mesh_of_nine(), |t| drop(t.routes.remove(0))),
        after(mesh_of_nine(), |t| t.routes[3].hops[0].via = None),
        after(mesh_of_nine(), |t| {
            // n1, at the corner of the path from n0 to n4, sends packets back.
            let corner = t.routes.iter().position(|r| r.node == 1 && r.to == t.nodes[4].address);
            t.routes[corner.unwrap()].hops = vec![hop(2, ip(10, 89, 0, 10))];
        }),
        after(mesh_of_nine(), |t| {
            let again = t.routes[3].hops[0];
            t.routes[3].hops.push(again);
        }),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r"
    the route of n1 to 10.88.0.0/16: it has no next hop: add one
    the route of n1 to 10.88.0.0/33: its prefix is 33, but the maximum is 32
    the route of n1 to 10.88.0.0/8: its address has bits beyond the prefix: set these to 0
    the route of n1 to 10.88.0.0/16: its next hop uses eth0 of n0, which is a NIC of another node: use one of its own
    the route to 10.88.0.0 refers to NIC 100, but the topology has only 6; they are numbered from 0
    the route of n1 to 10.88.0.0/16: its next hop 10.88.0.12 is not a neighbour on eth0: use the address of a neighbour
    the route of n2 to 10.88.0.0/16: its next hop uses eth0 of n1, which is a NIC of another node: use one of its own
    packets from n2 to n1 do not arrive: n2 sends packets to n0, which does not forward; enable forwarding there, or change the route
    packets from n0 to n4 do not arrive: n0 sends packets to n1, which does not forward; enable forwarding there, or change the route
    the route of n0 to 10.88.0.10/32: it leads to the node itself: remove it
    packets from n0 to n1 do not arrive: n0 has no route to 10.88.0.11; add one
    the route of n0 to 10.88.0.14/32: no neighbour on eth0 has this address: set the next hop `via`
    a routing loop for packets from n0 to n4: n0, n1, n0; change one of these routes
    the route of n0 to 10.88.0.14/32: it has the same next hop twice: remove one
    ");
}

#[test]
fn one_network_on_two_hubs_is_found() {
    let line = after(hub(&basis(3)), |t| {
        t.media.push(Medium { name: "other".into(), ..t.media[0].clone() });
        t.nics[3].medium = 1;
        // A second NIC joins the two hubs, but their networks are one.
        let ethernet = Ethernet::from_index(99);
        t.nics.push(Nic {
            name: "eth1".into(),
            medium: 1,
            ethernet,
            address: Some(Ipv4Addr::new(10, 77, 0, 1)),
            ..t.nics[0].clone()
        });
    });
    insta::assert_snapshot!(line, @r"
    packets from n3 to n1 do not arrive: n3 expects 10.88.0.11 among its neighbours, but it is not there; add a route, or move n1 to another network
    ");
}
