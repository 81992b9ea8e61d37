//! The network settings of a node: kernel settings, addresses, queues of NICs.

use garland_topology::{Nic, NicId, NodeId, OldTcp, Reach, Selector, Topology};

use crate::route::own_address;
use crate::shaping::{self, Shaping};
use crate::step::Step;
use crate::writer::Writer;
use crate::{bond, medium, route};

/// Returns the steps that configure a node whose namespaces and NICs exist.
pub(crate) fn steps(topology: &Topology, shaping: &Shaping, node: NodeId) -> Vec<Step> {
    let write = Writer::new(topology, node);
    let mut steps = settings(topology, shaping, node, &write);
    steps.push(write.ip("link set lo up".to_owned()));
    steps.extend(
        own_address(topology, node)
            .then(|| write.ip(format!("addr add {}/32 dev lo", topology.nodes[node].address))),
    );
    steps.extend(
        topology
            .nics_of(node)
            .flat_map(|(_, nic)| plug_in(nic, shaping.one_frame_at_a_time(nic.medium), &write)),
    );
    steps.extend(bond::steps(topology, shaping, node, &write));
    steps.extend(route::steps(topology, node, &write));
    steps.extend(topology.nics_of(node).filter_map(|(id, nic)| {
        let bucket = nic_bucket(topology, shaping, id)?;
        Some(write.tc(format!("qdisc add dev {} root {bucket}", nic.name)))
    }));
    steps
}

/// Returns the steps that give a node the TCP of another time.
fn old_tcp(tcp: OldTcp, write: &Writer) -> Vec<Step> {
    let mut steps = Vec::new();
    if let Some(window) = tcp.window {
        // Half of a buffer is offered as the window; without scaling it has 16 bits.
        let buffer = window * 2;
        steps.push(write.sysctl("net.ipv4.tcp_rmem", format!("4096 {buffer} {buffer}")));
        steps.push(write.sysctl("net.ipv4.tcp_window_scaling", u8::from(window > 1 << 16)));
    }
    if let Some(sack) = tcp.sack {
        steps.push(write.sysctl("net.ipv4.tcp_sack", u8::from(sack)));
    }
    if tcp.reno == Some(true) {
        steps.push(write.sysctl("net.ipv4.tcp_congestion_control", "reno"));
        steps.push(write.sysctl("net.ipv4.tcp_recovery", 0));
        steps.push(write.sysctl("net.ipv4.tcp_early_retrans", 0));
    }
    steps
}

fn settings(topology: &Topology, shaping: &Shaping, node: NodeId, write: &Writer) -> Vec<Step> {
    let forwards = topology.nodes[node].forwards;
    let mut steps = vec![
        write.sysctl("net.ipv6.conf.all.disable_ipv6", 1),
        write.sysctl("net.ipv4.ip_forward", u8::from(forwards)),
        write.sysctl("net.ipv4.tcp_rmem", "4096 131072 33554432"),
        write.sysctl("net.ipv4.tcp_wmem", "4096 16384 4194304"),
    ];
    steps.extend(old_tcp(topology.nodes[node].vintage.tcp, write));
    let nics: Vec<&Nic> = topology.nics_of(node).map(|(_, nic)| nic).collect();
    let devices = || ["all"].into_iter().chain(nics.iter().map(|nic| nic.name.as_str()));
    // The topology decides the routes: replies may take another route than requests, and a router
    // must not send redirects to a shorter one.
    if nics.len() > 1 {
        let loose = |device| write.sysctl(&format!("net.ipv4.conf.{device}.rp_filter"), 0);
        steps.extend(devices().map(loose));
    }
    if forwards {
        let silent = |device| write.sysctl(&format!("net.ipv4.conf.{device}.send_redirects"), 0);
        steps.extend(devices().map(silent));
    }
    let by_flow = |route: &garland_topology::Route| {
        route.node == node && route.hops.len() > 1 && route.selector == Selector::Flow
    };
    if topology.routes.iter().any(by_flow) {
        steps.push(write.sysctl("net.ipv4.fib_multipath_hash_policy", 1));
    }
    // A bond that sends packets over its NICs in turn is as fast as all of them together.
    let dealt = topology.bonds.iter().filter(|bond| bond.node == node);
    let dealt = dealt.filter(|bond| bond.selector == Selector::Packet).map(|bond| {
        let rates = bond.nics.iter().filter_map(|nic| shaping.rate(topology.nics[*nic].medium));
        rates.fold(0, u64::saturating_add)
    });
    let rates = nics.iter().filter_map(|nic| shaping.rate(nic.medium));
    let fastest = rates.chain(dealt).filter(|rate| *rate > 0).max();
    steps.extend(
        fastest.map(|rate| {
            write.sysctl("net.ipv4.tcp_limit_output_bytes", shaping::socket_share(rate))
        }),
    );
    steps
}

fn plug_in(nic: &Nic, one_frame_at_a_time: bool, write: &Writer) -> Vec<Step> {
    let name = &nic.name;
    let mut steps = Vec::new();
    if one_frame_at_a_time {
        steps.push(write.ip(format!("link set {name} gso_max_segs 1")));
    }
    steps.extend(nic.address.map(|address| {
        write.ip(match nic.reach {
            Reach::Subnet(prefix) => format!("addr add {address}/{prefix} dev {name}"),
            Reach::Peer(peer) => format!("addr add {address} peer {peer}/32 dev {name}"),
            Reach::Nobody => format!("addr add {address}/32 dev {name}"),
        })
    }));
    steps.push(write.ip(format!("link set {name} up")));
    steps
}

/// Returns the token bucket that limits a NIC to the rate of its port; `None` without a rate.
fn nic_bucket(topology: &Topology, shaping: &Shaping, nic: NicId) -> Option<shaping::Tbf> {
    let id = topology.nics[nic].medium;
    let attached = medium::ports(topology, id);
    let own = attached.iter().find(|port| port.station == medium::Station::Nic(nic))?;
    Some(shaping::qdisc(own.rate?, shaping.exact(id)))
}
