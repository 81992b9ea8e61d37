//! The configured routes of a node.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use garland_topology::{NextHop, NodeId, Reach, Route, Selector, Topology, same_network};

use crate::bond;
use crate::step::Step;
use crate::tool::Tool;
use crate::writer::Writer;

/// The number of the first routing table, and of the first packet mark, for next hops that are used
/// in turn.
const FIRST_TABLE: usize = 1000;

/// Returns the steps that add a node's routes. If the packets of a route use several next hops in
/// turn, each hop has its own routing table, and nftables marks every packet with the number of one
/// of the tables.
pub(crate) fn steps(topology: &Topology, node: NodeId, write: &Writer) -> Vec<Step> {
    let mut routes: Vec<&Route> =
        topology.routes.iter().filter(|route| route.node == node).collect();
    let source = own_address(topology, node).then_some(topology.nodes[node].address);
    let source = source.map_or_else(String::new, |address| format!(" src {address}"));
    let in_turn = |route: &Route| route.hops.len() > 1 && route.selector == Selector::Packet;
    let mut steps = Vec::new();
    for route in &routes {
        let Route { to, prefix, hops, .. } = route;
        let line = match &hops[..] {
            // Packets without a mark use the first hop.
            [hop, ..] if hops.len() == 1 || in_turn(route) => hop_words(topology, hop),
            several => {
                several.iter().map(|hop| format!(" nexthop{}", hop_words(topology, hop))).collect()
            }
        };
        steps.push(write.ip(format!("route add {to}/{prefix}{source}{line}")));
    }
    if !routes.iter().any(|route| in_turn(route)) {
        return steps;
    }
    // The longest prefix comes last, so that its mark replaces the others.
    routes.sort_by_key(|route| route.prefix);
    let mut rules = String::new();
    let mut table = FIRST_TABLE;
    for route in routes {
        let Route { to, prefix, hops, .. } = route;
        let tables = table..table + if in_turn(route) { hops.len() } else { 0 };
        for (table, hop) in tables.clone().zip(hops) {
            let hop = hop_words(topology, hop);
            steps.push(write.ip(format!("route add {to}/{prefix}{source}{hop} table {table}")));
            steps.push(write.ip(format!("rule add fwmark {table} lookup {table}")));
        }
        table = tables.end;
        rules.push_str(&mark(*to, *prefix, &tables.collect::<Vec<_>>()));
    }
    steps.push(write.batch(Tool::Nft, deal(&rules)));
    steps
}

fn hop_words(topology: &Topology, hop: &NextHop) -> String {
    // A NIC of a bond stands for the bond.
    let name = match bond::above(topology, hop.nic) {
        Some(bond) => &bond.name,
        None => &topology.nics[hop.nic].name,
    };
    match hop.via {
        None => format!(" dev {name}"),
        Some(via) if reaches(topology, hop, via) => format!(" via {via} dev {name}"),
        Some(via) => format!(" via {via} dev {name} onlink"),
    }
}

/// Whether `via` is on the network of the NIC of `hop`, or of the NIC's bond.
fn reaches(topology: &Topology, hop: &NextHop, via: Ipv4Addr) -> bool {
    let nic = &topology.nics[hop.nic];
    let (reach, address) = match bond::above(topology, hop.nic) {
        Some(bond) => (Reach::Subnet(bond.prefix), Some(bond.address)),
        None => (nic.reach, nic.address),
    };
    match (reach, address) {
        (Reach::Subnet(prefix), Some(own)) => same_network(own, via, prefix),
        (Reach::Peer(peer), Some(_)) => peer == via,
        _ => false,
    }
}

/// Returns the rule that marks packets to `to` with the numbers of `tables` in turn. Without tables
/// the rule sets the mark 0.
fn mark(to: Ipv4Addr, prefix: u8, tables: &[usize]) -> String {
    let several = tables.iter().enumerate().fold(String::new(), |mut map, (turn, table)| {
        let comma = if turn == 0 { "" } else { ", " };
        let _ = write!(map, "{comma}{turn} : {table}");
        map
    });
    let value = match tables.len() {
        0 => "0".to_owned(),
        count => format!("numgen inc mod {count} map {{ {several} }}"),
    };
    format!("    ip daddr {to}/{prefix} meta mark set {value}\n")
}

/// Returns the nftables table that applies `rules` to packets that the node sends or forwards.
fn deal(rules: &str) -> String {
    format!(
        "table ip garland_routes {{
  chain own {{
    type route hook output priority mangle; policy accept;
{rules}  }}
  chain passed_on {{
    type filter hook prerouting priority mangle; policy accept;
{rules}  }}
}}
"
    )
}

/// Whether the node's address belongs to no NIC and no bond, so that the loopback device has it.
pub(crate) fn own_address(topology: &Topology, node: NodeId) -> bool {
    let address = topology.nodes[node].address;
    let of_nic = topology.nics_of(node).any(|(_, nic)| nic.address == Some(address));
    let of_bond = topology.bonds.iter().any(|bond| bond.node == node && bond.address == address);
    !of_nic && !of_bond
}
