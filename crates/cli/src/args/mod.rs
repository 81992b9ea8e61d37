//! Parses the command line. The arguments of the commands are in the crates of the commands.

mod foreign;
mod groups;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args as ClapArgs, CommandFactory, FromArgMatches, Parser, Subcommand};
use garland_commands::args::*;
use garland_commands::cp::Cp;
use garland_experiments::args::*;
use garland_farm::args::*;
use garland_fleet::context::Context;
use garland_fleet::shell_expansion;
use garland_measure::args::*;
use garland_names::args::{Get, Names, Publish, Unpublish};

/// Moves files through a cluster at the speed of its slowest wire, and accounts for the time that
/// it could not save.
#[derive(Debug, Parser)]
#[command(name = "garland", version, after_help = NODES_HELP)]
pub struct Args {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
    /// Options of all commands.
    #[command(flatten)]
    pub context: Context,
}

impl Args {
    /// Parses `words`, of which the first is the program's name.
    ///
    /// # Errors
    /// When they are invalid, or ask for help.
    pub fn parse_words(
        words: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    ) -> Result<Self, clap::Error> {
        let mut command = groups::grouped(Self::command());
        let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
        let matches = command.try_get_matches_from_mut(&words).map_err(|error| {
            let error = with_separator(with_tip(with_name(error, &command), &words), &words);
            no_help_among_others(error, &mut command, &words)
        })?;
        let mut args = Self::from_arg_matches(&matches).map_err(|e| e.format(&mut command))?;
        match (&mut args.command, matches.subcommand()) {
            (Command::Cp(cp), Some((_, matches))) => {
                cp.note_typed(matches);
                cp.words = words;
            }
            (Command::Get(get), _) => get.words = words,
            _ => {}
        }
        Ok(args)
    }
}

/// Adds to an error about an argument that is not known what to write instead, if that is known: of
/// an option of another program, or of a node list that the shell has replaced by names of files.
fn with_tip(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    let place = match error.kind() {
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        ErrorKind::UnknownArgument | ErrorKind::InvalidValue => ContextKind::InvalidArg,
        ErrorKind::TooManyValues => ContextKind::InvalidValue,
        _ => return error,
    };
    let Some(ContextValue::String(unknown)) = error.get(place) else { return error };
    let texts = || words.iter().skip(1).filter_map(|word| word.to_str());
    let list = || shell_expansion::list_of(texts()).filter(|_| Path::new(unknown).exists());
    let advice = match error.kind() {
        ErrorKind::InvalidSubcommand => foreign::advice_for_command(unknown),
        _ => texts().find_map(|command| foreign::advice(command, unknown)),
    };
    let is_list = error.kind() == ErrorKind::UnknownArgument && !unknown.starts_with('-');
    let for_list = || texts().find_map(foreign::advice_for_list).filter(|_| is_list);
    let tip = match advice {
        Some(tip) => Some(tip.to_owned()),
        None => list()
            .map(|list| shell_expansion::advice(&list))
            .or_else(|| for_list().map(str::to_owned)),
    };
    if let Some(tip) = tip {
        // What clap suggests looks like the option or command and is something else.
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::SuggestedSubcommand);
        let tips = ContextValue::StyledStrs(vec![tip.into()]);
        error.insert(ContextKind::Suggested, tips);
    }
    error
}

/// Adds to an error about the words of `farm run` that -- is missing before the command, if inputs
/// follow one.
fn with_separator(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    let has = |word: &str| words.iter().any(|it| it == word);
    let is_run = words
        .iter()
        .skip(1)
        .zip(words.iter().skip(2))
        .any(|(first, second)| first == "farm" && second == "run");
    if is_run && (has(":::") || has("::::")) && !has("--") {
        let tip = "a command comes after --: garland farm run NODES -- COMMAND ::: INPUT..";
        let tips = ContextValue::StyledStrs(vec![tip.to_owned().into()]);
        error.insert(ContextKind::Suggested, tips);
    }
    error
}

/// Returns an error in place of the help of cp that a word such as -avh asks for by accident: for
/// rsync and cp it is another option, and a script would take the help for a copy.
fn no_help_among_others(
    error: clap::Error,
    command: &mut clap::Command,
    words: &[OsString],
) -> clap::Error {
    let is_accident = |word: &&str| {
        word.len() > 2 && word.starts_with('-') && !word.starts_with("--") && word.contains('h')
    };
    let mut texts = words.iter().skip(1).filter_map(|word| word.to_str());
    let is_cp = texts.any(|word| word == "cp");
    let found = texts.find(is_accident).filter(|_| is_cp);
    match found {
        Some(word) if error.kind() == ErrorKind::DisplayHelp => command.error(
            ErrorKind::UnknownArgument,
            format!(
                "-h in '{word}' is the help of cp: leave it out, as numbers are shown with units in \
                 any case"
            ),
        ),
        _ => error,
    }
}

