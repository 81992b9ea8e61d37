//! Arguments of `garland cp` and `exec`.

use garland_fleet::args::Launch;
use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{ArgGroup, ArgMatches, Args as ClapArgs, Command, FromArgMatches, ValueEnum};

use garland_core::cluster::parse_dead_after;
use garland_core::plan::RouteShape;
use garland_core::units::Nanos;
use garland_dataplane::Packing;
use garland_protocol::{Encoding, SlowNodes};

use super::checks::Checks;
use super::words::words;
use crate::args::TRACES_VARIABLE;
use garland_copy::spec::ShapeChoice;
use garland_results::run::TRACED;
use garland_terminal::failure::Failure;

/// The default unit of `--stripe`.
const DEFAULT_UNIT: &str = "1MiB";

/// The maximum number of buffers of a lane.
const BUFFERS_MAX: i64 = garland_protocol::BUFFERS_MAX as i64;

/// The values of `--compress`.
const COMPRESSION: &[(&str, Packing, &str)] = &[
    ("none", Packing::None, "Do not compress"),
    ("lz4", Packing::Lz4, "Fast"),
    ("zstd", Packing::Zstd, "Better ratio"),
    ("auto", Packing::Auto(Encoding::Plain), "Measure and choose"),
];

/// The values of `--on-slow`.
const ON_SLOW: &[(&str, SlowNodes, &str)] = &[
    ("detach", SlowNodes::Detach, "Feed them on the side"),
    ("wait", SlowNodes::Wait, "Let the others wait"),
    ("fail", SlowNodes::Fail, "Fail them"),
];

/// The headings of options in the help, besides the common ones.
const SLOW: &str = "When nodes are slow or fail";
const SAFETY: &str = "Safety";
const MORE: &str = "Other kinds of copies";
const TUNING: &str = "Tuning";

const USAGE: &str = "\
garland cp [OPTIONS] <SOURCE>... <DESTINATION>
       garland cp [OPTIONS] --join <RUN> <NODES>
       garland cp [OPTIONS] --resume <RUN>";

/// The end of the short help.
const MORE_HELP: &str = "\
More: stripes, streams, gathering, compression, tuning: garland cp --help";

