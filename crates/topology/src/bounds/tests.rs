use garland_core::units::Rate;

use super::super::shapes::{
    Basis, Between, Joined, JoinedStars, LeafSpine, Mesh, Segment, bonded, full_mesh, hub,
    joined_stars, leaf_spine, mesh, rail, ring, star, switch,
};
use super::super::{MediumKind, Selector};
use super::*;

/// The TCP goodput of a full-duplex wire, and of a hub with a single connection, as shares of the
/// rate.
const WIRE: f64 = 1448.0 / 1538.0;
const HUB: f64 = 1448.0 / 1583.0;

fn basis(nodes: u32, megabits: u64) -> Basis {
    Basis::numbered("try", nodes).at(Rate::from_bits_per_second(megabits * 1_000_000))
}

fn close(rate: f64, megabits: f64) {
    assert!((rate / 1e6 - megabits).abs() < 1e-6 * megabits, "{rate} is not {megabits} Mbit/s");
}

fn all_close(rates: &[f64], megabits: f64) {
    rates.iter().for_each(|&rate| close(rate, megabits));
}

fn total(topology: &Topology, flows: &[(NodeId, NodeId)]) -> f64 {
    max_min(topology, flows).iter().sum()
}

#[test]
fn a_packets_wire_is_more_than_its_payload() {
    assert_eq!(on_the_wire(1448, 1500), 1538);
    assert_eq!(on_the_wire(1449, 1500), 1449 + 180);
    assert_eq!((on_the_wire(0, 1500), on_the_wire(8, 1500)), (90, 98));
    assert!((payload_share(1500) - 1448.0 / 1538.0).abs() < 1e-12);
    assert!((payload_share(128) - 76.0 / 166.0).abs() < 1e-12);
}

#[test]
fn a_hub_is_shared_by_all_and_by_their_acknowledgements() {
    let topology = hub(&basis(5, 10));
    let one = max_min(&topology, &[(0, 1)]);
    assert!((one[0] / 1e6 - 9.147).abs() < 0.001, "{one:?}");
    all_close(&max_min(&topology, &[(0, 1), (1, 0)]), 10.0 * HUB / 2.0);
    all_close(&max_min(&topology, &[(0, 1), (2, 3), (4, 5)]), 10.0 * HUB / 3.0);
}

#[test]
fn a_switch_gives_each_port_all_of_both_directions() {
    let topology = switch(&basis(5, 100), None);
    all_close(&max_min(&topology, &[(0, 1), (1, 0), (2, 3), (4, 5)]), 100.0 * WIRE);
    // Two flows into one port share it; a third, which shares a sender with one of them, gets the
    // rest.
    let rates = max_min(&topology, &[(0, 5), (1, 5), (1, 4)]);
    all_close(&rates, 50.0 * WIRE);
    let rates = max_min(&topology, &[(0, 5), (1, 5), (2, 5), (2, 4)]);
    all_close(&rates[..3], 100.0 / 3.0 * WIRE);
    close(rates[3], 200.0 / 3.0 * WIRE);
    let narrow = switch(&basis(5, 100), Some(Rate::from_bits_per_second(120_000_000)));
    all_close(&max_min(&narrow, &[(0, 1), (2, 3), (4, 5)]), 40.0 * WIRE);
}

#[test]
fn no_rate_is_no_bound() {
    let topology = switch(&Basis::numbered("try", 3), None);
    assert_eq!(max_min(&topology, &[(0, 1), (2, 2)]), [f64::INFINITY; 2]);
    let narrow = switch(&Basis::numbered("try", 3), Some(Rate::from_bits_per_second(1_000_000)));
    close(max_min(&narrow, &[(0, 1)])[0], WIRE);
}

#[test]
fn a_larger_mtu_leaves_more_for_payload() {
    let mut topology = switch(&basis(2, 1000), None);
    topology.nics.iter_mut().for_each(|nic| nic.mtu = 9000);
    close(max_min(&topology, &[(0, 1)])[0], 1000.0 * 8948.0 / 9038.0);
    topology.nics[1].mtu = 1500;
    close(max_min(&topology, &[(0, 1)])[0], 1000.0 * WIRE);
}

