//! Bridges, their ports and their uplinks.

use garland_topology::{MediumId, MediumKind, NicId, Topology};

use super::port::sends_from;
use crate::step::Step;
use crate::writer::MEDIA;
use crate::{delay, device};

/// Returns the settings of the namespace of the media. Bridged frames must not pass the firewall,
/// whatever the host's default is.
pub(super) fn ground() -> Vec<Step> {
    vec![
        MEDIA.sysctl("net.ipv6.conf.default.disable_ipv6", 1),
        MEDIA.sysctl("net.bridge.bridge-nf-call-iptables", 0),
        MEDIA.sysctl("net.bridge.bridge-nf-call-ip6tables", 0),
        MEDIA.sysctl("net.bridge.bridge-nf-call-arptables", 0),
        MEDIA.ip("link set lo up".to_owned()),
    ]
}

/// Returns the steps that create a bridge. It has neither spanning tree nor multicast snooping, so
/// ports forward immediately and the bridge sends no frames of its own. A hub learns no addresses:
/// it sends every frame to all ports.
pub(super) fn make(topology: &Topology, medium: MediumId) -> Vec<Step> {
    let name = device::bridge(medium);
    let ageing = match topology.media[medium].kind {
        MediumKind::Hub { .. } => " ageing_time 0",
        MediumKind::Switch { .. } | MediumKind::Wire => "",
    };
    vec![
        MEDIA.ip(format!(
            "link add {name} type bridge stp_state 0 forward_delay 0{ageing} mcast_snooping 0 \
             nf_call_iptables 0 nf_call_ip6tables 0 nf_call_arptables 0"
        )),
        MEDIA.ip(format!("link set {name} up")),
    ]
}

/// Returns the steps that create a NIC and its port. If the medium has a delay, their cable is cut.
pub(super) fn plug(topology: &Topology, id: NicId) -> Vec<Step> {
    let nic = &topology.nics[id];
    let own = device::port(id);
    let name = &nic.name;
    let node = &topology.nodes[nic.node].name;
    let ethernet = sends_from(topology, id);
    let mtu = mtu_option(nic.mtu);
    let mut steps = Vec::new();
    let port_side = if delay::cuts_nic(topology, id) {
        let [inner, outer] = device::cut_cable(id);
        steps.push(MEDIA.ip(format!("link add {own}{mtu} type veth peer name {inner}{mtu}")));
        steps.push(MEDIA.ip(format!("link set {inner} up")));
        outer
    } else {
        own.clone()
    };
    steps.push(MEDIA.ip(format!(
        "link add {port_side}{mtu} type veth peer name {name} address {ethernet}{mtu} netns {node}"
    )));
    if port_side != own {
        steps.push(MEDIA.ip(format!("link set {port_side} up")));
    }
    steps.push(MEDIA.ip(format!("link set {own} master {} up", device::bridge(nic.medium))));
    steps
}

/// Returns the steps that create an uplink: a cable between two bridges. If one of them has a
/// delay, the cable is cut.
pub(super) fn join(topology: &Topology, place: usize) -> Vec<Step> {
    let uplink = &topology.uplinks[place];
    let [from, to] = device::uplink(place);
    let largest = |medium| topology.stations(medium).map(|(_, nic)| nic.mtu).max();
    let mtu = mtu_option(largest(uplink.from).max(largest(uplink.to)).unwrap_or(STANDARD_MTU));
    let pair = |one: &str, other: &str| {
        MEDIA.ip(format!("link add {one}{mtu} type veth peer name {other}{mtu}"))
    };
    let mut steps = Vec::new();
    if delay::cuts_uplink(topology, place) {
        let [near, far] = device::cut_uplink(place);
        steps.extend([pair(&from, &near), pair(&to, &far)]);
        steps.extend([near, far].map(|end| MEDIA.ip(format!("link set {end} up"))));
    } else {
        steps.push(pair(&from, &to));
    }
    steps.push(MEDIA.ip(format!("link set {from} master {} up", device::bridge(uplink.from))));
    steps.push(MEDIA.ip(format!("link set {to} master {} up", device::bridge(uplink.to))));
    steps
}

const STANDARD_MTU: u16 = 1500;

/// Returns the arguments of `ip link` that set a device's MTU; empty for the default MTU of 1500
/// bytes.
pub(crate) fn mtu_option(bytes: u16) -> String {
    if bytes == STANDARD_MTU { String::new() } else { format!(" mtu {bytes}") }
}