/// The arguments of `garland cp`.
#[derive(Clone, Debug, ClapArgs)]
#[command(
    override_usage = USAGE,
    after_help = MORE_HELP,
    group = ArgGroup::new("tree").args(["recursive", "archive"]).multiple(true)
)]
pub struct Cp {
    /// SOURCE... and, last, DESTINATION.
    ///
    /// Options may stand anywhere between them. SOURCE is a path of this machine, - for standard input, '|COMMAND' for the output of a command of this machine,
    /// NODES:PATH to gather that path from every node, or an object or URL (s3://BUCKET/KEY, http, https), which this
    /// machine reads once for all nodes. With -r it is any number of files and directories of this machine, or all objects
    /// below s3://BUCKET/PREFIX.
    ///
    /// DESTINATION is NODES:PATH, or a path of this machine if the source is on nodes. A PATH that ends in / is a
    /// directory; created if missing. /dev/null verifies the bytes and drops them. - is the standard output of this
    /// command. 'NODES:|COMMAND' is the standard input of a command on the node, run by `sh -c`; its exit code is the
    /// verdict of the node. Block devices and named pipes are written to in place.
    ///
    /// What is gathered from several nodes goes to PATH/NODE/NAME; from one node, to PATH, - or '|COMMAND'. PATH/NODE must
    /// not be a symbolic link. A node that sends names that were not asked for, or removals, fails.
    ///
    /// Over ssh, a relative PATH begins in the home directory of the login. Local and lab nodes have a root directory each,
    /// where absolute and relative paths begin. Quote NODES: brackets are special to the shell too.
    // An empty path is refused later, where its role is known.
    #[arg(
        required_unless_present = "resume",
        value_name = "PATH",
        value_parser = OsStringValueParser::new().map(PathBuf::from)
    )]
    paths: Vec<PathBuf>,
    /// For each option on the command line, its long name and its values, joined by commas. Options
    /// that keep their default are not included.
    #[arg(skip)]
    pub typed: Vec<(String, String)>,
    /// All words of the command line; none if another command makes the copy.
    #[arg(skip)]
    pub words: Vec<OsString>,
    /// Add NODES to the running copy RUN, or `last`.
    ///
    /// garland cp --join RUN NODES; `last` is the most recent copy. The nodes receive the file at the same path as the other nodes, from a node that holds it, and this command waits for the
    /// end of the copy. Striped copies, pipes and gathered files cannot be joined. The options of the copy are those of its
    /// own command; only --quiet and --json may stand here.
    #[arg(long, value_name = "RUN")]
    pub join: Option<String>,
    /// Go on with the copy RUN, or `last`.
    ///
    /// RUN was interrupted, killed or failed on some nodes; `last` is the most recent copy. It is started again with the paths and options of its own command, and in the directory where that was
    /// given. Nodes keep what they have received, so that only the rest is sent; a node that has the whole file is sent
    /// nothing. Only --quiet, --progress and --json may stand here.
    #[arg(long, value_name = "RUN", conflicts_with = "join")]
    pub resume: Option<String>,
    /// Spread one file over all nodes instead of copying it to each: units of UNIT bytes go round the nodes (or come from
    /// them), and each node keeps its part in PATH.stripe-KofN [default unit: 1MiB].
    #[arg(
        long,
        help_heading = MORE,
        hide_short_help = true,
        value_name = "UNIT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = DEFAULT_UNIT,
        conflicts_with = "min_ok"
    )]
    pub stripe: Option<String>,
    /// Copy directories and everything in them.
    ///
    /// They go into the directory PATH; of a source that ends in /, only its contents. Symbolic and hard links stay links. Modes and times are kept, and owners if the agent runs as root. Each file appears
    /// whole or not at all; a file never replaces a directory, nor a directory a file. Sockets, pipes and devices are
    /// skipped. Files that cannot be read, or change during the copy, are listed, and the exit code is 1.
    #[arg(short, long, conflicts_with = "stripe")]
    pub recursive: bool,
    /// -r -p: directories, with modes and times.
    #[arg(short, long, conflicts_with = "stripe")]
    archive: bool,
    /// Skip paths matching PATTERN, as rsync does.
    ///
    /// *.o anywhere, /build at the top only, cache/ directories only; `*` and `?` stop at a slash, `**` does not. May be
    /// repeated.
    #[arg(long, value_name = "PATTERN", requires = "tree")]
    exclude: Vec<OsString>,
    /// Do not skip paths matching PATTERN: of all patterns, in the order in which they are given, the first that matches
    /// decides.
    #[arg(long, value_name = "PATTERN", requires = "tree", hide_short_help = true)]
    include: Vec<OsString>,
    /// Patterns from FILE, one a line, as of --exclude, or with `+` and a space before it as of --include; lines that
    /// begin with # or ; are comments.
    #[arg(long, value_name = "FILE", requires = "tree", hide_short_help = true)]
    exclude_from: Vec<PathBuf>,
    /// The patterns of the three options above, in the order in which they were given.
    #[arg(skip)]
    pub filters: Vec<FilterRule>,
    /// Only the paths in FILE, one a line, relative to the one SOURCE; `-` is standard input (such a copy cannot be resumed, only started again).
    ///
    /// They keep these paths below PATH. A directory is copied with everything in it. Paths may also be separated by NUL, as of
    /// `find -print0`; lines that begin with # or ; are comments.
    #[arg(
        long,
        value_name = "FILE",
        requires = "tree",
        conflicts_with = "delete",
        hide_short_help = true
    )]
    pub files_from: Option<PathBuf>,
    /// Remove what the source does not have.
    ///
    /// From directories on nodes: only inside the directory that is copied (PATH itself for a source that ends in /), through no link, and only for a
    /// single source directory. Paths matching --exclude stay. A directory in which something could not be copied is left
    /// as it is, and listed.
    #[arg(long, requires = "tree")]
    pub delete: bool,
    /// Keep extended attributes, and with them access control lists and capabilities.
    #[arg(long, requires = "tree", hide_short_help = true)]
    pub xattrs: bool,
    /// Keep the mode and time of a file.
    ///
    /// Trees keep them without this option.
    #[arg(short = 'p', long)]
    pub preserve: bool,
    /// Send everything, also what nodes already have.
    ///
    /// Copies from nodes always send everything. Without this option each node compares what is at PATH, and what an interrupted copy left there, and only the missing
    /// blocks are sent.
    #[arg(long)]
    pub whole: bool,
    /// Compare trees by contents, not by size and time.
    ///
    /// Without this option a file of a directory is left as it is if it has the size, the modification time, the mode and the owner of the source, as with rsync. Files that differ, and single
    /// files, are compared by their contents in any case.
    #[arg(short, long, conflicts_with = "whole")]
    pub checksum: bool,
    /// Nodes see SOURCE themselves, at the same path, on a shared file system (NFS, Lustre): each reads a part of it, 16
    /// nodes at most, and sends that to the others.
    ///
    /// This machine reads the parts of nodes that cannot see it, or that see another file.
    #[arg(
        long,
        conflicts_with_all = ["stripe", "tree", "whole", "shape"],
        help_heading = MORE,
        hide_short_help = true
    )]
    pub shared: bool,
    /// Do not wait for stable storage.
    #[arg(long, help_heading = SAFETY)]
    pub no_fsync: bool,
    /// Write to a block device even if it is mounted, used as swap, or part of another device.
    #[arg(long, help_heading = SAFETY, hide_short_help = true)]
    pub force_device: bool,
    /// Data readable on the network, still authenticated.
    #[arg(long, alias = "clear", help_heading = SAFETY)]
    pub no_encrypt: bool,
    /// Compress blocks on the wire: zstd, lz4, or auto, which measures and takes the faster one, or neither.
    #[arg(
        long,
        value_parser = words(COMPRESSION),
        default_value = "none",
        value_name = "HOW",
        conflicts_with = "stripe",
        help_heading = MORE,
        hide_short_help = true
    )]
    pub compress: Packing,
    /// Print the plan and stop.
    ///
    /// No node is contacted, except with -v.
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Name each entry of a tree that is copied or removed.
    ///
    /// An entry that changes only on some nodes has their names. The entries are those that differ by size, time, mode or
    /// owner. With -n, the nodes are asked, and nothing is changed. Of a copy from nodes, each node's file or directory is
    /// named, with the number of its files.
    #[arg(short, long)]
    pub verbose: bool,
    /// Save the plan as JSON.
    #[arg(long, value_name = "FILE", help_heading = TUNING, hide_short_help = true)]
    pub save_plan: Option<PathBuf>,
    /// Order: list, rack, wires, or nodes.
    ///
    /// list is as in the node list, wires as `garland wires` last measured them: the fastest follow each other, slow ones come
    /// last. With auto, the fastest plan is searched if the wires are known: by the topology of a lab, or by what `garland wires`
    /// measured of these nodes in the last day. --shape, --rails and --block-size are part of the search unless they are
    /// given. Otherwise auto is list. `garland plan suggest` prints the same plan, and others.
    #[arg(long, default_value = "auto", value_name = "ORDER", hide_short_help = true)]
    pub order: String,
    /// Route of the data: chain (through all nodes), tree (each node feeds several others, or K: tree:K), twins (two trees),
    /// or auto, whichever is predicted to be faster.
    ///
    /// A chain sends the data over each wire once, whatever the number of nodes; but the first byte reaches the last node
    /// through all others, which dominates for small files and many nodes. Twins send half of the blocks through each of two
    /// trees: a node that feeds two others in one of them feeds nobody in the other, so the hops are few and each wire carries
    /// the data once. --dry-run prints the predictions.
    #[arg(
        long,
        value_parser = shape,
        default_value = "auto",
        conflicts_with = "stripe",
        value_name = "SHAPE",
        help_heading = TUNING,
        hide_short_help = true
    )]
    pub shape: ShapeChoice,
    /// Slow nodes: detach, wait or fail.
    ///
    /// A node whose wire, machine or disk slows the others down is fed on the side (detach), waited for (wait), or failed
    /// (fail). Detached nodes still receive the whole file, and the command waits for them; Ctrl-C then ends only their part.
    #[arg(
        long,
        alias = "slow",
        value_parser = words(ON_SLOW),
        default_value = "detach",
        hide_possible_values = true,
        value_name = "ACTION",
        help_heading = SLOW
    )]
    pub on_slow: SlowNodes,
    /// A node is slow if it takes less than this share of the rate that the others reach without it.
    #[arg(
        long,
        default_value = "50%",
        value_name = "SHARE",
        value_parser = share,
        help_heading = SLOW,
        hide_short_help = true
    )]
    pub slow_below: u16,
    /// Fail a node whose disk or file server has not answered for this long: no call returned, and the kernel shows no
    /// progress [minimum: 5s; an fsync has 1 s more for every 5 MB].
    ///
    /// After 5 s the node is named and treated like a slow one (see --on-slow).
    #[arg(
        long,
        default_value = "60s",
        value_name = "TIME",
        value_parser = stuck_after,
        help_heading = SLOW,
        hide_short_help = true
    )]
    pub stuck_after: u64,
    /// How long a silent node is waited for [default: 5s].
    ///
    /// Or dead_after of the cluster file; 2s at least. After 1.2 s of silence the others are fed past the node; it is taken back in when it speaks again.
    #[arg(long, value_name = "TIME", value_parser = parse_dead_after, help_heading = SLOW)]
    pub dead_after: Option<Nanos>,
    /// Number of lanes, each over its own address of every node; lanes beyond the number of addresses share them [default:
    /// as many as all nodes have; 1 if the NICs of a lab are bonded].
    #[arg(long, value_name = "K", help_heading = TUNING, hide_short_help = true)]
    pub rails: Option<u16>,
    /// Bytes of a block, such as 1MiB: the unit of reading, encrypting, sending and writing [default: by the size of the
    /// file].
    #[arg(
        long,
        visible_alias = "buffer-size",
        value_name = "SIZE",
        help_heading = TUNING,
        hide_short_help = true
    )]
    pub block_size: Option<String>,
    /// Blocks that each lane may hold in memory, at each end [default: 4 MiB of them on the head and 24 MiB on a node, fewer
    /// if more would not help].
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=BUFFERS_MAX),
        help_heading = TUNING,
        hide_short_help = true
    )]
    pub buffers: Option<u16>,
    /// Cut a striped copy into operations of SIZE bytes, as pvfs2-cp did with 10MiB [default: one window over the whole
    /// file].
    #[arg(
        long,
        value_name = "SIZE",
        requires = "stripe",
        help_heading = MORE,
        hide_short_help = true
    )]
    pub op_size: Option<String>,
    /// Operations in progress beyond the oldest one; an operation ends when the servers have
    /// acknowledged it as written.
    #[arg(
        long,
        value_name = "N",
        requires = "op_size",
        default_value_t = 0,
        help_heading = MORE,
        hide_short_help = true
    )]
    pub op_overlap: u64,
    /// Congestion control of data links [default: cubic, else reno].
    #[arg(long, value_name = "NAME", help_heading = TUNING, hide_short_help = true)]
    pub congestion: Option<String>,
    /// Rate limit and final checks.
    #[command(flatten)]
    pub checks: Checks,
    /// Exit with 0 if at least N nodes have the file.
    #[arg(long, value_name = "N", help_heading = SLOW)]
    pub min_ok: Option<usize>,
    /// Make something slow or wrong on purpose, to test diagnosis. May be repeated.
    ///
    /// source-disk:17ms/10MiB stalls reading for 17 ms after every 10 MiB (../10MiB@0: the first time before the first
    /// byte); sink-disk:n2:17ms/10MiB stalls the writing of n2; fsync:n2:200ms delays its fsync, control:n2:11ms its answers;
    /// pause:17ms/10MiB stops the sender now and then; rot:n2:5MiB changes a byte of the file on the disk of n2; flip:5MiB
    /// changes a byte in the memory of the head after it was hashed; clock:n2:49s,100ppm sets the clock of n2 wrong (local
    /// and lab nodes without standing agents).
    #[arg(long, value_name = "FAULT", help_heading = TUNING, hide_short_help = true)]
    pub inject: Vec<String>,
    /// Keep the traces of the last COUNT copies; older ones are removed.
    #[arg(long, value_name = "COUNT", default_value_t = TRACED, env = TRACES_VARIABLE, hide_env_values = true, value_parser = at_least_one, help_heading = TUNING, hide_short_help = true)]
    pub keep_traces: usize,
    /// Keep no trace, to measure what one costs.
    #[arg(long, hide = true)]
    pub no_trace: bool,
    /// No progress.
    #[arg(short, long)]
    pub quiet: bool,
    /// Report progress to programs: a line of JSON on standard error about five times a second, and one at the end.
    #[arg(
        long,
        value_enum,
        value_name = "FORM",
        conflicts_with = "quiet",
        help_heading = MORE,
        hide_short_help = true
    )]
    pub progress: Option<ProgressForm>,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}

