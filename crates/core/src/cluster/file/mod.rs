//! The cluster file: a TOML file that describes the nodes of a cluster.
//! [`Cluster::parse`](super::Cluster::parse) reads it into a [`Cluster`](super::Cluster).
//!
//! Many clusters need two lines: the names of nodes that ssh reaches under these names.
//!
//! ```
//! # use garland_core::cluster::Cluster;
//! let text = r#"
//! version = 1
//! nodes = "n[001-500]"
//! "#;
//! assert_eq!(Cluster::parse(text, "cluster.toml")?.nodes.len(), 500);
//! # Ok::<(), garland_core::cluster::file::ClusterFileError>(())
//! ```
//!
//! All keys:
//!
//! ```
//! # use garland_core::cluster::Cluster;
//! # let text = r#"
//! version = 1                  # of this format; required
//! launcher = "ssh"             # or "slurm", "local"; ssh by default
//! dead_after = "5s"            # silence after which a copy gives a node up; at least 2s
//!
//! [cluster]
//! name = "den"                 # the file's name without .toml by default
//!
//! [agents]                     # of all nodes; [[nodes]] may say something else
//! listen = "eth0"              # NICs or addresses; those by which nodes are reached by default
//! port = "4100-4199"           # the first free one of these TCP ports; any free one by default
//! max_life = "24h"             # standing agents end after this time; never by default
//!
//! [[nodes]]                    # once for each kind of node
//! names = "n[01-20]"           # a node list; the order is kept
//! address = "192.168.0.[1-20]" # login addresses, one per name; the names by default
//! rails = ["10.1.0.[1-20]", "10.2.0.[1-20]"] # data addresses, one NIC each; the address by default
//! rack = "r1"
//! listen = "10.1.0.[1-20]"     # one for each name, or one for all
//! port = 4100
//!
//! [[nodes]]
//! names = "storage"
//! rack = "r2"
//!
//! [groups]                     # for @gpu in node lists; @all is built in
//! gpu = "n[01-08]"
//! fast = "@gpu,storage"
//!
//! [ssh]                        # in addition to the user's ssh configuration
//! user = "admin"
//! options = ["-oPort=2222"]    # arguments for ssh, before the host
//! binary = "/opt/garland"      # path of the program on the nodes
//! sha256 = []                  # digests of other programs that may be there
//! fanout = 128                 # maximum number of concurrent logins
//! # "#;
//! # let cluster = Cluster::parse(text, "cluster.toml")?;
//! # assert_eq!(cluster.nodes[19].addresses, ["10.1.0.20", "10.2.0.20"]);
//! # assert_eq!(cluster.groups["fast"].len(), 9);
//! # Ok::<(), garland_core::cluster::file::ClusterFileError>(())
//! ```
//!
//! Names, addresses and rails are node lists. `^file`, `@slurm`, and `@group` outside of `[groups]`
//! are refused, so that the file means the same on every machine. Unknown keys are errors, since a
//! misspelled key would otherwise silently be ignored.

mod entries;
mod error;
mod groups;
mod parse;
#[cfg(test)]
mod tests;

pub use error::{ClusterFileError, ClusterFileProblem};
