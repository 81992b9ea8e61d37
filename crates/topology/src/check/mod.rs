//! Checks a topology for faults that would otherwise be found later, or only in the real cluster.

mod addresses;
mod bonds;
mod fault;
mod media;
mod names;
mod routes;
#[cfg(test)]
mod tests;
mod ways;

pub use fault::{LONGEST_DEVICE, MOST_NODES, TopologyFault};

use super::{NicId, Topology};

impl Topology {
    /// Checks that the topology can be built, that packets arrive in both directions between the
    /// head and every node, and that they arrive wherever other nodes have routes.
    ///
    /// # Errors
    /// [`TopologyFault`] describes the first fault, and what to do.
    pub fn check(&self) -> Result<(), TopologyFault> {
        // Indices first, since the other checks use them.
        count(self)?;
        names::check(self)?;
        media::check(self)?;
        addresses::check(self)?;
        bonds::check(self)?;
        routes::check(self)?;
        ways::check(self)
    }

    /// Returns the name of a NIC in messages: `eth0 of n3`.
    pub fn nic_name(&self, nic: NicId) -> String {
        format!("{} of {}", self.nics[nic].name, self.nodes[self.nics[nic].node].name)
    }
}

/// Checks that there are 2 to [`MOST_NODES`] nodes, and that all indices are in range.
fn count(topology: &Topology) -> Result<(), TopologyFault> {
    let nodes = topology.nodes.len();
    let nics = topology.nics.len();
    let media = topology.media.len();
    match &topology.nodes[..] {
        [] => {
            let none = "the topology has no nodes: name at least two, the head first";
            return Err(TopologyFault::Nodes(none.to_owned()));
        }
        [node] => {
            let alone = "is the only node: a topology needs at least two";
            return Err(TopologyFault::Nodes(format!("node {} {alone}", node.name)));
        }
        _ if nodes > MOST_NODES => return Err(TopologyFault::too_many(nodes)),
        _ => {}
    }
    let within = |thing: String, what: &str, place, count| {
        if place < count {
            return Ok(());
        }
        Err(TopologyFault::Structure(format!(
            "{thing} refers to {what} {place}, but the topology has only {count}; they are numbered from 0"
        )))
    };
    for nic in &topology.nics {
        within(format!("NIC {}", nic.name), "node", nic.node, nodes)?;
        within(format!("NIC {}", nic.name), "medium", nic.medium, media)?;
    }
    for uplink in &topology.uplinks {
        within("an uplink".to_owned(), "medium", uplink.from, media)?;
        within("an uplink".to_owned(), "medium", uplink.to, media)?;
    }
    for bond in &topology.bonds {
        within(format!("bond {}", bond.name), "node", bond.node, nodes)?;
        for nic in &bond.nics {
            within(format!("bond {}", bond.name), "NIC", *nic, nics)?;
        }
    }
    for route in &topology.routes {
        within(format!("the route to {}", route.to), "node", route.node, nodes)?;
        for hop in &route.hops {
            within(format!("the route to {}", route.to), "NIC", hop.nic, nics)?;
        }
    }
    Ok(())
}