impl Cp {
    /// Parses the words of a copy that another command makes, without the name of a program. `launch` says how
    /// agents are started.
    ///
    /// # Errors
    /// When `garland cp` would refuse them.
    pub fn of_words(
        words: impl IntoIterator<Item = OsString>,
        launch: &Launch,
    ) -> Result<Self, Failure> {
        let told = |error: clap::Error| Failure::usage(error.to_string().trim_end());
        let command = Self::augment_args(Command::new("garland cp").no_binary_name(true));
        let matches = command.try_get_matches_from(words).map_err(told)?;
        let mut cp = Self::from_arg_matches(&matches).map_err(told)?;
        cp.note_typed(&matches);
        cp.launch = launch.clone();
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

    fn filters_in_order(&self, matches: &ArgMatches) -> Vec<FilterRule> {
        let places = |id| matches.indices_of(id).into_iter().flatten();
        let excludes = self.exclude.iter().cloned().map(FilterRule::Exclude);
        let includes = self.include.iter().cloned().map(FilterRule::Include);
        let files = self.exclude_from.iter().cloned().map(FilterRule::From);
        let all = places("exclude").zip(excludes).chain(places("include").zip(includes));
        let mut all: Vec<_> = all.chain(places("exclude_from").zip(files)).collect();
        all.sort_by_key(|(place, _)| *place);
        all.into_iter().map(|(_, rule)| rule).collect()
    }

    /// Sets `typed` to the options that were given on the command line, and their values, and the options that
    /// others stand for.
    pub fn note_typed(&mut self, matches: &ArgMatches) {
        self.recursive |= self.archive;
        self.preserve |= self.archive;
        self.filters = self.filters_in_order(matches);
        let command = Self::augment_args(Command::new("cp"));
        let of_all = ["cluster", "json"].map(|name| (name.to_owned(), name.to_owned()));
        let own = command.get_arguments().filter_map(|argument| {
            Some((argument.get_id().to_string(), argument.get_long()?.to_owned()))
        });
        let typed = own.chain(of_all).filter(|(id, _)| {
            matches!(matches.try_contains_id(id), Ok(true))
                && matches.value_source(id) == Some(ValueSource::CommandLine)
        });
        let valued = typed.map(|(id, option)| {
            let values = matches.get_raw(&id).into_iter().flatten();
            (option, values.map(|value| value.to_string_lossy()).collect::<Vec<_>>().join(","))
        });
        self.typed = valued.collect();
    }
}

/// A rule about paths to skip.
#[derive(Clone, Debug)]
pub enum FilterRule {
    /// Skip what matches this pattern.
    Exclude(OsString),
    /// Do not skip what matches this pattern.
    Include(OsString),
    /// The patterns in this file.
    From(PathBuf),
}

/// Formats of progress reports for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProgressForm {
    /// One JSON object a line.
    Json,
}