#[test]
fn a_star_has_a_wire_for_each_node() {
    let topology = star(&basis(3, 100), Between::Forwarded);
    all_close(&max_min(&topology, &[(0, 1), (0, 2), (0, 3), (1, 0)]), 100.0 * WIRE);
    let streams = Ways::new(&topology).between(1, 2);
    let path = &streams[0].there[0].legs[0].path;
    assert_eq!(path.nodes, [1, 0, 2]);
    let out = |node: NodeId, at| Resource::Out(topology.nics_of(node).nth(at).unwrap().0);
    assert_eq!(path.resources, [out(1, 0), out(0, 1)]);
    // Through the head; its wire to node 2 is shared with its own flow.
    all_close(&max_min(&topology, &[(1, 2), (0, 2)]), 50.0 * WIRE);
    let isolated = star(&basis(3, 100), Between::Isolated);
    let rates = max_min(&isolated, &[(1, 2), (0, 2)]);
    assert_eq!(rates[0], 0.0);
    close(rates[1], 100.0 * WIRE);
}

#[test]
fn bonded_nets_add_up() {
    for segment in [Segment::Hub, Segment::Switch] {
        let share = if segment == Segment::Hub { HUB } else { WIRE };
        for selector in [Selector::Packet, Selector::Subflow] {
            let topology = bonded(&basis(15, 10), 2, segment, selector);
            close(max_min(&topology, &[(3, 4)])[0], 20.0 * share);
        }
        // By flow, a single connection uses one net, and at best the other one for
        // acknowledgements; each of two connections has a net of its own.
        let topology = bonded(&basis(15, 10), 2, segment, Selector::Flow);
        close(max_min(&topology, &[(3, 4)])[0], 10.0 * WIRE);
        all_close(&max_min(&topology, &[(3, 4), (3, 5)]), 10.0 * share);
    }
}

#[test]
fn the_bonded_dual_net_of_1996_has_20_in_total() {
    let pairs: Vec<_> = (0..7).map(|pair| (2 * pair, 2 * pair + 1)).collect();
    for selector in [Selector::Packet, Selector::Subflow] {
        let topology = bonded(&basis(15, 10), 2, Segment::Hub, selector);
        close(total(&topology, &pairs), 20.0 * HUB);
    }
    // By flow, four connections use one net and three the other; both are full.
    let topology = bonded(&basis(15, 10), 2, Segment::Hub, Selector::Flow);
    close(total(&topology, &pairs), 20.0 * HUB);
    let most = max_min(&topology, &pairs).into_iter().fold(0.0, f64::max);
    assert!(most > 2.9e6, "{most}");
}

fn mesh_of_1996(joined: Joined, both: Option<Selector>) -> Topology {
    mesh(&basis(15, 10), &Mesh { columns: 4, segment: Segment::Hub, joined, both })
}

/// The node in this row and column.
fn at(row: usize, column: usize) -> NodeId {
    row * 4 + column
}

/// Eight pairs, each on a bus of its own: four rows, four columns, all nodes.
fn local_pairs() -> Vec<(NodeId, NodeId)> {
    let rows = (0..4).map(|row| (at(row, row % 2 * 2), at(row, row % 2 * 2 + 1)));
    let columns = (0..4).map(|column| {
        let row = 1 - column / 2;
        (at(row, column), at(row + 2, column))
    });
    rows.chain(columns).collect()
}

/// Eight pairs in four diagonal squares, that load every bus alike both ways.
fn remote_pairs() -> Vec<(NodeId, NodeId)> {
    let upper = [((0, 0), (1, 1)), ((0, 2), (1, 3)), ((1, 0), (0, 1)), ((1, 2), (0, 3))];
    let lower = [((2, 1), (3, 0)), ((2, 3), (3, 2)), ((3, 1), (2, 0)), ((3, 3), (2, 2))];
    let all = upper.into_iter().chain(lower);
    all.map(|((r, c), (to_r, to_c))| (at(r, c), at(to_r, to_c))).collect()
}

