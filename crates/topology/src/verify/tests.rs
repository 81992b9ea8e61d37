//! Tests with cabling faults: observations as agents would make them, and their findings.

use garland_core::nic_facts::NicFacts;
use proptest::prelude::*;

use super::super::miswiring::{Miswiring, miswired};
use super::super::paths::Ways;
use super::super::shapes::{
    Basis, Between, Joined, LeafSpine, Mesh, Segment, bonded, full_mesh, hub, leaf_spine, mesh,
    rail, ring, star, switch,
};
use super::super::{MediumKind, NicName, Selector, Topology};
use super::*;

fn basis(nodes: u32) -> Basis {
    Basis::numbered("try", nodes).at("100mbit".parse().unwrap())
}

fn grid(joined: Joined) -> Topology {
    let measures = Mesh { columns: 3, segment: Segment::Hub, joined, both: None };
    mesh(&basis(8), &measures)
}

fn all_shapes() -> Vec<Topology> {
    vec![
        hub(&basis(3)),
        switch(&basis(5), None),
        star(&basis(4), Between::Isolated),
        star(&basis(4), Between::Forwarded),
        bonded(&basis(3), 2, Segment::Switch, Selector::Packet),
        grid(Joined::Routed),
        grid(Joined::Switched),
        ring(&basis(5)),
        full_mesh(&basis(3)),
        leaf_spine(&basis(5), &LeafSpine { leaves: 2, spines: 2, uplink: None }),
        rail(&basis(3), 2),
    ]
}

/// Returns the observations of agents in `actual`, the miswired `planned`, before measurements.
fn seen(actual: &Topology) -> Observed {
    let port =
        |nic: usize| Port { node: actual.nics[nic].node, nic: actual.nics[nic].name.clone() };
    let facts = |nic: &super::super::Nic| NicFacts {
        name: nic.name.clone(),
        ethernet: nic.ethernet,
        carrier: true,
        speed: None,
        duplex: None,
        mtu: nic.mtu.into(),
        addresses: nic.address.into_iter().collect(),
    };
    let nodes = 0..actual.nodes.len();
    let of_node = |node| Some(actual.nics_of(node).map(|(_, nic)| facts(nic)).collect());
    let segments = actual.segments();
    let segment = |nic: usize| segments[actual.nics[nic].medium];
    let nics = 0..actual.nics.len();
    let pairs = nics.clone().flat_map(|one| nics.clone().map(move |two| (one, two)));
    let near = pairs.filter(|(one, two)| one != two && segment(*one) == segment(*two));
    Observed {
        nodes: nodes.map(of_node).collect(),
        heard: near.map(|(one, two)| (port(one), port(two))).collect(),
        ..Observed::default()
    }
}

/// Returns all observations in `actual`, including links and routes.
fn judged(planned: &Topology, actual: &Topology) -> Vec<Finding> {
    let mut observed = seen(actual);
    let cabling = Cabling::compare(planned, &observed);
    let own = Cabling::compare(actual, &observed);
    let truth = own.links(actual);
    for link in cabling.links(planned) {
        let from = link.from;
        let to = link.to;
        let real = truth.iter().find(|real| real.from == from && real.to == to);
        let measured = real.and_then(|real| real.goodput).unwrap_or(1e9);
        observed.rates.push(RateSeen { from, to, measured, planned: link.goodput });
        let passes = Some(actual.nics[from].mtu.min(actual.nics[to].mtu));
        observed.mtus.push(MtuSeen { from, to, passes });
    }
    let ways = Ways::new(planned);
    for from in 0..planned.nodes.len() {
        for to in (0..planned.nodes.len()).filter(|to| *to != from) {
            let mut counts = vec![0.0; actual.nics.len()];
            let stream = &ways.between(from, to)[0];
            let legs = &stream.there[0].legs;
            for leg in legs {
                leg.path.senders.iter().for_each(|nic| counts[*nic] += 200.0 * leg.share);
            }
            let carried = counts.iter().enumerate().map(|(nic, count)| {
                let nic = &actual.nics[nic];
                (Port { node: nic.node, nic: nic.name.clone() }, *count as u64)
            });
            let arrived = if legs.is_empty() { 0 } else { 200 };
            let carried = carried.collect();
            observed.bursts.push(BurstSeen { from, to, sent: 200, arrived, carried });
        }
    }
    judge(planned, &observed, &cabling)
}

