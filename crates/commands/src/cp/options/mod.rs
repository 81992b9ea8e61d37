//! The options of `garland cp`. Each stands in one place with its help, the kinds of copies on
//! which it has an effect, and what it means for the copy: in the file of its part of a `CopySpec`.

mod checks;
mod headings;
pub mod kind;
mod plan;
pub mod rule;
mod run;
mod slow;
mod source;
mod tuning;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, Resettable, TypedValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgGroup, ArgMatches, Args as ClapArgs, Command, FromArgMatches};
use garland_fleet::context::Context;
use garland_terminal::failure::Failure;

use self::checks::CheckArgs;
use self::kind::JOIN;
use self::plan::PlanArgs;
use self::rule::Rule;
use self::run::RunArgs;
use self::slow::SlowArgs;
use self::source::SourceArgs;
use self::tuning::TuningArgs;

const USAGE: &str = "\
garland cp [OPTIONS] <SOURCE>... <DESTINATION>
       garland cp [OPTIONS] --join <RUN> <NODES>
       garland cp [OPTIONS] --resume <RUN>";

/// The end of the short help.
const MORE_HELP: &str = "\
More: stripes, streams, gathering, compression, tuning: garland cp --help";

/// The options in the order of the help: those that more users need come first. Others follow.
const HELP_ORDER: &[&str] = &[
    "join",
    "resume",
    "stripe",
    "recursive",
    "archive",
    "exclude",
    "include",
    "exclude_from",
    "files_from",
    "delete",
    "max_delete",
    "one_file_system",
    "xattrs",
    "preserve",
    "no_perms",
    "no_times",
    "whole",
    "checksum",
    "modify_window",
    "shared",
    "no_fsync",
    "force_device",
    "no_encrypt",
    "compress",
    "dry_run",
    "verbose",
    "failed_to",
    "save_plan",
    "order",
    "shape",
    "on_slow",
    "slow_below",
    "stuck_after",
    "dead_after",
    "rails",
    "block_size",
    "buffers",
    "op_size",
    "op_overlap",
    "congestion",
    "bwlimit",
    "verify",
    "digest",
    "min_ok",
    "inject",
    "keep_traces",
    "no_trace",
    "quiet",
    "progress",
];

/// The arguments of `garland cp`.
#[derive(Clone, Debug, ClapArgs)]
#[command(
    override_usage = USAGE,
    after_help = MORE_HELP,
    group = ArgGroup::new("tree").args(["recursive", "archive"]).multiple(true),
    group = ArgGroup::new("kept").args(["recursive", "archive", "preserve"]).multiple(true),
    mut_args = placed_in_help
)]
pub struct Cp {
    /// SOURCE... and, last, DESTINATION.
    ///
    /// Options may stand anywhere between them. SOURCE is a path of this machine, - for standard
    /// input, '|COMMAND' for the output of a command of this machine, NODES:PATH to gather that
    /// path from every node (several of these go together, and PATH may be a pattern such as
    /// '/log/*.log', which nodes expand), or an object or URL (s3://BUCKET/KEY, http, https), which
    /// this machine reads once for all nodes. Several plain files of this machine go into the
    /// directory PATH. With -r it is any number of files and directories of this machine, or all
    /// objects below s3://BUCKET/PREFIX.
    ///
    /// DESTINATION is NODES:PATH, or a path of this machine if the source is on nodes. A PATH that
    /// ends in / is a directory; created if missing. Without PATH, as in n1:, it is where relative
    /// paths begin. /dev/null verifies the bytes and drops them. -
    /// is the standard output of this command. 'NODES:|COMMAND' is the standard input of a command
    /// on the node, run by `sh -c`; its exit code is the verdict of the node. Block devices and
    /// named pipes are written to in place.
    ///
    /// What is gathered from several nodes goes to PATH/NODE/NAME; from one node, to PATH, - or
    /// '|COMMAND'; several sources or a pattern of one node go to PATH/NAME. PATH/NODE must not be
    /// a symbolic link. A node that sends names that were not asked for, or removals, fails.
    ///
    /// Over ssh, a relative PATH begins in the home directory of the login. Local and lab nodes
    /// have a root directory each, where absolute and relative paths begin. Quote NODES: brackets
    /// are special to the shell too.
    // An empty path is refused later, where its role is known.
    #[arg(
        required_unless_present = "resume",
        value_name = "PATH",
        value_parser = OsStringValueParser::new().map(PathBuf::from)
    )]
    pub(super) paths: Vec<PathBuf>,
    /// For each option on the command line, its long name and its values, joined by commas. Options
    /// that keep their default are not included.
    #[arg(skip)]
    pub typed: Vec<(String, String)>,
    /// The options on the command line as words of another one, each with one value, in their
    /// order.
    #[arg(skip)]
    pub given: Vec<GivenOption>,
    /// All words of the command line; none if another command makes the copy.
    #[arg(skip)]
    pub words: Vec<OsString>,
    /// Add NODES to the running copy RUN, or `last`.
    ///
    /// garland cp --join RUN NODES; `last` is the most recent copy. The nodes receive the file at
    /// the same path as the other nodes, from a node that holds it, and this command waits for the
    /// end of the copy. Striped copies, pipes and gathered files cannot be joined. The options of
    /// the copy are those of its own command; only --quiet and --json may stand here.
    #[arg(long, value_name = "RUN")]
    pub join: Option<String>,
    /// Go on with the copy RUN, or `last`.
    ///
    /// RUN was interrupted, killed or failed on some nodes; `last` is the most recent copy. It is
    /// started again with the paths and options of its own command, and in the directory where that
    /// was given. Nodes keep what they have received, so that only the rest is sent; a node that
    /// has the whole file is sent nothing. Only --quiet, --progress and --json may stand here.
    #[arg(long, value_name = "RUN", conflicts_with = "join")]
    pub resume: Option<String>,
    /// What is copied, and what of it is kept.
    #[command(flatten)]
    pub source: SourceArgs,
    // The headings of the help have the order in which the options name them first.
    /// Memory, wires and traces.
    #[command(flatten)]
    pub tuning: TuningArgs,
    /// The order of the nodes, and the way of the data.
    #[command(flatten)]
    pub plan: PlanArgs,
    /// When nodes are slow or fail.
    #[command(flatten)]
    pub slow: SlowArgs,
    /// What is compared, read back and made stable.
    #[command(flatten)]
    pub checks: CheckArgs,
    /// How the command runs and what it prints.
    #[command(flatten)]
    pub run: RunArgs,
}

