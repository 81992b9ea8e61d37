//! Tables of a topology's NICs and routes, and its list of parts.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::net::Ipv4Addr;

use garland_core::cluster::nodelist;
use garland_topology::{Inventory, Nic, NicId, NodeId, Price, Reach, Route, Selector, Topology};

/// The number of rows to which a long table is cut without `--all`.
const ROWS: usize = 40;

/// Returns a table with a row for each NIC: node, name, medium, address, and the addresses that the
/// NIC reaches without a route.
pub fn nics(topology: &Topology, all: bool) -> String {
    let rows = topology.nics.iter().enumerate().map(|(id, nic)| {
        let node = &topology.nodes[nic.node];
        let shown = address(topology, id, nic);
        let reach = match nic.reach {
            Reach::Subnet(prefix) => format!("its /{prefix}"),
            Reach::Peer(peer) => format!("{peer}"),
            Reach::Nobody => "as the bond".to_owned(),
        };
        let medium = &topology.media[nic.medium].name;
        format!("{:<10}{:<7}{medium:<12}{shown:<24}{reach}", node.name, nic.name)
    });
    let head = format!("{:<10}{:<7}{:<12}{:<24}{}", "node", "NIC", "medium", "address", "reaches");
    table(head, rows.collect(), "NICs", all)
}

/// Returns the NIC's address, or that of its bond.
fn address(topology: &Topology, id: NicId, nic: &Nic) -> String {
    if let Some(address) = nic.address {
        return address.to_string();
    }
    let bond = topology.bonds.iter().find(|bond| bond.nics.contains(&id));
    bond.map_or_else(String::new, |bond| format!("{} ({})", bond.address, bond.name))
}

/// Returns a table of routes. A row is a route, or states that a node forwards packets or has its
/// address on lo; nodes with equal rows share a row. Empty if there are no rows.
pub fn routes(topology: &Topology, all: bool) -> String {
    let by_address = owners(topology);
    let mut by_node: Vec<Vec<&Route>> = vec![Vec::new(); topology.nodes.len()];
    topology.routes.iter().for_each(|route| by_node[route.node].push(route));
    // In the order of the first node with each row.
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (id, node) in topology.nodes.iter().enumerate() {
        for row in of_node(topology, &by_address, id, &by_node[id]) {
            let place = *places.entry(row.clone()).or_insert(rows.len());
            if place == rows.len() {
                rows.push((row, Vec::new()));
            }
            rows[place].1.push(node.name.clone());
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let rows: Vec<_> = rows.into_iter().map(|(row, nodes)| (nodelist::fold(&nodes), row)).collect();
    let wide = rows.iter().map(|(nodes, _)| nodes.chars().count() + 2).max().unwrap_or(0).max(10);
    let head = format!("{:<wide$}routes", "node");
    let rows = rows.into_iter().map(|(nodes, row)| format!("{nodes:<wide$}{row}"));
    table(head, rows.collect(), "routes", all)
}

/// Returns the rows of one node: whether it forwards packets, whether its address is on lo, and its
/// routes. Routes to single addresses over the same hops share a row.
fn of_node(topology: &Topology, owners: &Owners, id: NodeId, routes: &[&Route]) -> Vec<String> {
    let node = &topology.nodes[id];
    let has = topology.nics_of(id).any(|(_, nic)| nic.address == Some(node.address))
        || topology.bonds.iter().any(|bond| bond.node == id && bond.address == node.address);
    let mut rows = Vec::new();
    if node.forwards {
        rows.push("forwards packets of others".to_owned());
    }
    if !has {
        rows.push("has its address on lo".to_owned());
    }
    let mut hosts: BTreeMap<String, Vec<Ipv4Addr>> = BTreeMap::new();
    for route in routes {
        let way = hops(topology, owners, route);
        if route.prefix == 32 {
            hosts.entry(way).or_default().push(route.to);
        } else {
            rows.push(format!("{}/{} {way}", route.to, route.prefix));
        }
    }
    let hosts =
        hosts.into_iter().map(|(hops, to)| format!("{} {hops}", names(topology, owners, &to)));
    rows.extend(hosts);
    rows
}

/// Formats the hops of a route: `via n1 eth0`, `via n1 eth0 or n4 eth1, packet by packet`, or
/// `on eth0` for a direct route to a node.
fn hops(topology: &Topology, owners: &Owners, route: &Route) -> String {
    let straight = |via| route.prefix == 32 && owners.get(&via) == owners.get(&route.to);
    let hops: Vec<String> = route
        .hops
        .iter()
        .map(|hop| {
            let nic = &topology.nics[hop.nic].name;
            match hop.via.filter(|via| !straight(*via)) {
                Some(via) => format!("via {} {nic}", names(topology, owners, &[via])),
                None => format!("on {nic}"),
            }
        })
        .collect();
    let chosen = match (route.hops.len(), route.selector) {
        (0 | 1, _) => "",
        (_, Selector::Packet) => ", packet by packet",
        (_, Selector::Flow | Selector::Subflow) => ", flow by flow",
    };
    format!("{}{chosen}", hops.join(" or "))
}

/// For each address of a NIC or a node, the node that has the address.
type Owners = HashMap<Ipv4Addr, NodeId>;

fn owners(topology: &Topology) -> Owners {
    let nics = topology.nics.iter().filter_map(|nic| Some((nic.address?, nic.node)));
    let own = topology.nodes.iter().enumerate().map(|(id, node)| (node.address, id));
    nics.chain(own).collect()
}

/// Formats addresses as a folded list of the nodes that have them. An address that no node has is
/// listed as it is.
fn names(topology: &Topology, owners: &Owners, addresses: &[Ipv4Addr]) -> String {
    let name = |address: &Ipv4Addr| match owners.get(address) {
        Some(node) => topology.nodes[*node].name.clone(),
        None => address.to_string(),
    };
    let names: Vec<String> = addresses.iter().map(name).collect();
    nodelist::fold(&names)
}

fn table(head: String, mut rows: Vec<String>, what: &str, all: bool) -> String {
    let more = rows.len().saturating_sub(ROWS);
    // A table is not cut for a few rows.
    if !all && more > 8 {
        rows.truncate(ROWS);
        rows.push(format!("... {more} more {what} (--all prints them)"));
    }
    let mut text = head;
    for row in rows {
        text.push('\n');
        text.push_str(row.trim_end());
    }
    text.push('\n');
    text
}

/// Formats the numbers of parts, with prices if there are any.
pub fn inventory(inventory: &Inventory) -> String {
    let mut parts = Vec::new();
    let mut part = |count: usize, one: &str, many: &str, price: Price| {
        if count > 0 {
            let name = if count == 1 { one } else { many };
            let price = if price.0 > 0 { format!(" ({price})") } else { String::new() };
            parts.push(format!("{count} {name}{price}"));
        }
    };
    let Inventory { nodes_price, nics_price, media_price, cables_price, .. } = *inventory;
    part(inventory.nodes, "node", "nodes", nodes_price);
    part(inventory.nics, "NIC", "NICs", nics_price);
    part(inventory.hubs, "hub", "hubs", Price::default());
    part(inventory.switches, "switch", "switches", Price::default());
    part(inventory.ports, "port", "ports", media_price);
    let cables: usize = inventory.cables.values().sum();
    part(cables, "cable", "cables", cables_price);
    let mut text = parts.join(", ");
    let kinds: Vec<String> =
        inventory.cables.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    // Writing to a string cannot fail.
    let _ = writeln!(text, ": {}", kinds.join(", "));
    if inventory.price().0 > 0 {
        let _ = writeln!(text, "price {} in all", inventory.price());
    }
    text
}
