//! Bridges, and what is plugged into them.

use garland_topology::{MediumId, MediumKind, NicId, Topology};

use super::port::sends_from;
use crate::device;
use crate::step::Step;
use crate::writer::MEDIA;

/// What holds for the whole namespace. Bridged frames pass no firewall, whatever the host's default
/// is.
pub(super) fn ground() -> Vec<Step> {
    vec![
        MEDIA.sysctl("net.ipv6.conf.default.disable_ipv6", 1),
        MEDIA.sysctl("net.bridge.bridge-nf-call-iptables", 0),
        MEDIA.sysctl("net.bridge.bridge-nf-call-ip6tables", 0),
        MEDIA.sysctl("net.bridge.bridge-nf-call-arptables", 0),
        MEDIA.ip("link set lo up".to_owned()),
    ]
}

/// Neither spanning tree nor multicast snooping: ports forward at once and nothing is sent that no
/// node asked for. A hub learns nothing: it sends every frame to all.
pub(super) fn make(topology: &Topology, medium: MediumId) -> Vec<Step> {
    let bridge = device::bridge(medium);
    let ageing = match topology.media[medium].kind {
        MediumKind::Hub { .. } => " ageing_time 0",
        MediumKind::Switch { .. } | MediumKind::Wire => "",
    };
    vec![
        MEDIA.ip(format!(
            "link add {bridge} type bridge stp_state 0 forward_delay 0{ageing} mcast_snooping 0 \
             nf_call_iptables 0 nf_call_ip6tables 0 nf_call_arptables 0"
        )),
        MEDIA.ip(format!("link set {bridge} up")),
    ]
}

/// A NIC and its port.
pub(super) fn plug(topology: &Topology, id: NicId) -> Vec<Step> {
    let nic = &topology.nics[id];
    let port = device::port(id);
    let (name, node) = (&nic.name, &topology.nodes[nic.node].name);
    let ethernet = sends_from(topology, id);
    let mtu = mtu(nic.mtu);
    vec![
        MEDIA.ip(format!(
            "link add {port}{mtu} type veth peer name {name} address {ethernet}{mtu} netns {node}"
        )),
        MEDIA.ip(format!("link set {port} master {} up", device::bridge(nic.medium))),
    ]
}

/// An uplink: a cable between two bridges.
pub(super) fn join(topology: &Topology, place: usize) -> Vec<Step> {
    let uplink = &topology.uplinks[place];
    let [from, to] = device::uplink(place);
    let largest = |medium| topology.stations(medium).map(|(_, nic)| nic.mtu).max();
    let mtu = mtu(largest(uplink.from).max(largest(uplink.to)).unwrap_or(STANDARD_MTU));
    vec![
        MEDIA.ip(format!("link add {from}{mtu} type veth peer name {to}{mtu}")),
        MEDIA.ip(format!("link set {from} master {} up", device::bridge(uplink.from))),
        MEDIA.ip(format!("link set {to} master {} up", device::bridge(uplink.to))),
    ]
}

const STANDARD_MTU: u16 = 1500;

/// The words for a device's largest packet, none where it is what devices have anyway.
pub(crate) fn mtu(bytes: u16) -> String {
    if bytes == STANDARD_MTU { String::new() } else { format!(" mtu {bytes}") }
}
