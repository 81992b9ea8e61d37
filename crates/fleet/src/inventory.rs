//! Resolves node lists to nodes, with the cluster file, its groups, and the Slurm allocation.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use garland_core::cluster::nodelist::{
    self, NodeListError, NodeListProblem, Origin, SourceError, Sources,
};
use garland_core::cluster::{Cluster, Node};
use garland_core::nearest::nearest;
use garland_core::printable;
use garland_lab::Lab;
use garland_sys::error::reason;
use garland_terminal::failure::{Failure, OrFailure};
use garland_terminal::output;

use crate::context::Context;
use crate::here;

/// Resolves node lists with the cluster file, if there is one.
#[derive(Debug)]
pub struct Inventory {
    cluster: Option<Cluster>,
    /// The path of the cluster file; empty without one.
    path: PathBuf,
}

impl Inventory {
    /// Reads the cluster file that the user names, or else the first default file that exists. A
    /// file in the working directory must belong to the user, and its ssh options must run no
    /// program here.
    pub fn open(context: &Context) -> Result<Self, Failure> {
        let find_usual = || {
            let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
            let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".config"));
            let config = config.or_else(home).map(|dir| dir.join("garland/cluster.toml"));
            config.filter(|path| path.exists())
        };
        let here = Path::new("cluster.toml");
        let usual = find_usual();
        let cluster = match (&context.cluster, &usual) {
            (Some(named), _) => Some(read_cluster(named)?),
            (None, _) if here.exists() => Some(here::read(here)?),
            (None, usual) => usual.as_deref().map(read_cluster).transpose()?,
        };
        let path = match &context.cluster {
            Some(named) => named.clone(),
            None if here.exists() => here.to_owned(),
            None => usual.unwrap_or_default(),
        };
        Ok(Self { cluster, path })
    }

    /// Returns the cluster of the cluster file; none without a file.
    pub fn cluster(&self) -> Option<&Cluster> {
        self.cluster.as_ref()
    }

    /// Returns the path of the cluster file; empty without one.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Resolves a node list. Returns the nodes in the list's order. A node that the cluster file
    /// lacks is one that only ssh knows; a note says so, since the name may be mistyped.
    pub fn nodes(&self, list: &str) -> Result<Vec<Node>, Failure> {
        let names = nodelist::expand(list, self).map_err(|error| self.refused(&error))?;
        let Some(cluster) = &self.cluster else {
            return Ok(names.iter().map(|name| Node::named(name)).collect());
        };
        let known: HashMap<&str, &Node> =
            cluster.nodes.iter().map(|node| (node.name.as_str(), node)).collect();
        let is_elsewhere = |name: &str| is_local(name) || name.starts_with(LAB_PREFIX);
        let unlisted = names.iter().map(String::as_str);
        let unlisted = unlisted.filter(|name| !known.contains_key(name) && !is_elsewhere(name));
        let unlisted: Vec<&str> = unlisted.collect();
        if !unlisted.is_empty() {
            let are = if unlisted.len() == 1 { "is" } else { "are" };
            output::warn(format!(
                "note: {} {are} not in {}, and reached as ssh knows the name\n",
                nodelist::fold(&unlisted),
                printable::path(&self.path)
            ));
        }
        let node = |name: &String| match known.get(name.as_str()) {
            Some(&node) => node.clone(),
            None => Node::named(name),
        };
        Ok(names.iter().map(node).collect())
    }

    /// Returns the failure for a node list that cannot be resolved.
    fn refused(&self, error: &NodeListError) -> Failure {
        let failure = Failure::usage(format!("{error}\n{}", error.place.caret()));
        let group = match &error.problem {
            NodeListProblem::UnknownGroup(group) => group,
            NodeListProblem::Source { what: Origin::Group(_), .. } if self.cluster.is_none() => {
                return failure.hint(NO_CLUSTER_FILE);
            }
            _ => return failure,
        };
        let shown = printable::path(&self.path);
        let groups = self.cluster.iter().flat_map(|cluster| cluster.groups.keys());
        let groups: Vec<&str> = groups.map(String::as_str).collect();
        match nearest(group, groups.iter().copied()) {
            Some(near) => failure.hint(format!("did you mean @{near}, a group of {shown}?")),
            None if groups.is_empty() => failure.hint(format!("{shown} has no [groups]")),
            None => failure.hint(format!("the groups of {shown}: @{}", groups.join(", @"))),
        }
    }
}

/// Returns a text with the path of the cluster file, where it names this file. The path is empty if
/// there is none.
pub fn with_path(text: &str, path: &Path) -> String {
    const FILE: &str = "the cluster file";
    match path.as_os_str().is_empty() {
        true => text.to_owned(),
        false => text.replace(FILE, &format!("{FILE} {}", printable::path(path))),
    }
}

/// Where a cluster file is looked for.
pub const NO_CLUSTER_FILE: &str = "a cluster file is ./cluster.toml, ~/.config/garland/cluster.toml, or \
    that of --cluster; `garland man cluster.toml` describes it";

/// The prefix of lab nodes' names.
pub const LAB_PREFIX: &str = "lab:";

/// Returns whether a name is that of a local node: `local` and a number.
pub fn is_local(name: &str) -> bool {
    name.strip_prefix("local")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns the name of a node's rack, if known: that of the cluster file; in a lab, the medium to
/// which the node's first NIC is connected.
pub fn rack(node: &Node, lab: Option<&Lab>) -> Option<String> {
    if let Some(rack) = &node.rack {
        return Some(rack.clone());
    }
    let topology = &lab?.spec().topology;
    let place = topology.node(node.name.strip_prefix(LAB_PREFIX)?)?;
    let nic = topology.nics.iter().find(|nic| nic.node == place)?;
    Some(topology.media[nic.medium].name.clone())
}

impl Sources for Inventory {
    fn text(&self, of: &Origin) -> Result<Option<String>, SourceError> {
        match (of, &self.cluster) {
            (Origin::File(path), _) => std::fs::read_to_string(path)
                .map(Some)
                .map_err(|error| SourceError::Unreadable(reason(&error))),
            (Origin::Group(name), Some(cluster)) => Ok(cluster.group_list(name)),
            (Origin::Group(_), None) => Err(SourceError::Forbidden(
                "groups are defined in the cluster file, but there is no cluster file",
            )),
            (Origin::Given | Origin::Slurm, _) => Ok(std::env::var("SLURM_JOB_NODELIST").ok()),
        }
    }
}

fn read_cluster(path: &Path) -> Result<Cluster, Failure> {
    let text = std::fs::read_to_string(path)
        .or_nothing(format!("cannot read {}", printable::path(path)))?;
    Cluster::parse(&text, &printable::path(path)).map_err(Failure::usage)
}
