use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::nodelist::fold;
use crate::nearest::hint;
use crate::nearest::nearest;

/// How many nodes are logged in to at once, when the cluster file doesn't say: pdsh and clush take
/// 32 and 64, and the head's processes, not the nodes, are what limits it.
pub const DEFAULT_FANOUT: u32 = 64;

/// A cluster: its nodes in order, their groups, and how they are reached.
///
/// It comes from a [cluster file](super::file), or, where nothing but names is known, from
/// [`from_names`](Self::from_names).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    /// What people call it.
    pub name: String,
    /// The nodes, each name once, in the order of the file.
    pub nodes: Vec<Node>,
    /// Groups by name, each with its members in order; every member is one of the nodes.
    pub groups: BTreeMap<String, Vec<String>>,
    /// How agents get onto the nodes.
    pub launcher: Launcher,
    /// What the ssh launcher needs to know.
    pub ssh: Ssh,
}

/// One machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its name, as in node lists and verdicts.
    pub name: String,
    /// What the launcher logs in to: a host name or an address, perhaps with `user@` before it.
    pub host: String,
    /// Where its data goes to, one host name or address for each rail; never empty.
    pub addresses: Vec<String>,
    /// The rack it stands in.
    pub rack: Option<String>,
    /// The TCP port its agent listens on, for firewalls; the kernel picks a free one when there is
    /// none.
    pub port: Option<u16>,
}

/// How agents get onto the nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Launcher {
    /// The user's own ssh.
    #[default]
    Ssh,
    /// `srun` inside of an allocation.
    Slurm,
    /// Processes of this machine.
    Local,
}

/// What the ssh launcher needs to know; the user's own ssh configuration holds besides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ssh {
    /// The user to log in as.
    pub user: Option<String>,
    /// Arguments for `ssh`, before the host.
    pub options: Vec<String>,
    /// The path on the nodes where the binary is to be found or put.
    pub binary: Option<String>,
    /// SHA-256 digests, in hexadecimal, of other programs that may be there, such as those for
    /// nodes with another processor.
    #[serde(default)]
    pub sha256: Vec<String>,
    /// How many nodes are logged in to at once.
    pub fanout: u32,
}

/// A name that no node of the cluster has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{name} is no node of cluster {cluster}, which has {nodes}{}", hint(near.as_deref()))]
pub struct UnknownNode {
    /// The unknown name.
    pub name: String,
    /// The cluster.
    pub cluster: String,
    /// Its nodes, folded, and cut when they are many.
    pub nodes: String,
    /// The node that was perhaps meant.
    pub near: Option<String>,
}

impl Cluster {
    /// A cluster of which nothing is known but the names of its nodes; they must be distinct, as
    /// [`expand`](super::nodelist::expand) gives them.
    #[must_use]
    pub fn from_names(name: &str, names: &[String]) -> Self {
        Self {
            name: name.to_owned(),
            nodes: names.iter().map(|name| Node::named(name)).collect(),
            groups: BTreeMap::new(),
            launcher: Launcher::default(),
            ssh: Ssh::default(),
        }
    }

    /// The node of this name.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.name == name)
    }

    /// The nodes of these names, in the order of the names.
    ///
    /// # Errors
    /// [`UnknownNode`] for the first name that no node has.
    pub fn select<S: AsRef<str>>(&self, names: &[S]) -> Result<Vec<&Node>, UnknownNode> {
        let by_name: HashMap<&str, &Node> =
            self.nodes.iter().map(|node| (node.name.as_str(), node)).collect();
        let find = |name: &S| {
            by_name.get(name.as_ref()).copied().ok_or_else(|| self.unknown(name.as_ref()))
        };
        names.iter().map(find).collect()
    }

    /// The node list of a group, as [`Sources::group`](super::nodelist::Sources::group) wants it;
    /// `all` is every node.
    #[must_use]
    pub fn group_list(&self, group: &str) -> Option<String> {
        if group == "all" {
            let names: Vec<&str> = self.nodes.iter().map(|node| node.name.as_str()).collect();
            return Some(names.join(","));
        }
        self.groups.get(group).map(|names| names.join(","))
    }

    /// How many rails all of its nodes have.
    #[must_use]
    pub fn rails(&self) -> usize {
        self.nodes.iter().map(|node| node.addresses.len()).min().unwrap_or(0)
    }

    fn unknown(&self, name: &str) -> UnknownNode {
        const LONGEST: usize = 80;
        let names: Vec<&str> = self.nodes.iter().map(|node| node.name.as_str()).collect();
        let mut nodes = fold(&names);
        if let Some((end, _)) = nodes.char_indices().nth(LONGEST) {
            nodes.truncate(end);
            nodes.push('…');
        }
        UnknownNode {
            name: name.to_owned(),
            cluster: self.name.clone(),
            nodes,
            near: nearest(name, names).map(str::to_owned),
        }
    }
}

impl Node {
    /// A node of which nothing is known but its name: it is reached under that name, and so is its
    /// data. A `user@` before the name is for the login only.
    #[must_use]
    pub fn named(name: &str) -> Self {
        let address = name.rsplit_once('@').map_or(name, |(_, address)| address);
        Self {
            name: name.to_owned(),
            host: name.to_owned(),
            addresses: vec![address.to_owned()],
            rack: None,
            port: None,
        }
    }
}

impl Default for Ssh {
    fn default() -> Self {
        let (options, sha256) = (Vec::new(), Vec::new());
        Self { user: None, options, binary: None, sha256, fanout: DEFAULT_FANOUT }
    }
}

impl Launcher {
    /// All of them, by the names that cluster files use.
    pub const ALL: [(&'static str, Self); 3] =
        [("ssh", Self::Ssh), ("slurm", Self::Slurm), ("local", Self::Local)];
}

impl fmt::Display for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ssh => "ssh",
            Self::Slurm => "slurm",
            Self::Local => "local",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twenty() -> Cluster {
        let names: Vec<String> = (1..=20).map(|n| format!("n{n:02}")).collect();
        Cluster::from_names("den", &names)
    }

    #[test]
    fn selects_in_the_order_asked_for() {
        let cluster = twenty();
        let picked = cluster.select(&["n07", "n03"]).expect("both exist");
        assert_eq!(
            picked.iter().map(|node| node.host.as_str()).collect::<Vec<_>>(),
            ["n07", "n03"]
        );
        assert_eq!(
            cluster.node("n20").map(|node| node.addresses.clone()),
            Some(vec!["n20".to_owned()])
        );
        assert_eq!((cluster.node("n21"), cluster.rails()), (None, 1));
        assert_eq!(cluster.group_list("all").map(|list| list.len()), Some(79));
    }

    #[test]
    fn names_the_node_that_is_unknown() {
        let error = twenty().select(&["n07", "n021"]).expect_err("no such node");
        insta::assert_snapshot!(error, @"n021 is no node of cluster den, which has n[01-20] (did you mean n02?)");
    }

    #[test]
    fn a_user_is_for_the_login_only() {
        let node = Node::named("root@n1");
        assert_eq!((node.host.as_str(), node.addresses[0].as_str()), ("root@n1", "n1"));
    }

    #[test]
    fn launchers_are_printed_as_files_name_them() {
        for (name, launcher) in Launcher::ALL {
            assert_eq!(launcher.to_string(), name);
            assert_eq!(serde_json::to_string(&launcher).expect("a word"), format!("{name:?}"));
        }
    }
}
