mod golden;
mod refusals;

use super::super::{NodeId, Topology};
use super::{ConfigFault, ConfigFile, Format, NicNames, NodeConfig};

/// Returns the files of `format` for a node.
fn files(
    topology: &Topology,
    node: NodeId,
    format: Format,
    names: &NicNames,
) -> Result<Vec<ConfigFile>, ConfigFault> {
    format.files(topology, &NodeConfig::for_node(topology, node, names)?)
}
