//! The options for starting agents, which all commands that work with nodes have.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

/// The default lab.
pub const DEFAULT_LAB: &str = "lab";

/// The environment variable with the name of the lab.
pub const LAB_VARIABLE: &str = "GARLAND_LAB";

/// The heading of these options in the help.
const AGENTS: &str = "Agents";

/// How agents are started.
#[derive(Clone, Debug, ClapArgs)]
pub struct Launch {
    /// How to start agents on nodes [default: as in the cluster file, else ssh].
    #[arg(long, value_enum, help_heading = AGENTS, hide_short_help = true)]
    pub launcher: Option<LauncherName>,
    /// Use MPTCP for data links, on all paths that nodes announce (`ip mptcp endpoint`), and plain TCP if a kernel lacks it
    /// [default: for copies of one lane in labs that are bonded by subflows].
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
    /// Node of the lab that this command runs on and copies from, such as lab:n3 [default: the first].
    #[arg(long, value_name = "NODE", help_heading = AGENTS, hide_short_help = true)]
    pub from: Option<String>,
    /// Directory with the root directories of local[..] nodes [default: in Garland's state].
    #[arg(long, value_name = "DIR", help_heading = AGENTS, hide_short_help = true)]
    pub local_root: Option<PathBuf>,
}

impl Launch {
    /// Returns the name of the lab that lab:.. nodes belong to.
    pub fn lab(&self) -> &str {
        self.lab.as_deref().unwrap_or(DEFAULT_LAB)
    }
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
