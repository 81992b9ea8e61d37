//! Reads the groups of a cluster file. Groups can contain other groups.

use std::collections::{BTreeMap, HashSet};

use super::error::{ClusterFileProblem, Fault};
use crate::cluster::inventory::Node;
use crate::cluster::nodelist::{Origin, SourceError, Sources};
use crate::form::{Section, Text, expand_text, text};
use crate::nearest::nearest;

/// Returns the members of each group by name. A member that is not one of `nodes` is an error.
pub(super) fn groups(
    file: &str,
    root: &Section<'_>,
    nodes: &[Node],
) -> Result<BTreeMap<String, Vec<String>>, Fault> {
    let Some((table, _)) = root.table_at("groups")? else {
        return Ok(BTreeMap::new());
    };
    let mut texts = BTreeMap::new();
    for (key, value) in table {
        let name = key.get_ref().as_ref();
        check_name(name).map_err(|problem| Fault::new(key.span(), problem))?;
        texts.insert(name, text(name.to_owned(), value)?);
    }
    let known: HashSet<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let sources = Siblings { texts: &texts, nodes };
    let mut groups = BTreeMap::new();
    for (name, text) in &texts {
        let members = expand_text(file, text, &sources)?;
        if let Some(unknown) = members.iter().find(|member| !known.contains(member.as_str())) {
            let near = nearest(unknown, nodes.iter().map(|node| node.name.as_str()));
            return Err(text.fault(ClusterFileProblem::UnknownMember {
                group: (*name).to_owned(),
                name: unknown.clone(),
                near: near.map(str::to_owned),
            }));
        }
        groups.insert((*name).to_owned(), members);
    }
    Ok(groups)
}

/// Refuses group names that cannot follow an `@` in a node list, and the names of built-in groups.
fn check_name(name: &str) -> Result<(), ClusterFileProblem> {
    let writable = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if name.is_empty() || !name.chars().all(writable) {
        return Err(ClusterFileProblem::GroupName(name.to_owned()));
    }
    if name == "all" || name == "slurm" {
        return Err(ClusterFileProblem::GroupReserved(name.to_owned()));
    }
    Ok(())
}

/// The sources of node lists in `[groups]`: the other groups, and `@all` for all nodes.
struct Siblings<'a> {
    texts: &'a BTreeMap<&'a str, Text<'a>>,
    nodes: &'a [Node],
}

impl Sources for Siblings<'_> {
    fn text(&self, of: &Origin) -> Result<Option<String>, SourceError> {
        match of {
            Origin::Group(name) if name == "all" => {
                let names: Vec<&str> = self.nodes.iter().map(|node| node.name.as_str()).collect();
                Ok(Some(names.join(",")))
            }
            Origin::Group(name) => {
                Ok(self.texts.get(name.as_str()).map(|text| text.value.to_owned()))
            }
            _ => Err(SourceError::Forbidden(
                "groups of a cluster file can only contain nodes and groups of that file",
            )),
        }
    }
}
