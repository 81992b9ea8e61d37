//! What a topology plans for a node and what the kernel has, in the same words.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use garland_topology::{NodeId, Reach, Topology};
use serde_json::Value;

use crate::net::stage::Stage;

/// Addresses and routes, a line each.
#[derive(Debug, PartialEq, Eq)]
pub struct Truth {
    pub addresses: BTreeSet<String>,
    pub routes: BTreeSet<String>,
}

impl Truth {
    /// What `topology` says of `node`. With `peers` a wire's address has its other end; else it has
    /// 32 bits and a route, which comes to the same.
    pub fn planned(topology: &Topology, node: NodeId, peers: bool) -> Self {
        let this = &topology.nodes[node];
        let mut addresses = BTreeSet::new();
        let mut routes = BTreeSet::new();
        let mut has_own = false;
        for (_, nic) in topology.nics_of(node) {
            let Some(address) = nic.address else { continue };
            has_own |= address == this.address;
            match nic.reach {
                Reach::Peer(peer) => {
                    let other = if peers { format!(" peer {peer}") } else { String::new() };
                    addresses.insert(format!("{} {address}/32{other}", nic.name));
                    routes.insert(format!("{peer}/32 {}", nic.name));
                }
                Reach::Subnet(prefix) => {
                    addresses.insert(format!("{} {address}/{prefix}", nic.name));
                    let net = u32::from(address) & (u32::MAX << (32 - prefix));
                    routes.insert(format!("{}/{prefix} {}", Ipv4Addr::from(net), nic.name));
                }
                Reach::Nobody => {}
            }
        }
        if !has_own {
            addresses.insert(format!("lo {}/32", this.address));
        }
        for route in topology.routes.iter().filter(|route| route.node == node) {
            let mut hops: Vec<String> = route
                .hops
                .iter()
                .map(|hop| {
                    let via = hop.via.map_or_else(String::new, |via| format!(" via {via}"));
                    format!("{}{via}", topology.nics[hop.nic].name)
                })
                .collect();
            hops.sort();
            routes.insert(format!("{}/{} {}", route.to, route.prefix, hops.join(" or ")));
        }
        Self { addresses, routes }
    }

    /// What the kernel of a machine has.
    pub fn found(stage: &Stage<'_>) -> Self {
        let addresses = json(stage, "ip -j -4 address show");
        let routes = json(stage, "ip -j -4 route show");
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let mut found = BTreeSet::new();
        for device in list(&addresses) {
            for own in list(&device["addr_info"]) {
                let peer = own["address"]
                    .as_str()
                    .map_or_else(String::new, |peer| format!(" peer {peer}"));
                found.insert(format!(
                    "{} {}/{}{peer}",
                    word(&device["ifname"]),
                    word(&own["local"]),
                    own["prefixlen"]
                ));
            }
        }
        found.remove("lo 127.0.0.1/8");
        let way = |hop: &Value| {
            let via = hop["gateway"].as_str().map_or_else(String::new, |via| format!(" via {via}"));
            format!("{}{via}", word(&hop["dev"]))
        };
        let listed = list(&routes);
        let routes = listed.iter().map(|route| {
            let to = word(&route["dst"]);
            let whole = if to.contains('/') { "" } else { "/32" };
            let mut hops: Vec<String> = list(&route["nexthops"]).iter().map(way).collect();
            if hops.is_empty() {
                hops.push(way(route));
            }
            hops.sort();
            format!("{to}{whole} {}", hops.join(" or "))
        });
        Self { addresses: found, routes: routes.collect() }
    }
}

/// What is sent to other nodes has the node's own address as its source, whatever the NIC.
#[track_caller]
pub fn assert_sources(stage: &Stage<'_>, topology: &Topology, node: NodeId) {
    for route in topology.routes.iter().filter(|route| route.node == node && route.prefix == 32) {
        let found = json(stage, &format!("ip -j -4 route get {}", route.to));
        let source = word(&found[0]["prefsrc"]);
        assert_eq!(source, topology.nodes[node].address.to_string(), "to {}: {found}", route.to);
    }
}

fn json(stage: &Stage<'_>, command: &str) -> Value {
    serde_json::from_str(&stage.shell(command)).expect("ip prints JSON")
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
