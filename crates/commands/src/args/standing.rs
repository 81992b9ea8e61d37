//! Arguments of up, down and status.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand};
use garland_core::cluster::{Cluster, parse_max_life};
use garland_core::units::Nanos;
use garland_fleet::args::{LAB_VARIABLE, Launch};

/// The arguments of `garland up`.
#[derive(Debug, ClapArgs)]
pub struct Up {
    /// The nodes, such as 'n[01-20]'; with --spool also their directory: NODES:PATH.
    // A path is arbitrary bytes.
    pub nodes: OsString,
    /// Keep the agents connected, and copy to all nodes what is renamed into DIR.
    ///
    /// DIR must exist. Files and directories in it go out in the order in which they come, as by
    /// `garland cp -a`, and move to DIR/done with the result beside them as soon as all nodes have
    /// them. What a node lacks goes to it when it comes back. Names that begin with a dot are
    /// ignored, and files that a process has open for writing wait: write elsewhere on the same
    /// file system, or under such a name, and rename. What cannot be known to be complete waits
    /// until it is quiet (--quiet), and what is written in DIR/done within an hour goes out again.
    /// Runs until it is interrupted; `garland status` shows what waits.
    #[arg(long, value_name = "DIR")]
    pub spool: Option<PathBuf>,
    /// With --spool: how long nothing in a directory, or in a file whose writers the kernel does
    /// not tell, must have changed before it goes out [default: 5s].
    #[arg(long, requires = "spool", value_name = "TIME", value_parser = Nanos::parse_or_seconds)]
    pub quiet: Option<Nanos>,
    /// Options of `garland cp` for the copies of --spool.
    #[arg(last = true, requires = "spool", value_name = "CP-OPTION")]
    pub options: Vec<OsString>,
    /// End an agent when it has been idle for this time, such as 30min.
    #[arg(long, default_value = "1h", value_name = "TIME", value_parser = Nanos::parse_or_seconds)]
    pub idle: Nanos,
    /// End an agent at this age, such as 24h: it takes no new work then, and ends with what it
    /// does, an hour later at the latest [default: as in the cluster file, else never].
    #[arg(long, value_name = "TIME", value_parser = parse_max_life)]
    pub max_life: Option<Nanos>,
    /// Have all nodes make new keys for reading names: the old ones are worth nothing then.
    ///
    /// Each node has a key of its own in its file cluster.key, by which `garland get NAME PATH`
    /// works there, once a name is published.
    #[arg(long, conflicts_with = "spool")]
    pub new_cluster_key: bool,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}

/// How long entries of a spool are quiet by default.
const QUIET_NS: u64 = 5_000_000_000;

impl Up {
    /// Returns how long an entry of the spool must be unchanged if it cannot be known to be
    /// complete.
    pub fn quiet(&self) -> Duration {
        Duration::from_nanos(self.quiet.map_or(QUIET_NS, |quiet| quiet.0))
    }

    /// Returns the number of idle seconds after which agents end.
    pub fn idle_seconds(&self) -> u64 {
        self.idle.0.div_ceil(1_000_000_000)
    }

    /// Returns the age in seconds at which agents end; `None` for any. `cluster` is that of the
    /// cluster file.
    pub fn max_life_seconds(&self, cluster: Option<&Cluster>) -> Option<u64> {
        let of_file = || cluster.and_then(|cluster| cluster.max_life);
        self.max_life.or_else(of_file).map(|time| time.0.div_ceil(1_000_000_000))
    }
}

/// The arguments of `garland down`.
#[derive(Debug, ClapArgs)]
pub struct Down {
    /// The agents to end.
    #[command(flatten)]
    pub which: Standing,
    /// Also remove the records of agents that cannot be reached, such as those of a machine that is
    /// gone for good. An agent that still runs ends when its idle time is over.
    #[arg(long)]
    pub forget: bool,
    /// End agents also if names that they keep could not be handed over to others.
    #[arg(long)]
    pub lose_names: bool,
}

/// The arguments of `garland status`; `garland down` uses them to select the agents to end.
#[derive(Debug, ClapArgs)]
pub struct Standing {
    /// The nodes [default: all with a standing agent; those of a lab if --lab names one, or if no
    /// other node has one].
    pub nodes: Option<String>,
    /// The lab that lab:.. nodes belong to [default: lab].
    #[arg(long, value_name = "NAME", env = LAB_VARIABLE, hide_env_values = true)]
    pub lab: Option<String>,
}

/// The subcommands of `garland key`.
#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Print the fingerprint of the key by which agents know this user's commands, as the logs of
    /// nodes have it.
    Show,
    /// Make another key, and end the standing agents that obey the old one.
    ///
    /// An agent that cannot be reached is named, and the old key stays until it was reached: run
    /// the command again, also after it was interrupted. Names that were published before have to
    /// be published again.
    Rotate(KeyRotate),
}

/// The arguments of `garland key rotate`.
#[derive(Debug, ClapArgs)]
pub struct KeyRotate {
    /// Give up agents that cannot be reached, and remove the old key. An agent that still runs ends
    /// when its idle time or its maximum age is over.
    #[arg(long)]
    pub forget: bool,
}
