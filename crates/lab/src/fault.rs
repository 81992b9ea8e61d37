//! Faults for tests: cut wires, flipped bytes, stopped and killed nodes.

use garland_sys::identity::{self, Signal};
use serde::{Deserialize, Serialize};

use crate::step::Place;
use crate::tool::Tool;
use crate::{Lab, LabError, device};

/// The table of nftables that holds all flips of a lab.
const TABLE: &str = "garland_flips";

/// Which way on a node's link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkDirection {
    /// From the medium to the node.
    In,
    /// From the node to the medium.
    Out,
}

/// Cuts all wires of a node, both ways and silently: its NICs still have a carrier, and what it
/// sends or should receive vanishes at the medium's port.
pub fn cut(lab: &Lab, node: &str) -> Result<(), LabError> {
    port_state(lab, node, None, PORT_LISTENING)
}

/// Cuts the wire of one NIC of a node, as [`cut`] does.
pub fn cut_nic(lab: &Lab, node: &str, nic: &str) -> Result<(), LabError> {
    port_state(lab, node, Some(nic), PORT_LISTENING)
}

/// Mends the wires that [`cut`] and [`cut_nic`] have cut.
pub fn restore(lab: &Lab, node: &str) -> Result<(), LabError> {
    port_state(lab, node, None, PORT_FORWARDING)
}

/// Flips bits of one byte of TCP payload on a node's link, once: in the `after`-th segment from now
/// (counting from 0) that is longer than 1100 bytes, on each of its NICs. TCP's check sum doesn't
/// notice, as on a real wire a broken NIC or switch corrupts behind it: a veth carries no check
/// sums.
///
/// The byte is set to 0, or to 255 where it was below 128, so it always changes. Needs nftables. It
/// happens at the node's NIC: frames that a hub or a backplane has held pass no hook at its ports.
pub fn flip(lab: &Lab, node: &str, way: LinkDirection, after: u32) -> Result<(), LabError> {
    let hook = match way {
        LinkDirection::In => "ingress",
        LinkDirection::Out => "egress",
    };
    let id = lab.id(node)?;
    let nics = lab.spec().topology.nics_of(id);
    let rules: String = nics.map(|(_, nic)| flip_rules(&nic.name, hook, after)).collect();
    nft(lab, node, &rules)
}

/// Takes back all flips of a lab, those that haven't happened yet included.
pub fn clear_flips(lab: &Lab) -> Result<(), LabError> {
    let rules = format!("table netdev {TABLE}\ndelete table netdev {TABLE}\n");
    lab.nodes().try_for_each(|node| nft(lab, node, &rules))
}

/// Kills all that runs on a node (SIGKILL), as when its power fails; gives their number.
pub fn kill(lab: &Lab, node: &str) -> Result<usize, LabError> {
    signal(lab, node, Signal::KILL)
}

/// Stops all that runs on a node (SIGSTOP): it neither works nor closes its connections.
pub fn stop(lab: &Lab, node: &str) -> Result<usize, LabError> {
    signal(lab, node, Signal::STOP)
}

/// Lets what [`stop`] stopped go on.
pub fn resume(lab: &Lab, node: &str) -> Result<usize, LabError> {
    signal(lab, node, Signal::CONT)
}

/// States of a bridge's port, from linux/if_bridge.h. A port that listens carries nothing; one that
/// was "disabled" or "blocking" instead is set forwarding again by the kernel itself, as long as it
/// has a carrier and no spanning tree forbids it.
const PORT_LISTENING: u8 = 1;
const PORT_FORWARDING: u8 = 3;

fn port_state(lab: &Lab, node: &str, nic: Option<&str>, state: u8) -> Result<(), LabError> {
    let id = lab.id(node)?;
    let nics = lab.spec().topology.nics_of(id);
    let wanted = nics.filter(|(_, own)| nic.is_none_or(|name| own.name == name));
    let lines: String = wanted
        .map(|(id, _)| {
            format!("link set dev {} type bridge_slave state {state}\n", device::port(id))
        })
        .collect();
    if let (Some(nic), true) = (nic, lines.is_empty()) {
        return Err(LabError::NoSuchNic {
            lab: lab.name().to_owned(),
            node: node.to_owned(),
            nic: nic.to_owned(),
        });
    }
    lab.batch(Tool::Ip, &Place::Media, &lines)
}

/// The first rule numbers the long segments; the one with the wanted number, and after it none in
/// four milliards, jumps to where its byte is set. The byte is the 100th of the payload: 32 bytes of
/// TCP header with time stamps, then 100, counted in bits. A frame on a veth holds a whole segment
/// of up to 64 KiB, which makes no difference.
fn flip_rules(nic: &str, hook: &str, after: u32) -> String {
    let chain = format!("{hook}_{nic}_{after}");
    format!(
        "table netdev {TABLE} {{
  chain {chain}_set {{
    @th,1056,8 < 128 @th,1056,8 set 255 return
    @th,1056,8 set 0
  }}
  chain {chain} {{
    type filter hook {hook} device \"{nic}\" priority -10; policy accept;
    meta l4proto tcp meta length > 1100 numgen inc mod 4294967295 {after} jump {chain}_set
  }}
}}
"
    )
}

fn nft(lab: &Lab, node: &str, rules: &str) -> Result<(), LabError> {
    lab.batch(Tool::Nft, &Place::Node(node.to_owned()), rules)
}

fn signal(lab: &Lab, node: &str, signal: Signal) -> Result<usize, LabError> {
    let processes = lab.processes(node)?;
    let reached = processes.iter().filter(|pid| identity::signal(**pid, signal).is_ok());
    Ok(reached.count())
}
