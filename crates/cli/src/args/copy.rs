//! The words of `garland cp` and `exec`, and how agents are started for them and for the others.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use super::DEFAULT_LAB;

/// `garland cp`.
#[derive(Clone, Debug, ClapArgs)]
pub struct Cp {
    /// The file to copy.
    pub source: PathBuf,
    /// Where to: NODES:PATH. A path that ends in / is a folder, and is made if it isn't there; /dev/null checks and drops
    /// the bytes; - is the command's standard output.
    ///
    /// A relative path begins in the login's home folder over ssh; local and lab nodes have a root
    /// folder of their own, where both kinds of path begin. Quote NODES: the shell knows brackets
    /// too.
    pub destination: OsString,
    /// Keep the file's mode and modification time.
    #[arg(short = 'p', long)]
    pub preserve: bool,
    /// Don't wait until the file is on stable storage.
    #[arg(long)]
    pub no_fsync: bool,
    /// Don't seal blocks, only checksum them: for trusted networks.
    #[arg(long)]
    pub clear: bool,
    /// Print the plan and stop.
    #[arg(long)]
    pub dry_run: bool,
    /// Save the plan as JSON.
    #[arg(long, value_name = "FILE")]
    pub save_plan: Option<PathBuf>,
    /// The chain's order: list (as the node list names them), rack, or a node list.
    #[arg(long, default_value = "list", value_name = "ORDER")]
    pub order: String,
    /// How many lanes, each over its own address of every node; more than there are addresses share
    /// those [default: all that every node has; 1 where a lab's NICs are bonded].
    #[arg(long, value_name = "K")]
    pub rails: Option<u16>,
    /// Bytes of a block, such as 1MiB [default: by the file's size].
    #[arg(long, value_name = "SIZE")]
    pub block_size: Option<String>,
    /// The congestion control to ask for on data links [default: cubic, else reno].
    #[arg(long, value_name = "NAME")]
    pub congestion: Option<String>,
    /// Exit with 0 when at least N nodes have the file.
    #[arg(long, value_name = "N")]
    pub min_ok: Option<usize>,
    /// No progress.
    #[arg(short, long)]
    pub quiet: bool,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}

/// How agents are started.
#[derive(Clone, Debug, ClapArgs)]
pub struct Launch {
    /// How to start agents on nodes [default: the cluster file's, else ssh].
    #[arg(long, value_enum)]
    pub launcher: Option<LauncherName>,
    /// How relays pass bytes on.
    #[arg(long, value_enum, default_value = "copy", hide = true)]
    pub relay: RelayName,
    /// Data links over MPTCP, on all paths that nodes announce (`ip mptcp endpoint`); plain TCP where
    /// a kernel lacks it [default: for copies of one lane in labs that are bonded by subflows].
    #[arg(long)]
    pub mptcp: bool,
    /// The lab that lab:.. nodes belong to.
    #[arg(long, default_value = DEFAULT_LAB, value_name = "NAME")]
    pub lab: String,
    /// The lab's node that this command runs on and copies from, such as lab:n3 [default: the lab's
    /// first].
    #[arg(long, value_name = "NODE")]
    pub from: Option<String>,
    /// Where local[..] nodes have their folders [default: under Garland's state].
    #[arg(long, value_name = "DIR")]
    pub local_root: Option<PathBuf>,
}

/// The launchers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LauncherName {
    /// The system's ssh.
    Ssh,
    /// srun, inside an allocation.
    Slurm,
    /// Processes of this machine.
    Local,
}

/// The ways through a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RelayName {
    /// Inside the kernel.
    Splice,
    /// Through the agent's memory.
    Copy,
}

/// `garland exec`.
#[derive(Debug, ClapArgs)]
pub struct Exec {
    /// The nodes, such as 'n[01-20]'.
    pub nodes: String,
    /// The command and its arguments.
    #[arg(last = true, required = true)]
    pub command: Vec<OsString>,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}