#[test]
fn what_was_not_measured_is_not_as_planned() {
    let p2p = star(&basis(2), Between::Forwarded);
    let mut observed = seen(&p2p);
    let cabling = Cabling::compare(&p2p, &observed);
    let links = cabling.links(&p2p);
    assert_eq!(links.len(), 4);
    for (place, link) in links.iter().enumerate() {
        let [from, to] = [link.from, link.to];
        // A packet size that nobody answered is no measurement.
        let passes = (place > 0).then_some(link.mtu);
        observed.mtus.push(MtuSeen { from, to, passes });
        if place > 1 {
            let measured = link.goodput.unwrap();
            observed.rates.push(RateSeen { from, to, measured, planned: link.goodput });
        }
    }
    let refused = (links[1].from, links[1].to, LinkProperty::Rate);
    observed.unmeasured_links.insert(refused, "refused\nstar: as planned".to_owned());
    observed.unmeasured_ways.insert((1, 2), "late".to_owned());
    assert_eq!(
        said(&judge(&p2p, &observed, &cabling)),
        [
            "not measured: the largest packet of n0/eth0 -> n1/eth0: no packet was answered",
            "not measured: the rate of n0/eth0 -> n1/eth0: no rate came back",
            "not measured: the rate of n1/eth0 -> n0/eth0: refused\\nstar: as planned",
            "not measured: the route n1 -> n2: late",
        ]
    );
    // Of a node that was not reached its own verdict says so.
    observed.nodes[1] = None;
    assert_eq!(said(&judge(&p2p, &observed, &cabling)), [""; 0]);
}

#[test]
fn the_name_of_a_nic_is_one_word() {
    assert!(["eth0", "enp3s0f1np1.100", "br-1@x"].iter().all(|name| is_nic_name(name)));
    let long = "e".repeat(16);
    let wrong = ["", ".", "..", "a/b", "a:1", "a b", "eth0\nok", "a\u{2028}b", &long];
    assert!(!wrong.iter().any(|name| is_nic_name(name)));
}

#[track_caller]
fn faults(planned: &Topology, faults: &[&str]) -> Vec<Finding> {
    let faults: Vec<Miswiring> = faults.iter().map(|fault| fault.parse().unwrap()).collect();
    judged(planned, &miswired(planned, &faults).unwrap())
}

fn said(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(Finding::to_string).collect()
}

/// The differences without what was not measured.
fn differences(findings: &[Finding]) -> Vec<String> {
    let all = findings.iter().filter(|finding| !finding.is_unmeasured());
    all.map(Finding::to_string).collect()
}

#[test]
fn what_is_as_planned_accuses_nobody() {
    for topology in all_shapes() {
        assert_eq!(said(&judged(&topology, &topology)), [""; 0], "{topology:?}");
    }
}

#[test]
fn each_fault_is_named_by_both_ends() {
    let p2p = star(&basis(4), Between::Forwarded);
    assert_eq!(
        said(&faults(&p2p, &["swap:n2/eth0,n3/eth0"])),
        ["swapped: n2/eth0 and n3/eth0 have each other's cable"]
    );
    assert_eq!(
        said(&faults(&p2p, &["missing:n4/eth0"])),
        ["missing: n4/eth0 does not reach n0/eth3 (it has a carrier)"]
    );
    assert_eq!(
        said(&faults(&p2p, &["slow:n3/eth0=10mbit"])),
        ["slow: n0/eth2 - n3/eth0: 9.4 Mbit/s of payload, planned 94.1 Mbit/s"]
    );
    assert_eq!(
        said(&faults(&p2p, &["mtu:n1/eth0=1400"])),
        ["MTU: n1/eth0 (to n0/eth0) has 1400, planned 1500; 1400 bytes pass"]
    );
    assert_eq!(
        said(&faults(&p2p, &["extra:n1/eth7,n2/eth7"])),
        ["extra: n[1-2]/eth7 reach each other, but are not in the plan"]
    );
    assert_eq!(
        said(&faults(&p2p, &["swap:n1/eth0,n2/eth0", "swap:n2/eth0,n3/eth0"])),
        ["swapped: n1/eth0 is where n2/eth0 belongs, n2/eth0 is where n3/eth0 belongs, \
             n3/eth0 is where n1/eth0 belongs"]
    );
}

