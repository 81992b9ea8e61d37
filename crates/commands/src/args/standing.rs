//! Arguments of up, down and status, and of the agent itself.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use garland_protocol::ClockFault;

use garland_fleet::args::{LAB_VARIABLE, Launch};

/// `garland up`.
#[derive(Debug, ClapArgs)]
pub struct Up {
    /// The nodes, such as 'n[01-20]'.
    pub nodes: String,
    /// End an agent after this many idle seconds.
    #[arg(long, default_value_t = 3600, value_name = "SECONDS")]
    pub idle: u64,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}

/// `garland down`.
#[derive(Debug, ClapArgs)]
pub struct Down {
    /// Which agents.
    #[command(flatten)]
    pub which: Standing,
    /// Also remove the records of agents that cannot be reached, such as those of a machine that is gone
    /// for good. An agent that still runs ends when its idle time is over.
    #[arg(long)]
    pub forget: bool,
}

/// `garland status`, and which agents `garland down` ends.
#[derive(Debug, ClapArgs)]
pub struct Standing {
    /// The nodes [default: all with a standing agent; those of a lab if --lab names one, or if no
    /// other node has one].
    pub nodes: Option<String>,
    /// The lab that lab:.. nodes belong to [default: lab].
    #[arg(long, value_name = "NAME", env = LAB_VARIABLE, hide_env_values = true)]
    pub lab: Option<String>,
}

/// `garland agent`.
#[derive(Debug, ClapArgs)]
pub struct Agent {
    /// A public key that may command, in hexadecimal.
    #[arg(long, required = true)]
    pub controller: Vec<String>,
    /// Root directory; no path leads out of it.
    #[arg(long)]
    pub root: Option<PathBuf>,
    /// The port.
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// Stay for this many idle seconds.
    #[arg(long)]
    pub stay: Option<u64>,
    /// Links speak MPTCP where the kernel has it.
    #[arg(long)]
    pub mptcp: bool,
    /// Bytes per second of an emulated node's disk.
    #[arg(long, value_name = "RATE")]
    pub disk: Option<u64>,
    /// What is wrong with its clock on purpose.
    #[arg(long, value_name = "FAULT", allow_hyphen_values = true)]
    pub clock: Option<ClockFault>,
    /// Run in the background, and write messages to a file.
    #[arg(long)]
    pub detach: bool,
    /// That file [default: one under Garland's state on this node].
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
}