/// Parses the value of `--shape`.
fn shape(text: &str) -> Result<ShapeChoice, &'static str> {
    let fanout = |text: &str| text.parse().ok().filter(|fanout| *fanout > 0);
    match (text, text.strip_prefix("tree:").map(fanout)) {
        ("auto", _) => Ok(ShapeChoice::Auto),
        ("chain", _) => Ok(ShapeChoice::Only(RouteShape::Chain)),
        ("twins", _) => Ok(ShapeChoice::Only(RouteShape::Twins)),
        ("tree", _) => Ok(ShapeChoice::Tree),
        (_, Some(Some(fanout))) => Ok(ShapeChoice::Only(RouteShape::of_fanout(fanout))),
        _ => Err("use auto, chain, tree, tree:K, such as tree:4, or twins"),
    }
}

/// Parses a percentage from 0.1 to 90, such as `50%` or `12.5`; returns thousandths.
fn share(text: &str) -> Result<u16, &'static str> {
    let percent = text.strip_suffix('%').unwrap_or(text).parse::<f64>();
    let percent = percent.ok().filter(|percent| (0.1..=90.0).contains(percent));
    let thousandths = percent.map(|percent| (percent * 10.0).round() as u16);
    thousandths.ok_or("a share must be from 0.1% to 90%")
}