/// Replaces the alias of an option by its name in the tip of an error about a mistyped option.
fn with_name(mut error: clap::Error, command: &clap::Command) -> clap::Error {
    if let Some(ContextValue::String(tip)) = error.get(ContextKind::SuggestedArg) {
        let alias = tip.trim_start_matches('-');
        let all = command.get_subcommands().flat_map(clap::Command::get_arguments);
        let mut named = all.filter(|option| {
            option.get_all_aliases().is_some_and(|aliases| aliases.contains(&alias))
        });
        if let Some(name) = named.next().and_then(clap::Arg::get_long) {
            let name = ContextValue::String(format!("--{name}"));
            error.insert(ContextKind::SuggestedArg, name);
        }
    }
    error
}

const NODES_HELP: &str = "\
New here: garland demo. Each command has -h, --help and a page: garland man cp.
Without --cluster, nodes and groups are those of your own ./cluster.toml, or of
~/.config/garland/cluster.toml.

NODES is a node list; quote it, or the shell takes the brackets:
  n[01-20,30]   ranges, zero padding, several brackets: r[1-4]n[01-16]
  a,b           a list
  n[1-9]!n3     exclusion
  ^FILE         the names in a file
  @GROUP, @all  of the cluster file
  @slurm        this allocation
  local[1-8]    agents on this machine, a directory each
  lab:n[1-20]   nodes of an emulated cluster

Exit codes:
  0    all done
  1    some nodes failed
  2    wrong usage or configuration
  3    nothing done
  4    a check found a fault
  130  interrupted";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Copy files and directories to every node, or from nodes
    Cp(Box<Cp>),
    /// Run a command on every node: garland exec 'n[01-20]' uptime
    Exec(Exec),
    /// Measure the network between all pairs of nodes and name faults: garland wires 'n[01-20]'
    Wires(Wires),
    /// Time small gets, puts and messages between nodes: garland ping 'n[1-2]' 0 64
    Ping(Ping),
    /// Measure the disk under a path on every node: garland disk 'n[01-20]:/scratch'
    Disk(Disk),
    /// Find out whether disks or the network limit copies: garland balance 'n[01-14]:/scratch'
    Balance(Balance),
    /// Check what a copy needs of each node: garland doctor 'n[01-20]:/scratch'
    Doctor(Doctor),
    /// Start standing agents; down ends, status shows them
    ///
    /// Running agents are kept. One of an older release is replaced by one with its settings,
    /// unless a command uses it. Copies and other commands replace it, too.
    Up(Up),
    /// Give a file or directory a name; names lists, unpublish ends them: garland publish PATH --as
    /// NAME
    Publish(Publish),
    /// Copy the content of a name to nodes, from all that have it: garland get NAME
    /// 'n[01-20]:/scratch/'
    Get(Get),
    /// List the names of content, and the nodes that have it
    Names(Names),
    /// End a name; the files stay
    Unpublish(Unpublish),
    /// End standing agents
    Down(Down),
    /// Show standing agents
    Status(Standing),
    /// Show or replace the key that agents obey
    #[command(subcommand)]
    Key(KeyCommand),
    /// Show NICs, disks, copies and jobs of nodes, live: garland top 'n[01-20]'
    Top(Top),
    /// Mount the files of all nodes below one directory: garland mount DIR 'n[01-20]'
    Mount(Mount),
    /// Run many jobs on many nodes: garland farm run JOBS 'n[01-20]'
    Farm(Farm),
    /// Show where the time of a copy went, and what would make it faster: garland explain
    Explain(Explain),
    /// Predict what more nodes would gain: garland forecast --points 1=24:10,2=12:30,4=6:35 --nodes
    /// 1..64
    Forecast(Forecast),
    /// Suggest a plan for a copy
    #[command(subcommand)]
    Plan(PlanCommand),
    /// Write runs as one HTML file, with timeline and rates: garland report -o report.html
    Report(Report),
    /// List, show and remove the runs that commands have stored: garland runs show last
    Runs(Runs),
    /// Export what a copy recorded: garland trace export --format chrome
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Emulate a cluster on this machine, without root
    #[command(subcommand)]
    Lab(LabCommand),
    /// Plan, configure and verify a network
    #[command(subcommand)]
    Net(NetCommand),
    /// Run the published experiments that Garland reproduces
    Scenario(Scenario),
    /// Tour: emulate a small cluster on this machine and copy a file to all of it
    Demo(Demo),
    /// Print a completion script for a shell
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print a manual page, or write all to a directory
    Man(Man),
    /// Write this program to OUTPUT with the program NODE in it, which nodes get (used by builds)
    #[command(hide = true)]
    Carry {
        /// The program for nodes, garland-node.
        node: PathBuf,
        /// The file to write.
        output: PathBuf,
    },
}

/// `garland man`.
#[derive(Debug, ClapArgs)]
pub struct Man {
    /// The command, such as `cp` or `lab up`, or `cluster.toml` [default: garland itself].
    pub command: Vec<String>,
    /// Write the pages of all commands to this directory, each to a file of its own.
    #[arg(long, alias = "folder", value_name = "DIR", conflicts_with = "command")]
    pub directory: Option<PathBuf>,
    /// Write the help of all commands as Markdown pages instead, with an index.
    #[arg(long, requires = "directory")]
    pub markdown: bool,
}
