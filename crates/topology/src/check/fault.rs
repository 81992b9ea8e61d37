use thiserror::Error;

use super::super::{NicId, Topology};

/// The maximum number of nodes, including the head. A Linux bridge has 1023 ports.
pub const MOST_NODES: usize = 1001;

/// The maximum length of the name of a network device in bytes (`IFNAMSIZ` without the final NUL).
pub const LONGEST_DEVICE: usize = 15;

/// A fault of a topology; the variant says which part of the description is wrong. Nodes and
/// devices are named as in the topology: `n3`, `eth0 of n3`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TopologyFault {
    /// A fault in the number of nodes, or in the names of nodes or devices.
    #[error("{0}")]
    Nodes(String),
    /// A fault in the rate of a medium.
    #[error("{0}")]
    Rate(String),
    /// A fault in cables, addresses, bonds or routes.
    #[error("{0}")]
    Structure(String),
}

impl TopologyFault {
    /// Returns the fault of a topology with more than [`MOST_NODES`] nodes.
    pub(crate) fn too_many(nodes: usize) -> Self {
        Self::Nodes(format!(
            "{nodes} nodes: a topology has at most {MOST_NODES} with the head, since a Linux bridge has 1023 ports; use fewer nodes"
        ))
    }

    /// Returns a fault of a NIC; `reason` says what is wrong and what to do.
    pub(super) fn of_nic(topology: &Topology, nic: NicId, reason: &str) -> Self {
        Self::Structure(format!("{}: {reason}", topology.nic_name(nic)))
    }
}
