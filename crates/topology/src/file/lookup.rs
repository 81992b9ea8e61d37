//! Finds nodes, media and NICs by their names.

use garland_core::form::{Alone, Text, expand_text};
use garland_core::nearest::{hint, nearest};

use super::error::Fault;
use crate::{MediumId, NicId, NodeId, Topology};

/// Finds the nodes of a node list; `file` is the text of the whole file.
pub(super) fn find_nodes(
    file: &str,
    topology: &Topology,
    names: &Text<'_>,
) -> Result<Vec<NodeId>, Fault> {
    let found = expand_text(file, names, &Alone("a topology file"))?;
    let known = || topology.nodes.iter().map(|node| node.name.as_str());
    found
        .into_iter()
        .map(|name| {
            topology
                .node(&name)
                .ok_or_else(|| unknown("node of this topology", name, names, known()))
        })
        .collect()
}

/// Finds the medium `name`.
pub(super) fn find_medium(topology: &Topology, name: &Text<'_>) -> Result<MediumId, Fault> {
    let mut known = topology.media.iter().map(|medium| medium.name.as_str());
    known.clone().position(|medium| medium == name.value).ok_or_else(|| {
        unknown("medium of this topology", name.value.to_owned(), name, known.by_ref())
    })
}

/// Returns the fault of an unknown name, with the nearest known one as a hint.
fn unknown<'a>(
    what: &str,
    name: String,
    text: &Text<'_>,
    known: impl Iterator<Item = &'a str>,
) -> Fault {
    let near = hint(nearest(&name, known));
    Fault::contents(text.span.clone(), format!("{name} is not the name of a {what}{near}"))
}

/// Finds the NIC `name` of `node`.
pub(super) fn nic(topology: &Topology, node: NodeId, name: &Text<'_>) -> Result<NicId, Fault> {
    let found = topology.nics_of(node).find(|(_, nic)| nic.name == name.value);
    let known = topology.nics_of(node).map(|(_, nic)| nic.name.as_str());
    let what = format!("NIC of {}", topology.nodes[node].name);
    found.map(|(id, _)| id).ok_or_else(|| unknown(&what, name.value.to_owned(), name, known))
}
