//! The words of `garland mount`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use garland_fleet::args::LAB_VARIABLE;

/// `garland mount`.
#[derive(Debug, ClapArgs)]
#[command(after_help = MOUNT_HELP)]
pub struct Mount {
    /// The folder to mount on. With --status, the mount that is meant [default: all].
    #[arg(required_unless_present = "status")]
    pub dir: Option<PathBuf>,
    /// The nodes, such as 'n[01-20]' [default: all of the cluster file, else all with an agent that
    /// stays].
    #[arg(conflicts_with_all = ["unmount", "status"])]
    pub nodes: Option<String>,
    /// Unmount instead. What is in use goes out of sight, and ends when it isn't in use any more.
    #[arg(short, long, conflicts_with = "status")]
    pub unmount: bool,
    /// Show what is mounted instead, with what crossed the wires.
    #[arg(short, long)]
    pub status: bool,
    /// Stay in the foreground; Ctrl-C unmounts.
    #[arg(short, long)]
    pub foreground: bool,
    /// Don't encrypt what crosses the wires, only authenticate it: for networks where all may read it.
    #[arg(long)]
    pub clear: bool,
    /// The lab that lab:.. nodes belong to [default: lab].
    #[arg(long, value_name = "NAME", env = LAB_VARIABLE, hide_env_values = true)]
    pub lab: Option<String>,
    /// Tell by this standard output when it is mounted, and leave the terminal.
    #[arg(long, hide = true)]
    pub background: bool,
}

const MOUNT_HELP: &str = "\
DIR/NODE/PATH is PATH on NODE (below the agent's root, if it has one). DIR/3 is the third node of the
list, DIR/here the one that this machine is, DIR/home the one that a process was started on.

Agents must be up: `garland up NODES`. A node whose agent isn't answers \"host is down\"; one that is
lost gives errors within 5 s; both are back when their agents are. Files are read and written as the
agent's user. docs/mount.md says what is promised to several writers, and what isn't supported.";
