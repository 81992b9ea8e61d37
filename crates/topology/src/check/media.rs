//! Checks media: their rates and cables, and that they connect all nodes.

use garland_core::units::Rate;

use super::super::{MediumKind, Topology, Uplink};
use super::TopologyFault;

pub(super) fn check(topology: &Topology) -> Result<(), TopologyFault> {
    let mut stations = vec![Vec::new(); topology.media.len()];
    for nic in &topology.nics {
        stations[nic.medium].push(nic.node);
    }
    let mut joined = vec![false; topology.media.len()];
    for uplink in &topology.uplinks {
        check_uplink(topology, uplink)?;
        (joined[uplink.from], joined[uplink.to]) = (true, true);
    }
    let zero = |rate: Option<Rate>| rate.is_some_and(|rate| rate.bits_per_second() == 0);
    for (id, medium) in topology.media.iter().enumerate() {
        let name = &medium.name;
        let backplane = match medium.kind {
            MediumKind::Switch { backplane } => backplane,
            MediumKind::Hub { .. } if medium.rate.is_none() => {
                return Err(TopologyFault::Rate(format!(
                    "medium {name} is a hub without a rate; a hub needs one, since all its stations share it: set `rate`, for instance to 10mbit"
                )));
            }
            MediumKind::Hub { .. } => None,
            MediumKind::Wire => match stations[id][..] {
                [a, b] if a == b => {
                    let node = &topology.nodes[a].name;
                    return Err(TopologyFault::Structure(format!(
                        "wire {name} leads from {node} to itself: plug one end into another node"
                    )));
                }
                [_, _] => None,
                ref ends => {
                    let ends = ends.len();
                    return Err(TopologyFault::Structure(format!(
                        "wire {name} needs exactly two NICs, but has {ends}"
                    )));
                }
            },
        };
        if zero(medium.rate) || zero(backplane) {
            return Err(TopologyFault::Rate(format!(
                "medium {name} has the rate 0, which passes no packets: set another rate, or omit `rate` for no limit"
            )));
        }
        if stations[id].is_empty() && !joined[id] {
            return Err(TopologyFault::Structure(format!(
                "medium {name} connects nothing: plug NICs into it, or remove it"
            )));
        }
    }
    connected(topology)
}

fn check_uplink(topology: &Topology, uplink: &Uplink) -> Result<(), TopologyFault> {
    let from = &topology.media[uplink.from];
    let to = &topology.media[uplink.to];
    let reason = if uplink.from == uplink.to {
        "both ends are the same medium; name two different media"
    } else if !matches!(from.kind, MediumKind::Switch { .. }) {
        "only a switch has uplinks; exchange `from` and `to`, or make `from` a switch"
    } else if to.kind == MediumKind::Wire {
        "`to` is a wire, which has no ports for uplinks; make `to` a hub or a switch"
    } else if uplink.rate.is_some_and(|rate| rate.bits_per_second() == 0) {
        "its rate is 0; omit `rate` to use the rate of the slower medium"
    } else {
        return Ok(());
    };
    let from = &from.name;
    let to = &to.name;
    Err(TopologyFault::Structure(format!(
        "the uplink from {from} to {to} is not possible: {reason}"
    )))
}

/// Checks that cables lead from the head to every node, over any media and other nodes.
fn connected(topology: &Topology) -> Result<(), TopologyFault> {
    let segments = topology.segments();
    let mut on = vec![Vec::new(); topology.media.len()];
    let mut plugged = vec![Vec::new(); topology.nodes.len()];
    for nic in &topology.nics {
        on[segments[nic.medium]].push(nic.node);
        plugged[nic.node].push(segments[nic.medium]);
    }
    let mut reached = vec![false; topology.nodes.len()];
    reached[0] = true;
    let mut open = vec![0];
    while let Some(node) = open.pop() {
        for segment in std::mem::take(&mut plugged[node]) {
            for next in std::mem::take(&mut on[segment]) {
                if !std::mem::replace(&mut reached[next], true) {
                    open.push(next);
                }
            }
        }
    }
    match reached.iter().position(|reached| !reached) {
        None => Ok(()),
        Some(node) => {
            let [head, node] = [0, node].map(|node| &topology.nodes[node].name);
            Err(TopologyFault::Structure(format!(
                "node {node} is not connected to {head}: no path of media and other nodes leads there; add a cable"
            )))
        }
    }
}
