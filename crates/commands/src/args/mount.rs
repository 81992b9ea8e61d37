//! Arguments of `garland mount`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use garland_fleet::args::LAB_VARIABLE;

/// The arguments of `garland mount`.
#[derive(Clone, Debug, ClapArgs)]
#[command(after_help = MOUNT_HELP)]
pub struct Mount {
    /// Directory to mount on; with --status, the mount to show [default: all].
    #[arg(required_unless_present = "status")]
    pub dir: Option<PathBuf>,
    /// The nodes, such as 'n[01-20]' [default: all of the cluster file, else all with a standing
    /// agent].
    #[arg(conflicts_with_all = ["unmount", "status"])]
    pub nodes: Option<String>,
    /// Unmount. Open files stay usable until they are closed.
    #[arg(short, long, conflicts_with = "status")]
    pub unmount: bool,
    /// Show mounts and their traffic.
    #[arg(short, long)]
    pub status: bool,
    /// Stay in the foreground; Ctrl-C unmounts.
    #[arg(short, long)]
    pub foreground: bool,
    /// Do not encrypt: the data is readable on the network, and still authenticated.
    #[arg(long, alias = "clear")]
    pub no_encrypt: bool,
    /// The lab that lab:.. nodes belong to [default: lab].
    #[arg(long, value_name = "NAME", env = LAB_VARIABLE, hide_env_values = true)]
    pub lab: Option<String>,
    /// Report on standard output once mounted, and leave the terminal.
    #[arg(long, hide = true)]
    pub background: bool,
}

impl Mount {
    /// Returns these arguments with the directory before the nodes. Users who think of the nodes
    /// first write them first; no node's name has a slash.
    pub fn in_order(&self) -> Self {
        let mut mount = self.clone();
        if let (Some(dir), Some(nodes)) = (&self.dir, &self.nodes)
            && let Some(first) = dir.to_str()
            && !first.contains('/')
            && nodes.contains('/')
        {
            mount.dir = Some(PathBuf::from(nodes));
            mount.nodes = Some(first.to_owned());
        }
        mount
    }
}

const MOUNT_HELP: &str = "\
DIR/NODE/PATH is PATH on NODE (below the agent's root, if it has one). DIR/3 is the third node of
the list, DIR/here is this machine, DIR/home the node that a process was started on.

Start agents first: `garland up NODES`. Access to a node without an agent fails with \"host is down\";
if an agent is lost, access fails within 5 s. Both work again once the agent is back. Files are read
and written as the agent's user. See docs/mount.md for the guarantees to several writers, and for
what is not supported.";
