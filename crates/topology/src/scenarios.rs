//! Finds topologies by name: those of the built-in scenarios, and of files.

use garland_core::command_error::CommandError;
use garland_sys::error::reason;
use serde::Deserialize;
use thiserror::Error;

use crate::Topology;
use crate::file::{TopologyFileError, parse};

/// The built-in scenarios by name: the files in `scenarios/`.
pub const OWN: [(&str, &str); 21] = [
    ("dolly-2005", include_str!("../../../scenarios/dolly-2005.toml")),
    ("openmosix-2004", include_str!("../../../scenarios/openmosix-2004.toml")),
    ("openmosix-copy-2004", include_str!("../../../scenarios/openmosix-copy-2004.toml")),
    ("beowulf-1996", include_str!("../../../scenarios/beowulf-1996.toml")),
    ("beowulf-pairs-1996", include_str!("../../../scenarios/beowulf-pairs-1996.toml")),
    ("placements", include_str!("../../../scenarios/placements.toml")),
    ("migration", include_str!("../../../scenarios/migration.toml")),
    ("fifteen-of-24", include_str!("../../../scenarios/fifteen-of-24.toml")),
    ("elan4-2005", include_str!("../../../scenarios/elan4-2005.toml")),
    ("pvfs2-cp-2007", include_str!("../../../scenarios/pvfs2-cp-2007.toml")),
    ("hub10", include_str!("../../../scenarios/hub10.toml")),
    ("switch100", include_str!("../../../scenarios/switch100.toml")),
    ("p2p-star", include_str!("../../../scenarios/p2p-star.toml")),
    ("p2p-16", include_str!("../../../scenarios/p2p-16.toml")),
    ("p2p-joined", include_str!("../../../scenarios/p2p-joined.toml")),
    ("bonded-dual-net", include_str!("../../../scenarios/bonded-dual-net.toml")),
    ("routed-mesh", include_str!("../../../scenarios/routed-mesh.toml")),
    ("routed-mesh-two-routes", include_str!("../../../scenarios/routed-mesh-two-routes.toml")),
    ("switched-mesh", include_str!("../../../scenarios/switched-mesh.toml")),
    ("switched-mesh-two-routes", include_str!("../../../scenarios/switched-mesh-two-routes.toml")),
    ("leaf-spine-100gbit", include_str!("../../../scenarios/leaf-spine-100gbit.toml")),
];

/// Why a topology cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LoadError {
    /// There is no scenario of this name, and no file that can be read.
    #[error("cannot read the topology {name}: {reason}")]
    Unread {
        /// The name.
        name: String,
        /// Why the file cannot be read.
        reason: String,
    },
    /// The scenario compares topologies.
    #[error("{name} compares several topologies and has none of its own")]
    Several {
        /// The name.
        name: String,
        /// The names of its topologies.
        topologies: Vec<String>,
    },
    /// The file is invalid.
    #[error(transparent)]
    Invalid(#[from] TopologyFileError),
}

impl CommandError for LoadError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Unread { name, .. } if !is_file(name) => {
                Some("specify a file, or a scenario from `garland scenario list`".to_owned())
            }
            Self::Several { topologies, .. } => Some(format!("they are {}", topologies.join(", "))),
            Self::Unread { .. } | Self::Invalid(_) => None,
        }
    }
}

/// Loads the topology of a built-in scenario or of a file. A name that contains `/` or ends in
/// `.toml` is that of a file.
///
/// # Errors
/// When there is no such file, or it does not define exactly one topology.
pub fn load(name: &str) -> Result<Topology, LoadError> {
    if let Some(known) = text(name).filter(|_| !is_file(name)) {
        return only(known, name);
    }
    let text = std::fs::read_to_string(name)
        .map_err(|error| LoadError::Unread { name: name.to_owned(), reason: reason(&error) })?;
    only(&text, name)
}

/// Returns the topologies of a built-in scenario: its own, or those that it compares. Empty if
/// there is no such scenario.
pub fn all_of(name: &str) -> Vec<Topology> {
    let named = text(name).and_then(list_topologies).unwrap_or_else(|| vec![name.to_owned()]);
    named.iter().filter_map(|name| load(name).ok()).collect()
}

/// Whether a name is certainly that of a file: it contains `/` or ends in `.toml`.
pub fn is_file(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml")
}

/// Parses the text of a file that must define exactly one topology.
fn only(text: &str, name: &str) -> Result<Topology, LoadError> {
    if let Some(topologies) = list_topologies(text) {
        return Err(LoadError::Several { name: name.to_owned(), topologies });
    }
    Ok(parse(text, name)?.topology)
}

/// Returns the text of a built-in scenario.
pub fn text(name: &str) -> Option<&'static str> {
    OWN.iter().find(|(own, _)| *own == name).map(|(_, text)| *text)
}

/// Returns the names of the topologies that a scenario compares; `None` if it defines its own.
pub fn list_topologies(text: &str) -> Option<Vec<String>> {
    #[derive(Deserialize)]
    struct Named {
        topologies: Vec<String>,
    }
    toml::from_str(text).ok().map(|named: Named| named.topologies)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::max_min;

    #[test]
    fn a_chain_along_the_racks_of_a_narrow_leaf_spine_has_the_rate_of_a_nic() {
        let topology = load("leaf-spine-100gbit").expect("it is built in");
        let gbits = |flows: &[(usize, usize)]| -> Vec<f64> {
            max_min(&topology, flows).iter().map(|rate| (rate / 1e8).round() / 10.0).collect()
        };
        let chain: Vec<_> = (0..63).map(|node| (node, node + 1)).collect();
        assert_eq!(gbits(&chain), [94.1; 63]);
        // Sixteen nodes of a rack share its four uplinks, and 63 receivers the head's NIC.
        let across: Vec<_> = (0..32).map(|node| (node, node + 32)).collect();
        assert_eq!(gbits(&across), [23.5; 32]);
        let star: Vec<_> = (1..64).map(|node| (0, node)).collect();
        assert_eq!(gbits(&star), [1.5; 63]);
    }

    #[test]
    fn what_cannot_be_loaded_is_told_with_what_can() {
        let told = |name: &str| {
            let error = load(name).expect_err("there is no one topology");
            (error.to_string(), error.hint())
        };
        let missing = "no such file or directory";
        let list = "specify a file, or a scenario from `garland scenario list`";
        for (name, hint) in [("hub11", Some(list.to_owned())), ("no/hub11.toml", None)] {
            assert_eq!(told(name), (format!("cannot read the topology {name}: {missing}"), hint));
        }
        let name = "openmosix-copy-2004";
        let (message, hint) = told(name);
        assert_eq!(message, format!("{name} compares several topologies and has none of its own"));
        assert!(hint.is_some_and(|hint| hint.starts_with("they are hub10, ")));
    }
}
