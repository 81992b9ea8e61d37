//! The arguments of `garland farm` and `garland farm run`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::args::{FarmAccount, FarmCompare};
use garland_fleet::args::Launch;

/// `garland farm`.
#[derive(Debug, ClapArgs)]
pub struct Farm {
    /// What to do.
    #[command(subcommand)]
    pub command: FarmCommand,
}

/// The commands of `garland farm`.
#[derive(Debug, Subcommand)]
pub enum FarmCommand {
    /// Run many jobs: garland farm run JOBS 'n[01-20]', or garland farm run 'n[01-20]' --out
    /// '{.}.mp3' -- lame {in} {out} ::: *.wav
    Run(Box<FarmRun>),
    /// Put runs of the same jobs side by side: garland farm compare RUN1 RUN2
    Compare(FarmCompare),
    /// A node's mount of the files that its jobs use (started by agents)
    #[command(hide = true)]
    Window {
        /// The directory to mount on.
        dir: PathBuf,
    },
    /// What kills an agent's jobs if the agent is killed (started by agents)
    #[command(hide = true)]
    Guard {
        /// What jobs have in their environment.
        mark: String,
    },
    /// Jobs on a node that another engine has chosen (started by that engine)
    #[command(hide = true)]
    Work(FarmWork),
}

/// `garland farm work`.
#[derive(Clone, Debug, ClapArgs)]
pub struct FarmWork {
    /// The directory with the jobs' files.
    #[arg(long, requires = "part")]
    pub folder: Option<PathBuf>,
    /// Which of them.
    #[arg(long, default_value_t = 0)]
    pub part: usize,
    /// One job, as JSON in hexadecimal.
    #[arg(long)]
    pub task: Option<String>,
    /// Processors for jobs.
    #[arg(long, default_value_t = 1)]
    pub slots: u32,
}

/// `garland farm run`.
#[derive(Clone, Debug, ClapArgs)]
pub struct FarmRun {
    /// A file of jobs (a command a line, - for standard input, or TOML where its name ends in .toml),
    /// and the nodes, such as 'n[01-20]'. Without nodes jobs run on this machine. With a command after
    /// -- only the nodes.
    #[arg(value_name = "JOBS|NODES", num_args = 0..=2)]
    pub what: Vec<OsString>,
    /// A command for each input after ::: ; {in} is the input, {out} what it makes. Without ::: it is
    /// one job.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    /// What runs the jobs [default: agents on NODES, else local].
    #[arg(long, value_enum)]
    pub engine: Option<EngineName>,
    /// Which node a job goes to, where Garland decides (engine agents): to whom has room (pull), to each node
    /// in its turn (turns), or to where it costs least as far as few nodes have told (mosix).
    #[arg(long, value_enum, default_value = "pull")]
    pub placement: PlacementName,
    /// Start all jobs at once, as openMosix's users did, instead of one for each processor.
    #[arg(long)]
    pub all_at_once: bool,
    /// How jobs get their files: they are there already under their names (there), are brought to a
    /// directory of the job's own, and results taken back (stage), or are seen under a mount of this
    /// machine's files (mount).
    #[arg(long, value_enum, default_value = "there")]
    pub data: DataName,
    /// What {out} is called: {} is the input, {.} the same without its ending, {/} its name without
    /// directories, {/.} that without its ending.
    #[arg(long, value_name = "PATTERN", default_value = "{.}.out")]
    pub out: OsString,
    /// Replace outputs that exist. Without this no job runs if there is one.
    #[arg(long)]
    pub overwrite: bool,
    /// Processors of each node that jobs may have [default: all of them].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub slots: Option<u32>,
    /// How often a job is tried before it has failed, on another node each time if there is one.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub tries: u32,
    /// How long a job may run, such as 90s, where the list does not say.
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<String>,
    /// Go on with a run whose controller has died or was interrupted: its name, its directory, or last.
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "last", conflicts_with_all = ["what", "command"])]
    pub resume: Option<String>,
    /// A directory that Slurm's nodes share with this machine [default: the run's own].
    #[arg(long, value_name = "DIR")]
    pub shared: Option<OsString>,
    /// No progress.
    #[arg(short, long)]
    pub quiet: bool,
    /// What the figures go by.
    #[command(flatten)]
    pub account: FarmAccount,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}

/// The engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineName {
    /// Processes of this machine.
    Local,
    /// Garland's agents.
    Agents,
    /// Slurm's job arrays.
    Slurm,
    /// GNU parallel over ssh.
    Parallel,
}

/// The placements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlacementName {
    /// Whoever has room takes the next.
    Pull,
    /// Round robin.
    Turns,
    /// The least marginal cost, as openMosix chose where a process moved to.
    Mosix,
}

/// The ways to files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DataName {
    /// They are there.
    There,
    /// They are brought and taken back.
    Stage,
    /// They are seen under a mount.
    Mount,
}

/// The word of a choice on the command line, such as `pull`.
pub fn word(choice: impl ValueEnum) -> String {
    choice.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}