/// Parses a number that is not 0.
///
/// # Errors
/// When it is another text.
pub fn at_least_one(text: &str) -> Result<usize, &'static str> {
    text.parse().ok().filter(|count| *count > 0).ok_or("the minimum is 1")
}

/// Parses a time of at least 5 s, such as `60s` or `10min`; returns nanoseconds.
fn stuck_after(text: &str) -> Result<u64, Box<dyn Error + Send + Sync>> {
    const LEAST: u64 = 5_000_000_000;
    let Nanos(time) = text.parse()?;
    Some(time).filter(|time| *time >= LEAST).ok_or_else(|| "the minimum is 5s".into())
}

/// The arguments of `garland exec`.
#[derive(Debug, ClapArgs)]
pub struct Exec {
    /// The nodes, such as 'n[01-20]'.
    pub nodes: String,
    /// COMMAND is a line for the shell of each node.
    ///
    /// Pipes, `;`, variables and patterns are those of the node. Several words are joined by spaces.
    #[arg(short, long)]
    pub shell: bool,
    /// Print equal output once, when all nodes have ended [default on a terminal, with several nodes].
    #[arg(long, group = "arrangement")]
    pub fold: bool,
    /// Print each node's output together, in the order of NODES.
    #[arg(long, group = "arrangement")]
    pub group: bool,
    /// Print whole lines as they come, each after its node's name [default in a pipe or file].
    #[arg(long, group = "arrangement")]
    pub line_buffer: bool,
    /// The command and its arguments; `--` may stand before it.
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}
