//! Fault injection for tests: cut wires, changed bytes, stopped and killed nodes.

use garland_sys::identity::{self, Signal};
use serde::{Deserialize, Serialize};

use crate::step::Place;
use crate::tool::Tool;
use crate::{Lab, LabError, device};

/// The nftables table of the rules of [`flip`].
const TABLE: &str = "garland_flips";

/// A direction on a node's link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkDirection {
    /// From the medium to the node.
    In,
    /// From the node to the medium.
    Out,
}

/// Cuts all wires of a node in both directions. Its NICs keep their carrier; all frames from and to
/// it are dropped at the port of the medium.
pub fn cut(lab: &Lab, node: &str) -> Result<(), LabError> {
    port_state(lab, node, None, PORT_LISTENING)
}

/// Cuts the wire of one NIC of a node, as [`cut`] does.
pub fn cut_nic(lab: &Lab, node: &str, nic: &str) -> Result<(), LabError> {
    port_state(lab, node, Some(nic), PORT_LISTENING)
}

/// Reconnects all wires of a node that [`cut`] and [`cut_nic`] have cut.
pub fn restore(lab: &Lab, node: &str) -> Result<(), LabError> {
    port_state(lab, node, None, PORT_FORWARDING)
}

/// Changes one byte of TCP payload on each NIC of a node, in direction `way`: in the `after`-th
/// segment from now (counting from 0) that is longer than 1100 bytes. The TCP checksum does not
/// detect the change, since veth devices carry no checksums. A faulty NIC or switch can have the
/// same effect on a real network.
///
/// The byte is set to 255 if it was below 128, and to 0 otherwise, so it always changes. The rules
/// need nftables and apply at the node's NIC, since frames that were queued by a hub or a backplane
/// pass no hook at the ports.
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

/// Removes the rules of all calls of [`flip`] in a lab, including those that have not changed a
/// byte yet.
pub fn clear_flips(lab: &Lab) -> Result<(), LabError> {
    let rules = format!("table netdev {TABLE}\ndelete table netdev {TABLE}\n");
    lab.nodes().try_for_each(|node| nft(lab, node, &rules))
}

/// Kills all processes on a node (SIGKILL), as if its power failed. Returns the number of
/// processes.
pub fn kill(lab: &Lab, node: &str) -> Result<usize, LabError> {
    signal(lab, node, Signal::KILL)
}

/// Stops all processes on a node (SIGSTOP); their connections stay open. Returns the number of
/// processes.
pub fn stop(lab: &Lab, node: &str) -> Result<usize, LabError> {
    signal(lab, node, Signal::STOP)
}

/// Continues the processes that [`stop`] stopped (SIGCONT). Returns the number of processes.
pub fn resume(lab: &Lab, node: &str) -> Result<usize, LabError> {
    signal(lab, node, Signal::CONT)
}

/// The state of a bridge port that forwards nothing: "listening" in linux/if_bridge.h. The states
/// "disabled" and "blocking" cannot be used: the kernel sets such a port to forwarding again while
/// it has a carrier and no spanning tree forbids it.
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

/// Returns the nftables rules for [`flip`]. The rule of the second chain counts the long segments
/// modulo 2^32 - 1, so only one segment jumps to the first chain, which sets the byte. The byte is
/// byte 90 of the payload, after 32 bytes of TCP header with time stamps. If a frame of a data link
/// begins with the payload, the byte is in the frame's MAC. A segment on a veth device can have up
/// to 64 KiB, which makes no difference.
fn flip_rules(nic: &str, hook: &str, after: u32) -> String {
    let chain = format!("{hook}_{nic}_{after}");
    format!(
        "table netdev {TABLE} {{
  chain {chain}_set {{
    @th,976,8 < 128 @th,976,8 set 255 return
    @th,976,8 set 0
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
