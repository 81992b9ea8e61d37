//! The groups of the file, which may be made of each other.

use std::collections::{BTreeMap, HashSet};

use super::error::{ClusterFileProblem, Fault};
use crate::cluster::inventory::Node;
use crate::cluster::nodelist::Sources;
use crate::form::{Section, Text, expand_text, text};
use crate::nearest::nearest;

/// Reads all groups of the file; every member must be one of its nodes.
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
        if let Some(stranger) = members.iter().find(|member| !known.contains(member.as_str())) {
            let problem = ClusterFileProblem::UnknownMember {
                group: (*name).to_owned(),
                name: stranger.clone(),
                near: nearest(stranger, nodes.iter().map(|node| node.name.as_str()))
                    .map(str::to_owned),
            };
            return Err(Fault::new(text.span.clone(), problem));
        }
        groups.insert((*name).to_owned(), members);
    }
    Ok(groups)
}

/// Only what can stand behind an `@` in a node list.
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

/// What a group may refer to: the other groups, and all nodes.
struct Siblings<'a> {
    texts: &'a BTreeMap<&'a str, Text<'a>>,
    nodes: &'a [Node],
}

impl Sources for Siblings<'_> {
    fn file(&self, _path: &str) -> Result<String, String> {
        Err("a cluster file's groups are made of its nodes".into())
    }

    fn group(&self, name: &str) -> Result<Option<String>, String> {
        if name == "all" {
            let names: Vec<&str> = self.nodes.iter().map(|node| node.name.as_str()).collect();
            return Ok(Some(names.join(",")));
        }
        Ok(self.texts.get(name).map(|text| text.value.to_owned()))
    }

    fn slurm(&self) -> Result<Option<String>, String> {
        Err("a cluster file's groups are made of its nodes".into())
    }
}
