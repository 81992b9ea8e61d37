//! A bond below IP: a separate device has the address, and nftables distributes its packets to the
//! NICs, in turn or by connection.
//!
//! The device is one end of a veth pair. nftables sends every outgoing packet of the device through
//! a NIC, and passes every IP or ARP packet that arrives at a NIC to the other, inner end of the
//! pair, so that the packet arrives at the device. All other packets stay at the NIC for sockets
//! that listen there, as with the bonding driver.

use garland_topology::{Bond, MediumId, NicId, Selector, Topology};

use crate::medium::{mtu_option, sends_from};
use crate::shaping::Shaping;
use crate::step::Step;
use crate::tool::Tool;
use crate::writer::Writer;

/// A fixed seed, so that connections use the same NICs in every run.
const SEED: u32 = 0x6761_726c;

pub(super) fn steps(
    topology: &Topology,
    shaping: &Shaping,
    bond: &Bond,
    write: &Writer,
) -> Vec<Step> {
    let Bond { name, nics, address, prefix, .. } = bond;
    let inner = format!("{name}x");
    let nic = |id: &NicId| &topology.nics[*id];
    let media: Vec<MediumId> = nics.iter().map(|id| nic(id).medium).collect();
    let ethernet = sends_from(topology, nics[0]);
    let size = mtu_option(nics.iter().map(|id| nic(id).mtu).min().unwrap_or(u16::MAX));
    let mut steps = vec![
        write.ip(format!(
            "link add {name} address {ethernet}{size} type veth peer name {inner} address \
             {ethernet}{size}"
        )),
        write.ip(format!("link set {inner} arp off")),
    ];
    if one_frame_at_a_time(shaping, bond.selector, &media) {
        steps.push(write.ip(format!("link set {name} gso_max_segs 1")));
    }
    steps.extend(nics.iter().map(|id| write.ip(format!("link set {} arp off", nic(id).name))));
    steps.push(write.ip(format!("addr add {address}/{prefix} dev {name}")));
    steps.extend([&inner, name].map(|device| write.ip(format!("link set {device} up"))));
    steps.push(write.sysctl(&format!("net.ipv4.conf.{name}.rp_filter"), 0));
    let devices: Vec<&str> = nics.iter().map(|id| nic(id).name.as_str()).collect();
    steps.push(write.batch(Tool::Nft, rules(name, &inner, &devices, bond.selector)));
    steps
}

/// Whether the bond's device must send single frames instead of large segments: if one of its NICs
/// must, or if packets are distributed in turn over wires that count frames. A large segment would
/// be sent whole over one NIC, while a real bond never sends so many packets in a row over one NIC.
fn one_frame_at_a_time(shaping: &Shaping, selector: Selector, media: &[MediumId]) -> bool {
    media.iter().any(|medium| {
        shaping.one_frame_at_a_time(*medium)
            || selector == Selector::Packet && shaping.exact(*medium)
    })
}

fn rules(name: &str, inner: &str, nics: &[&str], selector: Selector) -> String {
    let count = nics.len();
    let turns: Vec<String> =
        nics.iter().enumerate().map(|(turn, nic)| format!("{turn} : \"{nic}\"")).collect();
    let turns = turns.join(", ");
    let first = nics[0];
    let deal = match selector {
        Selector::Flow => format!(
            "    meta l4proto {{ tcp, udp }} fwd to jhash ip saddr . ip daddr . th sport . th dport \
             mod {count} seed {SEED:#x} map {{ {turns} }}
    ether type ip fwd to jhash ip saddr . ip daddr mod {count} seed {SEED:#x} map {{ {turns} }}
    fwd to \"{first}\"\n"
        ),
        Selector::Packet | Selector::Subflow => {
            format!("    fwd to numgen inc mod {count} map {{ {turns} }}\n")
        }
    };
    let comes_in: String = nics
        .iter()
        .map(|nic| {
            format!(
                "  chain from_{nic} {{
    type filter hook ingress device \"{nic}\" priority 0; policy accept;
    meta protocol {{ ip, arp }} fwd to \"{inner}\"
  }}
"
            )
        })
        .collect();
    format!(
        "table netdev garland_{name} {{
  chain deal {{
    type filter hook egress device \"{name}\" priority 0; policy accept;
{deal}  }}
{comes_in}}}
"
    )
}