#[test]
fn local_wire_in_the_mesh_of_1996_has_a_bus_a_pair() {
    for joined in [Joined::Routed, Joined::Switched] {
        let topology = mesh_of_1996(joined, None);
        let pairs = local_pairs();
        assert_eq!(pairs.len(), 8);
        for seven in 0..8 {
            let mut pairs = pairs.clone();
            pairs.remove(seven);
            close(total(&topology, &pairs), 70.0 * HUB);
        }
        all_close(&max_min(&topology, &pairs), 10.0 * HUB);
    }
}

#[test]
fn remote_wire_in_the_mesh_of_1996_crosses_two_busses() {
    let routed = mesh_of_1996(Joined::Routed, None);
    let switched = mesh_of_1996(Joined::Switched, Some(Selector::Packet));
    let routed_both = mesh_of_1996(Joined::Routed, Some(Selector::Packet));
    for topology in [&routed, &switched, &routed_both] {
        close(total(topology, &remote_pairs()), 40.0 * HUB);
        let seven = total(topology, &remote_pairs()[..7]);
        assert!(seven <= 40.0e6 * HUB * 1.000_001, "{seven}");
    }
    // Over the rows only, one switch and four buses carry everything.
    let one = mesh_of_1996(Joined::Switched, None);
    close(total(&one, &remote_pairs()), 20.0 * HUB);
    // A single flow uses two buses one after the other, or two such paths.
    close(max_min(&routed, &[(at(0, 0), at(1, 1))])[0], 10.0 * WIRE);
    close(max_min(&switched, &[(at(0, 0), at(1, 1))])[0], 20.0 * HUB);
}

#[test]
fn files_take_as_long_as_the_slowest_one() {
    let topology = switch(&basis(5, 10), None);
    let one = 8e6 / (10e6 * WIRE);
    let near = |flows: &[(NodeId, NodeId)], expected: f64| {
        let predicted = seconds(&topology, flows, 1_000_000);
        assert!((predicted / expected - 1.0).abs() < 1e-6, "{predicted} is not {expected}");
    };
    near(&[(0, 1), (2, 3)], one);
    near(&[(0, 5), (1, 5), (2, 5), (2, 4)], 3.0 * one);
    let isolated = star(&basis(3, 100), Between::Isolated);
    assert!(seconds(&isolated, &[(0, 1), (1, 2)], 1).is_infinite());
    assert!(seconds(&switch(&Basis::numbered("try", 3), None), &[(0, 1)], 1) == 0.0);
}

#[test]
fn a_forwarding_node_on_one_hub_pays_twice() {
    // Two nodes that reach each other only through the third, all on one hub.
    let mut topology = hub(&basis(2, 10));
    for (node, to) in [(1, 2), (2, 1)] {
        let nic = topology.nics_of(node).next().unwrap().0;
        let address = topology.nodes[to].address;
        let via = Some(topology.nodes[0].address);
        topology.routes.push(super::super::Route {
            node,
            to: address,
            prefix: 32,
            hops: vec![super::super::NextHop { nic, via }],
            selector: Selector::Packet,
        });
    }
    topology.nodes[0].forwards = true;
    assert_eq!(Ways::new(&topology).between(1, 2)[0].there[0].legs[0].path.nodes, [1, 0, 2]);
    close(max_min(&topology, &[(1, 2)])[0], 5.0 * HUB);
    topology.nodes[0].forwards = false;
    assert_eq!(max_min(&topology, &[(1, 2)]), [0.0]);
}

#[test]
fn routes_in_a_circle_lead_nowhere() {
    let mut topology = star(&basis(2, 10), Between::Forwarded);
    // Node 1 sends to an address that the head sends back to node 1.
    let lost = "10.88.9.9".parse().unwrap();
    let nic = topology.nics_of(0).next().unwrap().0;
    let via = Some(topology.nodes[1].address);
    topology.routes.push(super::super::Route {
        node: 0,
        to: lost,
        prefix: 32,
        hops: vec![super::super::NextHop { nic, via }],
        selector: Selector::Packet,
    });
    topology.nodes[1].forwards = true;
    topology.nodes[2].address = lost;
    topology.nics[3].address = Some(lost);
    assert_eq!(max_min(&topology, &[(1, 2)]), [0.0]);
}

