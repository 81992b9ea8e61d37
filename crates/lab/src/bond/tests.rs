use garland_topology::shapes::{Basis, JoinedStars, Segment, bonded, joined_stars};

use super::*;
use crate::plan::steps;
use crate::step::Place;
use crate::tool::Tool;
use crate::{DelayBy, Spec};

/// Returns the steps that concern the bond of a node, as commands.
fn of_node(topology: Topology, node: &str) -> String {
    let place = Place::Node(node.to_owned());
    let spec = Spec { name: "lab".to_owned(), topology, roots: None, faults: Vec::new() };
    let about = |step: &Step| match step {
        Step::Batch { tool: Tool::Ip, place: at, text } => {
            *at == place && ["bond", "arp off", "mptcp"].iter().any(|word| text.contains(word))
        }
        Step::Sysctl { place: at, key, .. } => {
            *at == place && (key.contains("bond") || key.contains("mptcp"))
        }
        Step::Batch { tool: Tool::Nft, place: at, .. } => *at == place,
        _ => false,
    };
    let lines: Vec<String> =
        steps(&spec, DelayBy::Own).iter().filter(|step| about(step)).map(Step::to_string).collect();
    lines.join("\n")
}

fn basis(nodes: u32) -> Basis {
    Basis::numbered("bonded", nodes).at("100mbit".parse().unwrap())
}

#[test]
fn packets_are_dealt_in_turn() {
    let topology = bonded(&basis(2), 2, Segment::Switch, Selector::Packet);
    insta::assert_snapshot!(of_node(topology, "n1"));
}

#[test]
fn connections_keep_to_one_nic() {
    let topology = bonded(&basis(2), 3, Segment::Hub, Selector::Flow);
    insta::assert_snapshot!(of_node(topology, "n2"));
}

#[test]
fn subflows_are_announced() {
    let topology = bonded(&basis(2), 3, Segment::Switch, Selector::Subflow);
    insta::assert_snapshot!(of_node(topology, "n1"), @r"
    ip netns exec n1 sysctl -w net.mptcp.enabled='1'
    ip -n n1 mptcp limits set subflows 2 add_addr_accepted 2
    ip -n n1 mptcp endpoint add 10.89.0.11 dev eth1 signal
    ip -n n1 mptcp endpoint add 10.90.0.11 dev eth2 signal
    ");
}

#[test]
fn routes_go_by_the_bond() {
    let trunk = Some("100mbit".parse().unwrap());
    let measures = JoinedStars { first: 3, trunk, wires: 2, selector: Selector::Packet };
    let topology = joined_stars(&basis(5), &measures);
    let lines = of_node(topology, "n0");
    let routes: Vec<&str> = lines.lines().filter(|line| line.contains("route")).collect();
    insta::assert_snapshot!(routes.join("\n"), @"ip -n n0 route add 10.89.0.0/16 via 10.90.0.11 dev bond0");
}

#[test]
fn a_name_without_room_for_its_inner_end_is_refused() {
    let mut topology = bonded(&basis(2), 2, Segment::Switch, Selector::Flow);
    topology.bonds[1].name = "a-long-bond-nam".to_owned();
    insta::assert_snapshot!(fault(&topology).unwrap(), @"bond a-long-bond-nam of n1: in a lab, the name of a bond has at most 14 characters and is not all or default; rename it, for instance to bond0");
}
