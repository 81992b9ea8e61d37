//! Arguments of `garland lab`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, value_parser};
use garland_fleet::args::{DEFAULT_LAB, LAB_VARIABLE};

/// The arguments that define a lab: what it emulates, its name, and where its files are.
#[derive(Clone, Debug, ClapArgs)]
#[command(group = clap::ArgGroup::new("emulated").args(["topology", "nodes"]).required(true))]
pub struct What {
    /// A topology file, or a scenario's name.
    pub topology: Option<String>,
    /// Number of nodes on one switch, besides the head.
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1000))]
    pub nodes: Option<u32>,
    /// The rate of every wire of that switch, such as 1gbit; unshaped without it.
    #[arg(long, conflicts_with = "topology")]
    pub rate: Option<String>,
    /// The delay of that switch, one way, such as 20ms: a round trip takes twice as long.
    ///
    /// Frames are held behind the queue of the port, by netem if the kernel has it, or else by a
    /// process of the lab, which refuses rates that it cannot hold.
    #[arg(long, value_name = "TIME", requires = "rate", conflicts_with = "topology")]
    pub delay: Option<String>,
    /// Cable it wrongly, to test diagnosis. May be repeated.
    ///
    /// swap:n2/eth0,n3/eth0 exchanges two NICs' cables; missing:n4/eth0 has one that leads nowhere;
    /// extra:n2/eth7,n3/eth7 is one that is not planned; slow:n5/eth0=10mbit and mtu:n6/eth0=1400
    /// are less than planned. Addresses and routes stay as planned.
    #[arg(long, value_name = "FAULT")]
    pub fault: Vec<String>,
    /// The lab's name.
    #[arg(long, default_value = DEFAULT_LAB, value_name = "NAME", env = LAB_VARIABLE, hide_env_values = true)]
    pub lab: String,
    /// Directory for the nodes' root directories.
    #[arg(long, value_name = "DIR")]
    pub roots: Option<PathBuf>,
}

/// The subcommands of `garland lab`.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Build a lab: a topology, or nodes n1.. and a head n0 on one switch
    Up {
        /// What to emulate.
        #[command(flatten)]
        what: What,
        /// Measure all media and pairs of nodes, and compare them with theory; takes at most 15 s.
        #[arg(long)]
        check: bool,
        /// Print the steps and stop.
        #[arg(long)]
        dry_run: bool,
    },
    /// Build a lab, run a command on this machine, and tear the lab down in any case
    ///
    /// The command, garland cp for instance, reaches the lab's nodes as lab:n1 while it runs.
    Run {
        /// What to emulate.
        #[command(flatten)]
        what: What,
        /// Check the lab first; the command is not run if the check finds a fault.
        #[arg(long)]
        check: bool,
        /// The command and its arguments.
        #[arg(last = true)]
        command: Vec<OsString>,
    },
    /// Show the labs of this machine
    Status,
    /// Run a command in a node of a lab
    Exec {
        /// The lab's name.
        #[arg(long, default_value = DEFAULT_LAB, value_name = "NAME", env = LAB_VARIABLE, hide_env_values = true)]
        lab: String,
        /// The node: n1, or the head n0.
        node: String,
        /// The command and its arguments.
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Tear a lab down
    Down {
        /// The lab's name.
        #[arg(long, default_value = DEFAULT_LAB, value_name = "NAME", env = LAB_VARIABLE, hide_env_values = true)]
        lab: String,
    },
}