#[test]
fn a_hash_meets_itself_on_average() {
    let topology = bonded(&basis(3, 10), 2, Segment::Switch, Selector::Flow);
    let flows = [(0, 1), (0, 2)];
    assert!(by_hash(&topology, &flows));
    // With a probability of one half both use the same wire.
    all_close(&max_min(&topology, &flows), 10.0 * WIRE);
    all_close(&expected(&topology, &flows), 7.5 * WIRE);
    // With many flows a sample is used, which is close to the exact value.
    let many: Vec<_> = (0..8).flat_map(|_| flows).collect();
    let mean: f64 = expected(&topology, &many).iter().sum();
    assert!(mean > 19.5e6 * WIRE && mean < 20.01e6 * WIRE, "{mean}");
    assert!(!by_hash(&switch(&basis(3, 10), None), &flows));
}

#[test]
fn spines_are_chosen_by_flow_and_uplinks_bound() {
    // Two leaves with two nodes each, two spines; uplinks as fast as ports.
    let mut topology = switch(&basis(3, 100), None);
    let switch = topology.media[0].clone();
    topology.media.extend([switch.clone(), switch.clone(), switch]);
    topology.nics[2].medium = 1;
    topology.nics[3].medium = 1;
    for (from, to) in [(0, 2), (0, 3), (1, 2), (1, 3)] {
        topology.uplinks.push(super::super::Uplink { from, to, rate: None });
    }
    assert!(topology.media.iter().all(|m| m.kind == MediumKind::Switch { backplane: None }));
    let streams = Ways::new(&topology).between(0, 2);
    assert_eq!(streams[0].there.len(), 2);
    let way = &streams[0].there[1].legs[0].path.resources;
    assert_eq!(way[..], [Resource::Out(0), Resource::Up(1), Resource::Down(3), Resource::In(2)]);
    all_close(&max_min(&topology, &[(0, 2), (1, 3)]), 100.0 * WIRE);
    all_close(&expected(&topology, &[(0, 2), (1, 3)]), 75.0 * WIRE);
    let ways = Ways::new(&topology);
    let both = [ways.between(0, 2), ways.between(1, 3)];
    for (placing, sharing) in [(Placing::Even, 1), (Placing::Colliding, 2)] {
        let shares = uses(&topology, &both, placing);
        let up = |shares: &Option<Vec<(Resource, f64)>>| {
            shares.iter().flatten().any(|(resource, _)| *resource == Resource::Up(0))
        };
        assert_eq!(shares.iter().filter(|shares| up(shares)).count(), sharing, "{placing:?}");
    }
    topology.uplinks.truncate(1);
    topology.uplinks.push(super::super::Uplink { from: 1, to: 2, rate: None });
    all_close(&max_min(&topology, &[(0, 2), (1, 3)]), 50.0 * WIRE);
}

#[test]
fn a_lost_half_of_a_bond_is_no_connection() {
    let mut topology = bonded(&basis(1, 10), 2, Segment::Switch, Selector::Packet);
    topology.nics[3].medium = 0;
    assert_eq!(max_min(&topology, &[(0, 1)]), [0.0]);
}

#[test]
fn rails_are_used_by_lanes() {
    // Subflows without a bond are rails: a network and an address each.
    let mut topology = bonded(&basis(3, 10), 3, Segment::Switch, Selector::Subflow);
    assert_eq!(rails(&topology), 1);
    topology.bonds.clear();
    assert_eq!(rails(&topology), 3);
    close(max_min(&topology, &[(0, 1)])[0], 10.0 * WIRE);
    close(max_min_over_rails(&topology, &[(0, 1)])[0], 30.0 * WIRE);
    let stream = Ways::new(&topology).between(2, 1).remove(0);
    assert_eq!(stream.there[0].legs[0].path.resources, [Resource::Out(6), Resource::In(3)]);
    let third = paths_to_third(&topology);
    assert_eq!(third.there[0].legs[0].path.resources, [Resource::Out(8), Resource::In(5)]);
    assert_eq!(third.back[0].legs[0].path.resources, [Resource::Out(5), Resource::In(8)]);
    assert_eq!(rails(&star(&basis(3, 10), Between::Forwarded)), 1);
    assert_eq!(rails(&switch(&basis(3, 10), None)), 1);
}

