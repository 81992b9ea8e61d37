//! The options for starting agents, which all commands that work with nodes have, and what other
//! options share that several commands have.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use garland_core::cluster::listen::{ListenAt, Listening, Ports};

/// The default lab.
pub const DEFAULT_LAB: &str = "lab";

/// The environment variable with the name of the lab.
pub const LAB_VARIABLE: &str = "GARLAND_LAB";

/// The environment variable with the number of traces to keep.
pub const TRACES_VARIABLE: &str = "GARLAND_KEEP_TRACES";

/// The heading of these options in the help.
const AGENTS: &str = "Agents";

/// How agents are started.
#[derive(Clone, Debug, ClapArgs)]
pub struct Launch {
    /// How to start agents on nodes [default: as in the cluster file, else ssh].
    #[arg(long, value_enum, help_heading = AGENTS, hide_short_help = true)]
    pub launcher: Option<LauncherName>,
    /// Use MPTCP for data links, on all paths that nodes announce (`ip mptcp endpoint`), and plain
    /// TCP if a kernel lacks it [default: for copies of one lane in labs that are bonded by
    /// subflows].
    #[arg(long, help_heading = AGENTS, hide_short_help = true)]
    pub mptcp: bool,
    /// Lab that lab:.. nodes belong to [default: lab].
    #[arg(
        long,
        value_name = "NAME",
        env = LAB_VARIABLE,
        hide_env_values = true,
        help_heading = AGENTS,
        hide_short_help = true
    )]
    pub lab: Option<String>,
    /// Node of the lab that this command runs on and copies from, such as lab:n3 [default: the
    /// first].
    #[arg(long, value_name = "NODE", help_heading = AGENTS, hide_short_help = true)]
    pub from: Option<String>,
    /// Have agents listen at these addresses or NICs of their nodes, such as ib0
    /// [default: as in the cluster file, else where ssh or srun reaches a node, and its rails].
    ///
    /// Other nodes and this command connect to these addresses. 0.0.0.0 and :: stand for all.
    /// Agents of local[..] nodes listen on loopback, those of lab:.. nodes at all addresses of
    /// their own networks.
    #[arg(
        long,
        value_name = "ADDRESS|NIC",
        value_delimiter = ',',
        env = "GARLAND_LISTEN",
        hide_env_values = true,
        help_heading = AGENTS,
        hide_short_help = true
    )]
    pub listen: Vec<ListenAt>,
    /// TCP port of agents, or a range such as 4100-4199, of which each takes the first free one
    /// [default: as in the cluster file, else any free one].
    #[arg(
        long,
        value_name = "PORT",
        env = "GARLAND_PORT",
        hide_env_values = true,
        help_heading = AGENTS,
        hide_short_help = true
    )]
    pub port: Option<Ports>,
    /// Directory with the root directories of local[..] nodes [default: in Garland's state].
    #[arg(long, value_name = "DIR", help_heading = AGENTS, hide_short_help = true)]
    pub local_root: Option<PathBuf>,
}

impl Launch {
    /// Returns what the user says about where agents listen.
    pub fn listening(&self) -> Listening {
        Listening { listen: self.listen.clone(), port: self.port }
    }

    /// Returns the name of the lab that lab:.. nodes belong to.
    pub fn lab(&self) -> &str {
        self.lab.as_deref().unwrap_or(DEFAULT_LAB)
    }
}

/// Parses a number that is not 0.
///
/// # Errors
/// When it is another text.
pub fn at_least_one(text: &str) -> Result<usize, &'static str> {
    text.parse().ok().filter(|count| *count > 0).ok_or("the minimum is 1")
}

/// The launchers, which start agents on nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LauncherName {
    /// The system's ssh.
    Ssh,
    /// srun, inside an allocation.
    Slurm,
    /// Processes of this machine.
    Local,
}