/// An option on the command line with one of its values.
#[derive(Clone, Debug)]
pub struct GivenOption {
    /// The option's long name, without dashes.
    pub name: String,
    /// The option as a word of a command line.
    pub word: OsString,
}

impl GivenOption {
    /// Returns the word of the option `argument` with the value `value`.
    fn new(argument: &Arg, value: &OsStr) -> Option<Self> {
        let name = argument.get_long()?.to_owned();
        let takes_value = argument.get_action().takes_values();
        let mut word = match argument.get_short().filter(|_| !takes_value) {
            Some(short) => OsString::from(format!("-{short}")),
            None => OsString::from(format!("--{name}")),
        };
        if takes_value {
            word.push("=");
            word.push(value);
        }
        Some(Self { name, word })
    }
}

/// Returns an option at its place in the help.
fn placed_in_help(option: Arg) -> Arg {
    let place = HELP_ORDER.iter().position(|id| option.get_id() == id);
    match place {
        Some(place) => option.display_order(place),
        None => option,
    }
}

impl Cp {
    /// Parses options of `garland cp -a` that the user gave to another command, which knows the
    /// paths and how agents are started.
    ///
    /// # Errors
    /// When `garland cp` would refuse them.
    pub fn parse_options(options: &[OsString]) -> Result<Self, Failure> {
        let told = |error: clap::Error| {
            let text = error.to_string();
            Failure::usage(text.strip_prefix("error: ").unwrap_or(&text).trim_end())
        };
        let command = Self::augment_args(Command::new("garland cp").no_binary_name(true));
        let command =
            command.mut_arg("paths", |paths| paths.required_unless_present(Resettable::Reset));
        let archive = OsString::from("-a");
        let words = std::iter::once(&archive).chain(options);
        let matches = command.try_get_matches_from(words).map_err(told)?;
        let mut cp = Self::from_arg_matches(&matches).map_err(told)?;
        cp.note_typed(&matches);
        Ok(cp)
    }

    /// Returns the sources: all paths but the last.
    pub fn sources(&self) -> &[PathBuf] {
        self.paths.split_last().map_or(&[][..], |(_, sources)| sources)
    }

    /// Returns the destination: the last path; empty if there is no path.
    pub fn destination(&self) -> &OsStr {
        self.paths.last().map_or(OsStr::new(""), |path| path.as_os_str())
    }

    /// Returns whether any path was given.
    pub fn has_paths(&self) -> bool {
        !self.paths.is_empty()
    }

    /// Sets `typed` and `given` to the options that were given on the command line, and their
    /// values, and the options that others stand for.
    pub fn note_typed(&mut self, matches: &ArgMatches) {
        self.source.note_typed(matches);
        let command = Context::augment_args(Self::augment_args(Command::new("cp")));
        let mut given = Vec::new();
        self.typed.clear();
        for argument in command.get_arguments() {
            let id = argument.get_id().as_str();
            let Some(name) = argument.get_long() else { continue };
            let is_typed = matches!(matches.try_contains_id(id), Ok(true))
                && matches.value_source(id) == Some(ValueSource::CommandLine);
            if !is_typed {
                continue;
            }
            let values: Vec<&OsStr> = matches.get_raw(id).into_iter().flatten().collect();
            let texts: Vec<_> = values.iter().map(|value| value.to_string_lossy()).collect();
            self.typed.push((name.to_owned(), texts.join(",")));
            // The order of patterns matters.
            let places = matches.indices_of(id).into_iter().flatten();
            let options = values.iter().map(|value| GivenOption::new(argument, value));
            given.extend(places.zip(options).filter_map(|(place, given)| Some((place, given?))));
        }
        given.sort_by_key(|(place, _)| *place);
        self.given = given.into_iter().map(|(_, given)| given).collect();
    }
}

/// The rules of the options that name a copy which runs or ran. Conflicts that depend on values, on
/// other options or on the type of a file are reported elsewhere: by the argument parser, or when
/// the source is opened.
const RULES: &[Rule] = &[
    Rule::new("join", JOIN, ""),
    // The command line of the resumed copy takes the place of this one.
    Rule::new("resume", 0, ""),
];

/// Returns the rules of all options.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    let groups =
        [RULES, source::RULES, plan::RULES, slow::RULES, checks::RULES, tuning::RULES, run::RULES];
    groups.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_the_help_names_options() {
        let command = Cp::augment_args(Command::new("cp"));
        let is_option = |id: &&&str| command.get_arguments().any(|own| own.get_id() == **id);
        let unknown: Vec<_> = HELP_ORDER.iter().filter(|id| !is_option(id)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