#[test]
fn stations_of_a_switch_are_told_apart() {
    let switched = switch(&basis(5), None);
    assert_eq!(said(&faults(&switched, &["swap:n2/eth0,n3/eth0"])), [""; 0], "one medium");
    assert_eq!(
        said(&faults(&switched, &["slow:n5/eth0=10mbit"])),
        ["slow: n5/eth0 - n[0-4]/eth0: 9.4 Mbit/s of payload, planned 94.1 Mbit/s"]
    );
    assert_eq!(
        said(&faults(&switched, &["missing:n4/eth0"])),
        ["missing: n4/eth0 does not reach n[0-3,5]/eth0 (it has a carrier)"]
    );
    let mut dead = switched.clone();
    for nic in 0..6 {
        let name = NicName::from_topology(&dead, nic);
        dead = miswired(&dead, &[Miswiring::Missing(name)]).unwrap();
    }
    assert_eq!(
        said(&judged(&switched, &dead)),
        ["missing: n[0-5]/eth0 receive no frames from each other"]
    );
}

#[test]
fn a_mesh_knows_rows_from_columns() {
    let mesh = grid(Joined::Routed);
    assert_eq!(
        said(&faults(&mesh, &["swap:n4/eth0,n4/eth1"])),
        ["swapped: n4/eth0 and n4/eth1 have each other's cable"]
    );
    assert_eq!(
        said(&faults(&mesh, &["swap:n1/eth0,n8/eth0"])),
        ["swapped: n1/eth0 and n8/eth0 have each other's cable"]
    );
}

#[test]
fn media_that_are_joined_and_nics_that_moved_are_named() {
    let rails = rail(&basis(3), 2);
    let mut joined = rails.clone();
    joined.uplinks.push(super::super::Uplink { from: 0, to: 1, rate: None });
    assert_eq!(
        said(&judged(&rails, &joined)),
        ["extra: a cable joins n[0-3]/eth0 and n[0-3]/eth1"]
    );
    let mut moved = rails.clone();
    let nic = "n2/eth0".parse::<NicName>().unwrap().find(&rails).unwrap();
    moved.nics[nic].medium = 1;
    assert_eq!(
        said(&judged(&rails, &moved)),
        ["misplaced: n2/eth0 is connected to n[0-3]/eth1 instead of n[0-1,3]/eth0"]
    );
}

#[test]
fn nics_tell_of_themselves() {
    let wires = star(&basis(2), Between::Isolated);
    let mut observed = seen(&wires);
    let nics = observed.nodes[1].as_mut().unwrap();
    nics[0].duplex = Some(garland_core::nic_facts::Duplex::Half);
    nics[0].speed = Some(10_000_000);
    let nics = observed.nodes[2].as_mut().unwrap();
    nics[0].carrier = false;
    nics[0].name = "enp3s0".to_owned();
    let port = |node, nic: &str| Port { node, nic: nic.to_owned() };
    observed.heard = [(port(0, "eth0"), port(1, "eth0"))].into();
    let cabling = Cabling::compare(&wires, &observed);
    assert_eq!(
        differences(&judge(&wires, &observed, &cabling)),
        [
            "missing: n2/enp3s0 does not reach n0/eth1 (it has no carrier)",
            "slow: n1/eth0 (to n0/eth0) has negotiated 10.0 Mbit/s, planned 100.0 Mbit/s",
            "half duplex: n1/eth0 (to n0/eth0)",
        ]
    );
    observed.nodes[2] = Some(Vec::new());
    let cabling = Cabling::compare(&wires, &observed);
    assert!(said(&cabling.findings).contains(&"n2 has no NIC eth0".to_owned()));
    observed.nodes[2] = None;
    let cabling = Cabling::compare(&wires, &observed);
    assert_eq!(said(&cabling.findings), [""; 0], "nothing is known of a node that wasn't reached");
}

