use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::listen::Listening;
use super::nodelist::fold;
use crate::nearest::{hint, nearest};
use crate::units::{Nanos, UnitError};

/// The default number of concurrent logins. pdsh and clush use 32 and 64. Each login needs a
/// process on the head, which limits the number.
pub const DEFAULT_FANOUT: u32 = 64;

/// A cluster: its nodes in order, their groups, and the launcher that reaches them.
/// [`parse`](Self::parse) reads it from a [cluster file](super::file).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    /// The cluster's name.
    pub name: String,
    /// The nodes with distinct names, in the order of the file.
    pub nodes: Vec<Node>,
    /// The members of each group in order, by group name; every member is the name of a node.
    pub groups: BTreeMap<String, Vec<String>>,
    /// The way in which agents are started on the nodes, if the file sets it.
    pub launcher: Option<Launcher>,
    /// The silence after which a copy gives a node up; `None` for the default.
    pub dead_after: Option<Nanos>,
    /// The time after which standing agents end by themselves; `None` if they never do.
    #[serde(default)]
    pub max_life: Option<Nanos>,
    /// The settings of the ssh launcher.
    pub ssh: Ssh,
}

/// A machine of the cluster, as the cluster file describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The node's name in node lists and results.
    pub name: String,
    /// The host name or address for logins, optionally after `user@`.
    pub host: String,
    /// For each rail, the host name or address for data; never empty.
    pub addresses: Vec<String>,
    /// The name of the node's rack; `None` if the file has none.
    pub rack: Option<String>,
    /// Where the node's agent listens, and on which TCP port, for firewalls.
    #[serde(default)]
    pub listening: Listening,
}

/// Parses the silence after which a copy gives a node up, such as `10s`: at least 2 s, so that the
/// node is suspected before.
///
/// # Errors
/// When the text is not such a time.
pub fn parse_dead_after(text: &str) -> Result<Nanos, String> {
    let time: Nanos = text.parse().map_err(|error: UnitError| error.to_string())?;
    if time < Nanos::from_secs(2) { Err("the minimum is 2s".to_owned()) } else { Ok(time) }
}

/// Parses the time after which a standing agent ends by itself, such as `12h`: at least 1 s.
///
/// # Errors
/// When the text is not such a time.
pub fn parse_max_life(text: &str) -> Result<Nanos, String> {
    let time = Nanos::parse_or_seconds(text).map_err(|error| error.to_string())?;
    if time < Nanos::from_secs(1) { Err("the minimum is 1s".to_owned()) } else { Ok(time) }
}

/// The way in which agents are started on the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Launcher {
    /// The user's own ssh.
    Ssh,
    /// `srun` in a Slurm allocation.
    Slurm,
    /// No login: the agents are processes on this machine.
    Local,
}

/// The settings of the ssh launcher, in addition to the user's own ssh configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ssh {
    /// The user to log in as; if `None`, ssh chooses.
    pub user: Option<String>,
    /// Arguments for `ssh`, before the host.
    pub options: Vec<String>,
    /// The path of the garland program on the nodes, where it is installed if missing; `None` for
    /// the default path.
    pub binary: Option<String>,
    /// Hexadecimal SHA-256 digests of other programs that may be at the path `binary`, for example
    /// for nodes with another CPU architecture.
    #[serde(default)]
    pub sha256: Vec<String>,
    /// The maximum number of concurrent logins.
    pub fanout: u32,
}

/// The error for a name that no node of the cluster has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{name} is not a node of cluster {cluster}, whose nodes are {nodes}{}", hint(near.as_deref()))]
pub struct UnknownNode {
    /// The name that no node has.
    pub name: String,
    /// The cluster's name.
    pub cluster: String,
    /// The cluster's nodes as a folded list, truncated if long.
    pub nodes: String,
    /// The most similar node name; `None` if no name is similar.
    pub near: Option<String>,
}

impl Cluster {
    /// Returns the node named `name`, if there is one.
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.name == name)
    }

    /// Returns the nodes named `names`, in that order.
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

    /// Returns the members of a group as a node list, for [`Sources`](super::nodelist::Sources).
    /// The group `all` has every node. `None` if there is no such group.
    pub fn group_list(&self, group: &str) -> Option<String> {
        match group {
            "all" => Some(self.names().collect::<Vec<_>>().join(",")),
            _ => self.groups.get(group).map(|names| names.join(",")),
        }
    }

    /// Returns the minimum number of rails of all nodes; 0 without nodes.
    pub fn rails(&self) -> usize {
        self.nodes.iter().map(|node| node.addresses.len()).min().unwrap_or(0)
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().map(|node| node.name.as_str())
    }

    fn unknown(&self, name: &str) -> UnknownNode {
        const LONGEST: usize = 80;
        let names: Vec<&str> = self.names().collect();
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
    /// Returns a node whose name is its address for logins and data. A `user@` before the name
    /// applies to logins only.
    pub fn named(name: &str) -> Self {
        let address = name.rsplit_once('@').map_or(name, |(_, address)| address);
        Self {
            name: name.to_owned(),
            host: name.to_owned(),
            addresses: vec![address.to_owned()],
            rack: None,
            listening: Listening::default(),
        }
    }
}

impl Default for Ssh {
    fn default() -> Self {
        let options = Vec::new();
        let sha256 = Vec::new();
        Self { user: None, options, binary: None, sha256, fanout: DEFAULT_FANOUT }
    }
}

impl Launcher {
    /// All launchers with their names in cluster files, in the order of the enum.
    pub const ALL: [(&'static str, Self); 3] =
        [("ssh", Self::Ssh), ("slurm", Self::Slurm), ("local", Self::Local)];
}

impl fmt::Display for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Self::ALL[*self as usize].0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twenty() -> Cluster {
        Cluster::parse("version = 1\nnodes = \"n[01-20]\"", "den.toml").expect("a good file")
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
        insta::assert_snapshot!(error, @"n021 is not a node of cluster den, whose nodes are n[01-20] (did you mean n02?)");
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