fn paths_to_third(topology: &Topology) -> Stream {
    let address = topology.nics[5].address.unwrap();
    Ways::new(topology).to_address(2, 1, address)
}

/// One of each shape, at 10 Mbit/s.
fn shapes() -> Vec<Topology> {
    let trunk = Some(Rate::from_bits_per_second(25_000_000));
    let stars = JoinedStars { first: 4, trunk, wires: 2, selector: Selector::Packet };
    let uplinks = LeafSpine { leaves: 3, spines: 2, uplink: trunk };
    vec![
        hub(&basis(5, 10)),
        switch(&basis(5, 10), Some(Rate::from_bits_per_second(33_000_000))),
        star(&basis(5, 10), Between::Forwarded),
        bonded(&basis(5, 10), 2, Segment::Hub, Selector::Packet),
        bonded(&basis(5, 10), 3, Segment::Switch, Selector::Flow),
        bonded(&basis(5, 10), 2, Segment::Hub, Selector::Subflow),
        mesh_of_1996(Joined::Routed, None),
        mesh_of_1996(Joined::Routed, Some(Selector::Flow)),
        mesh_of_1996(Joined::Switched, Some(Selector::Packet)),
        joined_stars(&basis(7, 10), &stars),
        ring(&basis(6, 10)),
        full_mesh(&basis(4, 10)),
        leaf_spine(&basis(8, 10), &uplinks),
        rail(&basis(4, 10), 2),
    ]
}

#[test]
fn nothing_is_overfull_and_everyone_meets_something_full() {
    for topology in shapes() {
        topology.check().unwrap();
        let nodes = topology.nodes.len();
        let all = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to)));
        let flows: Vec<_> = all.filter(|(from, to)| from != to).collect();
        let connections = streams(&topology, &flows);
        let all: Vec<&Stream> = connections.iter().flatten().collect();
        let picks = spread(&topology, &all, Placing::Even);
        let rates = fill(&topology, &all, &picks);
        let mut load: HashMap<Resource, f64> = HashMap::new();
        let costs: Vec<Vec<(Resource, f64)>> = all
            .iter()
            .zip(&picks)
            .map(|(at, pick)| {
                let back = acknowledgements(&at.back[pick.1]);
                data(&at.there[pick.0]).into_iter().chain(back).collect()
            })
            .collect();
        for (costs, rate) in costs.iter().zip(&rates) {
            assert!(*rate > 0.0, "{}", topology.name);
            for (resource, weight) in costs {
                *load.entry(*resource).or_default() += weight * rate;
            }
        }
        for (resource, load) in &load {
            assert!(*load <= resource.capacity(&topology) * 1.000_001, "{resource:?}");
        }
        for costs in &costs {
            let full = |resource: &Resource| load[resource] > resource.capacity(&topology) * 0.999;
            assert!(costs.iter().any(|(resource, _)| full(resource)), "{}", topology.name);
        }
    }
}

#[test]
fn two_joined_stars_share_what_joins_them() {
    // The trunk carries three flows at full rate, unless it is an ordinary wire.
    let flows = [(1, 5), (2, 6), (3, 7)];
    let stars = |trunk, wires| {
        let trunk = Some(Rate::from_bits_per_second(trunk));
        let measures = JoinedStars { first: 4, trunk, wires, selector: Selector::Packet };
        joined_stars(&basis(7, 100), &measures)
    };
    all_close(&max_min(&stars(1_000_000_000, 1), &flows), 100.0 * WIRE);
    all_close(&max_min(&stars(100_000_000, 1), &flows), 100.0 / 3.0 * WIRE);
    all_close(&max_min(&stars(100_000_000, 2), &flows), 200.0 / 3.0 * WIRE);
}

#[test]
fn an_oversubscribed_spine_bounds_the_bisection() {
    let uplink = Some(Rate::from_bits_per_second(100_000_000));
    let topology = leaf_spine(&basis(7, 100), &LeafSpine { leaves: 2, spines: 1, uplink });
    let across = loads(&topology).pop().unwrap().flows;
    all_close(&max_min(&topology, &across), 25.0 * WIRE);
}
