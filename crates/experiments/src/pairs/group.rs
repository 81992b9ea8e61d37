//! Groups of pairs of nodes, by the kind of wire between the nodes of a pair.

use garland_terminal::failure::Failure;
use garland_topology::{NodeId, Topology};
use serde::{Deserialize, Serialize};

use crate::sections::{are_rated, place, refuse};

/// A group of pairs whose nodes are connected by one kind of wire.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// The kind of wire.
    pub name: Wire,
    /// The sender and the receiver of each pair; a copy of n pairs uses the first n.
    pub pairs: Vec<[String; 2]>,
}

impl Group {
    /// Checks that each group has at least `most` pairs, that no node is in two pairs of a group,
    /// that all nodes exist and are connected by wires with rates, and that at least one group fits
    /// each topology.
    pub fn check_all(groups: &[Self], most: usize, topologies: &[Topology]) -> Result<(), Failure> {
        for Self { name, pairs } in groups {
            let wire = name.name();
            if pairs.len() < most {
                return refuse(format!(
                    "{most} pairs are needed, but the group of {wire} wire has {}",
                    pairs.len()
                ));
            }
            let mut nodes: Vec<&String> = pairs.iter().flatten().collect();
            nodes.sort_unstable();
            if let Some(twice) = nodes.windows(2).find(|two| two[0] == two[1]) {
                return refuse(format!("{wire} wire: {} is in two pairs", twice[0]));
            }
        }
        for topology in topologies {
            let mut fits = false;
            for group in groups {
                let flows = group.flows(topology)?;
                fits |= group.fits(topology, &flows);
                if !are_rated(topology, &flows) {
                    let name = &topology.name;
                    return refuse(format!(
                        "in {name}, some pairs are not connected by wires with a rate: set `rate` for all media"
                    ));
                }
            }
            if !fits {
                return refuse(format!(
                    "no group of pairs is connected by its kind of wire in {}",
                    topology.name
                ));
            }
        }
        Ok(())
    }

    /// Returns the group with every pair the other way.
    pub fn reversed(&self) -> Self {
        let pairs = self.pairs.iter().map(|[from, to]| [to.clone(), from.clone()]);
        Self { name: self.name, pairs: pairs.collect() }
    }

    /// Returns the sender and the receiver of each pair in a topology.
    pub fn flows(&self, topology: &Topology) -> Result<Vec<(NodeId, NodeId)>, Failure> {
        let flow = |[from, to]: &[String; 2]| Ok((place(topology, from)?, place(topology, to)?));
        self.pairs.iter().map(flow).collect()
    }

    /// Returns whether the wires of all `flows` in the topology are of the group's kind.
    pub fn fits(&self, topology: &Topology, flows: &[(NodeId, NodeId)]) -> bool {
        flows.iter().all(|&(from, to)| Wire::between(topology, from, to) == self.name)
    }
}

/// The kind of wire between the nodes of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Wire {
    /// Both nodes are on one medium.
    Local,
    /// Other nodes or switches forward packets.
    Remote,
}

impl Wire {
    /// Returns the kind of wire between two nodes.
    fn between(topology: &Topology, one: NodeId, other: NodeId) -> Self {
        if topology.medium_between(one, other).is_some() { Self::Local } else { Self::Remote }
    }

    /// Returns the name for tables: `local` or `remote`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Remote => "remote",
        }
    }
}
