//! The arguments of `garland farm` and `garland farm run`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use garland_fleet::args::Launch;
use garland_terminal::streams::Arrangement;
use serde::{Deserialize, Serialize};

use crate::args::{FarmAccount, FarmCompare};

/// `garland farm`.
#[derive(Debug, ClapArgs)]
pub struct Farm {
    /// The subcommand.
    #[command(subcommand)]
    pub command: FarmCommand,
}

/// The commands of `garland farm`.
#[derive(Debug, Subcommand)]
pub enum FarmCommand {
    /// Run many jobs: garland farm run JOBS 'n[01-20]', or garland farm run 'n[01-20]' --out
    /// '{.}.mp3' -- lame {in} {out} ::: *.wav
    Run(Box<FarmRun>),
    /// Compare runs of the same jobs: garland farm compare RUN1 RUN2
    Compare(FarmCompare),
    /// Run jobs on a node that another engine has chosen (started by that engine)
    #[command(hide = true)]
    Work(FarmWork),
}

/// `garland farm work`.
#[derive(Clone, Debug, ClapArgs)]
pub struct FarmWork {
    /// The directory with the jobs' files.
    #[arg(long)]
    pub folder: PathBuf,
    /// The index of the part of the jobs to run.
    #[arg(long)]
    pub part: usize,
    /// Number of cores for jobs.
    #[arg(long, default_value_t = 1)]
    pub slots: u32,
}

/// `garland farm run`.
#[derive(Clone, Debug, ClapArgs)]
pub struct FarmRun {
    /// A file of jobs (one command per line, or TOML if its name ends in .toml; - for standard
    /// input), and the nodes, such as 'n[01-20]', in either order. Without nodes, jobs run on this
    /// machine. If a command follows --, only the nodes.
    #[arg(value_name = "JOBS|NODES", num_args = 0..=2)]
    pub what: Vec<OsString>,
    /// A command to run for each word after ::: ; {in} is replaced by it as the path of an input
    /// file, {out} by that of its output, {} by any word. Files after :::: have one such word a
    /// line (- for standard input). Without either, a command with {} takes the lines of standard
    /// input, if that is a pipe or a file; any other command is one job.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    /// Engine that runs the jobs [default: agents if there are NODES, else local].
    #[arg(long, value_enum)]
    pub engine: Option<EngineName>,
    /// How the engine agents chooses the node of a job: the next node with a free core (pull), all
    /// nodes in turn (turns), or the node with the least cost by the load of a few nodes (mosix).
    #[arg(long, value_enum, default_value = "pull")]
    pub placement: PlacementName,
    /// Start all jobs at the same time, as was usual with openMosix, instead of one per core.
    #[arg(long)]
    pub all_at_once: bool,
    /// How jobs get their files: they exist on the nodes under the same paths (there), inputs are
    /// copied to a directory of the job and results copied back (stage), or jobs access the
    /// directories of their files on this machine through a mount (mount).
    #[arg(long, value_enum, default_value = "there")]
    pub data: DataName,
    /// Name of each job's output, which is {out} in the command, unless that writes it by itself:
    /// {} is the input, {.} the input without its extension, {/} its name without directories, {/.}
    /// this name without its extension [default: {.}.out if the command has {out}].
    #[arg(long, value_name = "PATTERN")]
    pub out: Option<OsString>,
    /// Replace outputs that exist. Without this option, no job runs if one exists.
    #[arg(long)]
    pub overwrite: bool,
    /// Number of cores of each node for jobs [default: all].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub slots: Option<u32>,
    /// Try a failing job up to N times more, on other nodes if possible. Jobs of a node that is
    /// lost are tried again in any case.
    #[arg(long, value_name = "N", default_value_t = 0)]
    retries: u32,
    /// The number of all tries: what `--retries` was.
    #[arg(long, hide = true, conflicts_with = "retries", value_parser = clap::value_parser!(u32).range(1..))]
    tries: Option<u32>,
    /// Time limit of jobs for which the list has none, such as 90s.
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<String>,
    /// Move running jobs to idle nodes on which they end much earlier. A job with a checkpoint goes
    /// on there; others restart.
    #[arg(long)]
    pub migrate: bool,
    /// Command for sh -c that saves the work of a running job, of jobs for which the list has none.
    #[arg(long, value_name = "COMMAND", requires_all = ["migrate", "restore"])]
    pub checkpoint: Option<OsString>,
    /// Command for sh -c that goes on from what --checkpoint has saved.
    #[arg(long, value_name = "COMMAND", requires = "checkpoint")]
    pub restore: Option<OsString>,
    /// File that --checkpoint saves in the job's own directory, with --data stage; may be repeated.
    #[arg(long, value_name = "FILE", requires = "checkpoint")]
    pub state: Vec<OsString>,
    /// Resume a run whose controller has died or was interrupted: its name, its directory, or last.
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "last", conflicts_with_all = ["what", "command"])]
    pub resume: Option<String>,
    /// Directory that Slurm's nodes share with this machine [default: the run's own].
    #[arg(long, alias = "shared", value_name = "DIR")]
    pub slurm_dir: Option<OsString>,
    /// Print each job's output when the job has ended, as GNU parallel does; this is the default.
    /// The summary is printed on standard error. The engine slurm keeps outputs, but passes on
    /// none: with it, this option and the next three are refused.
    #[arg(long, group = "arrangement")]
    group: bool,
    /// Print whole lines of the jobs' output as they come.
    #[arg(long, group = "arrangement")]
    line_buffer: bool,
    /// Print the output of jobs in the order of the list, of the first one that has not ended as it
    /// comes.
    #[arg(short = 'k', long, group = "arrangement")]
    keep_order: bool,
    /// Begin each line of output with the job's name and a tab.
    #[arg(long)]
    pub tag: bool,
    /// Print all figures in the summary: each job, the slowest and the fastest, the cluster in
    /// percent of one PC, its equivalent power, where the time went, each node. With --resume those
    /// that the run has had so far; no job is run.
    #[arg(long)]
    pub analysis: bool,
    /// Print no progress, and no summary if all jobs are done, except with --analysis.
    #[arg(short, long)]
    pub quiet: bool,
    /// The options of the figures.
    #[command(flatten)]
    pub account: FarmAccount,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}