#[test]
fn ways_are_compared_with_the_plan() {
    let p2p = star(&basis(2), Between::Isolated);
    let mut observed = seen(&p2p);
    let port = |node, nic: &str| Port { node, nic: nic.to_owned() };
    let burst = |from, to, arrived, carried: &[(Port, u64)]| BurstSeen {
        from,
        to,
        sent: 200,
        arrived,
        carried: carried.to_vec(),
    };
    observed.bursts = vec![
        burst(0, 1, 200, &[(port(0, "eth0"), 203), (port(1, "eth0"), 4)]),
        burst(0, 2, 200, &[(port(0, "eth0"), 200)]),
        burst(1, 0, 3, &[(port(1, "eth0"), 3)]),
        burst(1, 2, 200, &[(port(1, "eth0"), 200), (port(0, "eth1"), 200)]),
    ];
    let cabling = Cabling::compare(&p2p, &observed);
    assert_eq!(
        differences(&judge(&p2p, &observed, &cabling)),
        [
            "route: n0 -> n2 went by n0/eth0, planned n0/eth1",
            "route: n1 -> n0 by n1/eth0: 3 of 200 packets arrived",
            "route: n1 -> n2 went by n1/eth0, n0/eth1, but the plan isolates these nodes",
        ]
    );
}

#[test]
fn management_is_no_extra_link() {
    let mut actual = star(&basis(3), Between::Isolated);
    let planned = actual.clone();
    let kind = MediumKind::Switch { backplane: None };
    let office =
        super::super::Medium { name: "office".to_owned(), kind, ..actual.media[0].clone() };
    actual.media.push(office);
    for node in 0..4 {
        let mut nic = actual.nics[0].clone();
        (nic.node, nic.name, nic.medium) = (node, "office0".to_owned(), 3);
        nic.ethernet = garland_core::nic_facts::Ethernet::from_index(100 + node);
        actual.nics.push(nic);
    }
    let mut observed = seen(&actual);
    assert_eq!(
        said(&Cabling::compare(&planned, &observed).findings),
        ["extra: n[0-3]/office0 reach each other, but are not in the plan"]
    );
    observed.management = [Port { node: 1, nic: "office0".to_owned() }].into();
    assert_eq!(said(&Cabling::compare(&planned, &observed).findings), [""; 0]);
}

/// Returns the NICs on each medium, without the names of the media.
fn partition(topology: &Topology) -> Vec<Vec<usize>> {
    let segments = topology.segments();
    let mut groups = std::collections::BTreeMap::<usize, Vec<usize>>::new();
    for (nic, at) in topology.nics.iter().enumerate() {
        groups.entry(segments[at.medium]).or_default().push(nic);
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort();
    groups
}

/// Applies the exchanged cables of findings to the topology.
fn as_told(planned: &Topology, findings: &[Finding]) -> Topology {
    let mut told = planned.clone();
    for finding in findings {
        let Finding::Swapped { nics } = finding else { panic!("{finding}") };
        let nics: Vec<usize> = nics.iter().map(|name| name.find(planned).unwrap()).collect();
        for (place, &nic) in nics.iter().enumerate() {
            told.nics[nic].medium = planned.nics[nics[(place + 1) % nics.len()]].medium;
        }
    }
    told
}

proptest! {
    #[test]
    fn any_permutation_of_cables_is_named_exactly(
        shape in 0..11_usize,
        swaps in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..8),
    ) {
        let planned = all_shapes().swap_remove(shape);
        let mut actual = planned.clone();
        for (one, two) in swaps {
            let one = one.index(actual.nics.len());
            let two = two.index(actual.nics.len());
            let medium = actual.nics[one].medium;
            actual.nics[one].medium = actual.nics[two].medium;
            actual.nics[two].medium = medium;
        }
        let findings = Cabling::compare(&planned, &seen(&actual)).findings;
        let told = as_told(&planned, &findings);
        prop_assert_eq!(partition(&told), partition(&actual), "{:?}", said(&findings));
        if partition(&planned) == partition(&actual) {
            prop_assert!(findings.is_empty());
        }
    }
}
