//! The cluster file: what exists, in TOML, read into a [`Cluster`](super::Cluster) by
//! [`Cluster::parse`](super::Cluster::parse).
//!
//! Two lines are enough for many: names, reached under these names by ssh.
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
//! All there is:
//!
//! ```
//! # use garland_core::cluster::Cluster;
//! # let text = r#"
//! version = 1                  # of this format; needed
//! launcher = "ssh"             # or "slurm", "local"; ssh by default
//!
//! [cluster]
//! name = "den"                 # the file's name without .toml by default
//!
//! [[nodes]]                    # once for each kind of node
//! names = "n[01-20]"           # a node list; the order is kept
//! address = "192.168.0.[1-20]" # what to log in to, in step with the names; the names by default
//! rails = ["10.1.0.[1-20]", "10.2.0.[1-20]"] # where data goes, a NIC each; the address by default
//! rack = "r1"
//! port = 4100                  # the agents' TCP port; any free one by default
//!
//! [[nodes]]
//! names = "storage"
//! rack = "r2"
//!
//! [groups]                     # for @gpu in node lists; @all is built in
//! gpu = "n[01-08]"
//! fast = "@gpu,storage"
//!
//! [ssh]                        # besides the user's own ssh configuration
//! user = "admin"
//! options = ["-oPort=2222"]    # arguments for ssh, before the host
//! binary = "/opt/garland"      # where the nodes have it, or get it
//! sha256 = []                  # of other programs that may be there
//! fanout = 128                 # how many nodes are logged in to at once
//! # "#;
//! # let cluster = Cluster::parse(text, "cluster.toml")?;
//! # assert_eq!(cluster.nodes[19].addresses, ["10.1.0.20", "10.2.0.20"]);
//! # assert_eq!(cluster.groups["fast"].len(), 9);
//! # Ok::<(), garland_core::cluster::file::ClusterFileError>(())
//! ```
//!
//! Names, addresses and rails are node lists, but they stand by themselves: `^file`, `@slurm`, and
//! `@group` outside of `[groups]` are refused, so the file means the same everywhere. A key it
//! doesn't know is an error, since a misspelled one would otherwise be a silent default.

mod entries;
mod error;
mod groups;
mod parse;
#[cfg(test)]
mod tests;

pub use error::{ClusterFileError, ClusterFileProblem};