impl FarmRun {
    /// Returns the number of times that a job that fails is tried again.
    pub fn retries(&self) -> u32 {
        self.tries.map_or(self.retries, |all| all - 1)
    }

    /// Returns how the output of jobs is printed.
    pub fn arrangement(&self) -> Arrangement {
        match (self.keep_order, self.line_buffer) {
            (true, _) => Arrangement::Numbered,
            (_, true) => Arrangement::Lines,
            _ => Arrangement::Ended,
        }
    }

    /// Returns whether the user said how output is printed.
    pub fn arranges(&self) -> bool {
        self.group || self.line_buffer || self.keep_order || self.tag
    }
}

/// The engines that run jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineName {
    /// Processes of this machine.
    Local,
    /// Garland's agents.
    Agents,
    /// Slurm's job arrays.
    Slurm,
}

/// How the engine `agents` chooses the node of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlacementName {
    /// The next node with a free core.
    Pull,
    /// All nodes in turn.
    Turns,
    /// The node with the least marginal cost, by the rule of openMosix for migrating a process.
    Mosix,
}

/// How jobs get their files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DataName {
    /// They exist on the nodes.
    There,
    /// They are copied to nodes and back.
    Stage,
    /// They are accessed through a mount.
    Mount,
}

/// Returns the name of a choice as on the command line, such as `pull`.
pub fn word(choice: impl ValueEnum) -> String {
    choice.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches};

    use super::*;

    fn parsed(engine: &str) -> Result<Option<EngineName>, String> {
        let command = FarmRun::augment_args(Command::new("run"));
        let matches = command.try_get_matches_from(["run", "jobs", "n1", "--engine", engine]);
        let matches = matches.map_err(|error| error.to_string())?;
        Ok(FarmRun::from_arg_matches(&matches).unwrap().engine)
    }

    #[test]
    fn only_engines_that_exist_are_offered() {
        assert_eq!(parsed("slurm"), Ok(Some(EngineName::Slurm)));
        for other in ["pbs", "parallel"] {
            let refused = parsed(other).unwrap_err();
            assert!(refused.contains("[possible values: local, agents, slurm]"), "{refused}");
        }
    }
}
