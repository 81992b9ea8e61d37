//! Checks media: their rates and cables, and that they connect all nodes.

use super::super::{MediumKind, Topology, Uplink};
use super::TopologyFault;
use garland_core::units::Rate;

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
        let name = || medium.name.clone();
        let backplane = match medium.kind {
            MediumKind::Switch { backplane } => backplane,
            MediumKind::Hub { .. } if medium.rate.is_none() => {
                return Err(TopologyFault::HubWithoutRate(name()));
            }
            MediumKind::Hub { .. } => None,
            MediumKind::Wire => match stations[id][..] {
                [a, b] if a == b => {
                    let node = topology.nodes[a].name.clone();
                    return Err(TopologyFault::WireToItself { wire: name(), node });
                }
                [_, _] => None,
                ref ends => {
                    return Err(TopologyFault::WireEnds { wire: name(), ends: ends.len() });
                }
            },
        };
        if zero(medium.rate) || zero(backplane) {
            return Err(TopologyFault::NoRate(name()));
        }
        if stations[id].is_empty() && !joined[id] {
            return Err(TopologyFault::Empty(name()));
        }
    }
    connected(topology)
}

fn check_uplink(topology: &Topology, uplink: &Uplink) -> Result<(), TopologyFault> {
    let (from, to) = (&topology.media[uplink.from], &topology.media[uplink.to]);
    let reason = if uplink.from == uplink.to {
        "both ends are the same medium; join two media"
    } else if !matches!(from.kind, MediumKind::Switch { .. }) {
        "only a switch has uplinks; exchange `from` and `to`, or make it a switch"
    } else if to.kind == MediumKind::Wire {
        "`to` is a wire, which has no port for it; make it a hub or a switch"
    } else if uplink.rate.is_some_and(|rate| rate.bits_per_second() == 0) {
        "its rate is 0; omit `rate` for that of the slower medium"
    } else {
        return Ok(());
    };
    Err(TopologyFault::Uplink { from: from.name.clone(), to: to.name.clone(), reason })
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
        Some(node) => Err(TopologyFault::Unconnected {
            node: topology.nodes[node].name.clone(),
            head: topology.nodes[0].name.clone(),
        }),
    }
}
