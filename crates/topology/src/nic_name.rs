//! Names of NICs in a cluster: `n2/eth0`.

use std::fmt;
use std::str::FromStr;

use garland_core::malformed::Malformed;
use serde::{Deserialize, Serialize};

use super::{NicId, Topology};

/// The name of a NIC in the cluster, written `n2/eth0`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NicName {
    /// The node's name.
    pub node: String,
    /// The device's name on the node.
    pub nic: String,
}

impl NicName {
    /// Returns the name of a NIC of a topology.
    pub fn from_topology(topology: &Topology, nic: NicId) -> Self {
        let nic = &topology.nics[nic];
        Self { node: topology.nodes[nic.node].name.clone(), nic: nic.name.clone() }
    }

    /// Finds the NIC with this name in a topology.
    pub fn find(&self, topology: &Topology) -> Option<NicId> {
        let node = topology.node(&self.node)?;
        let mut nics = topology.nics_of(node);
        nics.find(|(_, nic)| nic.name == self.nic).map(|(id, _)| id)
    }
}

impl fmt::Display for NicName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.node, self.nic)
    }
}

impl FromStr for NicName {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        match text.split_once('/') {
            Some((node, nic)) if !node.is_empty() && !nic.is_empty() => {
                Ok(Self { node: node.to_owned(), nic: nic.to_owned() })
            }
            _ => Err(Malformed::new(text, "the name of a NIC: write NODE/NIC, such as n2/eth0")),
        }
    }
}

impl TryFrom<String> for NicName {
    type Error = Malformed;

    fn try_from(text: String) -> Result<Self, Malformed> {
        text.parse()
    }
}

impl From<NicName> for String {
    fn from(name: NicName) -> Self {
        name.to_string()
    }
}
