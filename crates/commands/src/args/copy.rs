//! The words of `garland cp` and `exec`, and how agents are started for them and for the others.

use garland_fleet::args::Launch;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args as ClapArgs, Command, ValueEnum};

use garland_core::units::{Nanos, UnitError};

use super::checks::Checks;
use crate::args::TRACES_VARIABLE;
use garland_results::run::TRACED;

/// The unit of `--stripe`.
const DEFAULT_UNIT: &str = "1MiB";

/// The most buffers of a lane.
const BUFFERS_MAX: i64 = garland_protocol::BUFFERS_MAX as i64;

const USAGE: &str = "\
garland cp [OPTIONS] <SOURCE>... <DESTINATION>
       garland cp [OPTIONS] --join <RUN> <NODES>";

/// `garland cp`.
#[derive(Clone, Debug, ClapArgs)]
#[command(override_usage = USAGE)]
pub struct Cp {
    /// SOURCES and, last, DESTINATION; options may stand before, between and behind them. SOURCE: a path of this
    /// machine, - for standard input, '|COMMAND' for what a command of
    /// this machine says, NODES:PATH, which is gathered from all of them, or s3://BUCKET/KEY or a URL
    /// (http, https), which this machine reads once for all. With -r files and folders of this
    /// machine, as many as you like. DESTINATION: NODES:PATH, or a path of this machine where the source is on nodes. A path that ends in / is a folder,
    /// and is made if it isn't there; /dev/null checks and drops the bytes; - is this command's
    /// standard output; 'NODES:|COMMAND' is the standard input of a command there, which runs by
    /// `sh -c`, and whose exit code is the node's verdict. A block device or a named pipe is written to
    /// as it is.
    ///
    /// What is gathered from several nodes goes to PATH/NODE/NAME, from one to PATH, - or '|COMMAND'.
    /// PATH/NODE must not be a symbolic link. Names that were not asked for, and removals, are refused
    /// whatever a node sends: its copy fails.
    ///
    /// A relative path begins in the login's home folder over ssh; local and lab nodes have a root
    /// folder of their own, where both kinds of path begin. Quote NODES: the shell knows brackets
    /// too.
    // An empty path is refused later, where it's known what it stands for.
    #[arg(
        required = true,
        value_name = "PATH",
        value_parser = OsStringValueParser::new().map(PathBuf::from)
    )]
    paths: Vec<PathBuf>,
    /// The options that were typed, by their long names, and their values.
    #[arg(skip)]
    pub typed: Vec<(String, String)>,
    /// Have NODES join the copy of RUN (`last`: the last one), which
    /// goes on: garland cp --join RUN NODES. They get the file where the others do, from a node that holds it, and this command waits for
    /// the copy's end. Striped copies, pipes and what comes from nodes can't be joined. Options of the copy
    /// are those of its own command: here there are only --quiet and --json.
    #[arg(long, value_name = "RUN")]
    pub join: Option<String>,
    /// One file over all nodes instead of one on each: in units of so many bytes, which go round
    /// the nodes (or come from them), each node's in PATH.stripe-KofN [default unit: 1MiB].
    #[arg(
        long,
        value_name = "UNIT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = DEFAULT_UNIT,
        conflicts_with = "min_ok"
    )]
    pub stripe: Option<String>,
    /// Copy folders with all that is in them, into the folder PATH; of a source that ends in / only
    /// what is in it.
    ///
    /// Links stay links, and lead where they led. Modes and times are kept, and owners where the
    /// agent is root. Files appear one by one, each whole or not at all; none is ever replaced by a
    /// folder, nor a folder by a file. Sockets, pipes and devices are skipped. What can't be read, or
    /// changes meanwhile, is named, and the exit code is 1.
    #[arg(short, long, conflicts_with = "stripe")]
    pub recursive: bool,
    /// Leave out what a pattern means, as rsync's do: *.o anywhere, /build at the top only, cache/ folders
    /// only; `*` and `?` stop at a slash, `**` doesn't. More than once for more.
    #[arg(long, value_name = "PATTERN", requires = "recursive")]
    pub exclude: Vec<OsString>,
    /// Remove from folders on nodes what isn't in the source's.
    ///
    /// Only inside the folder that is copied (of a source that ends in / that is PATH itself), through no link, and only for
    /// one source folder. What --exclude means stays. A folder in which something here couldn't be copied is
    /// left as it is, and named.
    #[arg(long, requires = "recursive")]
    pub delete: bool,
    /// Keep extended attributes, too, and with them access control lists and capabilities.
    #[arg(long, requires = "recursive")]
    pub xattrs: bool,
    /// Keep the file's mode and modification time; a tree's are kept without it.
    #[arg(short = 'p', long)]
    pub preserve: bool,
    /// Send all, whatever nodes have of it already. Copies from nodes always bring all.
    ///
    /// Without this only the blocks are sent that they lack: each compares what is at PATH, and what
    /// an interrupted copy left there.
    #[arg(long)]
    pub whole: bool,
    /// Nodes see SOURCE by themselves, at the same path, on a file system that they share with this
    /// machine (NFS, Lustre): each reads a part of it, 16 nodes at most, and gives that to the others.
    ///
    /// What a node can't see, or sees otherwise, this machine reads.
    #[arg(long, conflicts_with_all = ["stripe", "recursive", "whole", "shape"])]
    pub shared: bool,
    /// Don't wait until the file is on stable storage.
    #[arg(long)]
    pub no_fsync: bool,
    /// Write to a block device though it is mounted, swap, or a part of another device.
    #[arg(long)]
    pub force_device: bool,
    /// Don't seal blocks, only checksum them: for trusted networks.
    #[arg(long)]
    pub clear: bool,
    /// Send blocks in fewer bytes: zstd, lz4, or auto, which takes the one that gets more through the
    /// wire, and neither where that doesn't pay.
    #[arg(long, value_enum, default_value = "none", value_name = "HOW", conflicts_with = "stripe")]
    pub compress: CompressName,
    /// Print the plan and stop.
    #[arg(long)]
    pub dry_run: bool,
    /// Save the plan as JSON.
    #[arg(long, value_name = "FILE")]
    pub save_plan: Option<PathBuf>,
    /// The chain's order: list (as the node list names them), rack, wires (as `garland wires` measured
    /// them last: the best follow each other, the slow ones come last), or a node list.
    #[arg(long, default_value = "list", value_name = "ORDER")]
    pub order: String,
    /// The way of the bytes: a chain through all nodes, a tree in which each node feeds a few others,
    /// or which takes less time.
    ///
    /// A chain uses each wire once, whatever the number of nodes; but the last node's first byte has
    /// come through all others, which is most of the time of a small file to many nodes. --dry-run
    /// says what each would take.
    #[arg(
        long,
        value_enum,
        default_value = "auto",
        conflicts_with = "stripe",
        value_name = "SHAPE"
    )]
    pub shape: ShapeName,
    /// What becomes of a node whose wire, machine or disk holds the others up: it is fed beside them
    /// and named (detach), they wait for it (wait), or it fails (fail).
    ///
    /// Who is fed beside the others ends with the whole file, too, and is waited for; Ctrl-C leaves
    /// the others theirs.
    #[arg(long, value_enum, default_value = "detach", value_name = "WAY")]
    pub slow: SlowName,
    /// A node is slow that takes less than this share of what the others take without it.
    #[arg(long, default_value = "50%", value_name = "SHARE", value_parser = share)]
    pub slow_below: u16,
    /// A node fails whose disk or file server hasn't answered for so long: no call has returned, and
    /// the kernel shows no progress [at least 5s; an fsync has a second more for every 5 MB].
    ///
    /// After 5 s it is named, and fed beside the others like a slow one (see --slow).
    #[arg(long, default_value = "60s", value_name = "TIME", value_parser = stuck_after)]
    pub stuck_after: u64,
    /// How many lanes, each over its own address of every node; more than there are addresses share
    /// those [default: all that every node has; 1 where a lab's NICs are bonded].
    #[arg(long, value_name = "K")]
    pub rails: Option<u16>,
    /// Bytes of a block, such as 1MiB: what is read, sealed, sent and written at a time [default: by
    /// the file's size].
    #[arg(long, visible_alias = "buffer-size", value_name = "SIZE")]
    pub block_size: Option<String>,
    /// How many blocks each lane may have in memory, at each end [default: what 8 MiB hold here and
    /// 24 MiB there, as many as turn out to be of use].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=BUFFERS_MAX))]
    pub buffers: Option<u16>,
    /// Cut a striped copy into operations of so many bytes, as pvfs2-cp did (10MiB) [default: none,
    /// one window over the whole file].
    #[arg(long, value_name = "SIZE", requires = "stripe")]
    pub op_size: Option<String>,
    /// How many more operations may be under way beside the oldest that the servers haven't
    /// acknowledged as written.
    #[arg(long, value_name = "N", requires = "op_size", default_value_t = 0)]
    pub op_overlap: u64,
    /// The congestion control to ask for on data links [default: cubic, else reno].
    #[arg(long, value_name = "NAME")]
    pub congestion: Option<String>,
    /// How fast it may be, and what is found out at its end.
    #[command(flatten)]
    pub checks: Checks,
    /// Exit with 0 when at least N nodes have the file; N is the number of nodes at most.
    #[arg(long, value_name = "N")]
    pub min_ok: Option<usize>,
    /// Make something slow or wrong on purpose, to try what finds it; more than once for more.
    ///
    /// source-disk:17ms/10MiB stalls reading for 17 ms after every 10 MiB (../10MiB@0: the first time
    /// before the first byte), sink-disk:n2:17ms/10MiB n2's writing; fsync:n2:200ms makes its fsync
    /// slow, control:n2:11ms its answers late; pause:17ms/10MiB has the sender do nothing now and
    /// then; rot:n2:5MiB has a byte of n2's file be another on its disk; flip:5MiB changes a byte in the head's memory
    /// after it was hashed; clock:n2:49s,100ppm sets n2's clock wrong (local and lab nodes without agents that stay).
    #[arg(long, value_name = "FAULT", hide_short_help = true)]
    pub inject: Vec<String>,
    /// Keep the traces of the last COUNT copies; those of older ones are removed.
    #[arg(long, value_name = "COUNT", default_value_t = TRACED, env = TRACES_VARIABLE, hide_env_values = true, value_parser = at_least_one, hide_short_help = true)]
    pub keep_traces: usize,
    /// Keep no trace, to measure what one costs.
    #[arg(long, hide = true)]
    pub no_trace: bool,
    /// No progress.
    #[arg(short, long)]
    pub quiet: bool,
    /// Tell how far it is for programs: a line of JSON on standard error some five times a second, and
    /// one at the end.
    #[arg(long, value_enum, value_name = "FORM", conflicts_with = "quiet")]
    pub progress: Option<ProgressForm>,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}

impl Cp {
    /// What is copied: all paths but the last.
    pub fn sources(&self) -> &[PathBuf] {
        self.paths.split_last().map_or(&[][..], |(_, sources)| sources)
    }

    /// Where it goes: the last path.
    pub fn destination(&self) -> &OsStr {
        self.paths.last().map_or(OsStr::new(""), |path| path.as_os_str())
    }

    /// Notes which options were typed.
    pub fn note_typed(&mut self, matches: &ArgMatches) {
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

/// How progress is told to programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProgressForm {
    /// Objects of JSON, a line each.
    Json,
}

/// How blocks are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompressName {
    /// As they are.
    None,
    /// Quick.
    Lz4,
    /// Small.
    Zstd,
    /// By what is measured.
    Auto,
}

/// The ways of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ShapeName {
    /// The quicker one.
    Auto,
    /// Every node feeds the next.
    Chain,
    /// Every node feeds a few.
    Tree,
}

/// What becomes of slow nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SlowName {
    /// They are fed beside the others.
    Detach,
    /// The others wait.
    Wait,
    /// They fail.
    Fail,
}

/// A share as thousandths: `50%`, `12.5%`.
fn share(text: &str) -> Result<u16, String> {
    let percent = text.strip_suffix('%').unwrap_or(text).parse::<f64>();
    let percent = percent.ok().filter(|percent| (0.1..=90.0).contains(percent));
    let thousandths = percent.map(|percent| (percent * 10.0).round() as u16);
    thousandths.ok_or_else(|| "allowed are 0.1% to 90%".to_owned())
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|count| *count > 0).ok_or_else(|| "it is at least 1".to_owned())
}

/// A time of 5 s or more, in nanoseconds: `60s`, `10min`.
fn stuck_after(text: &str) -> Result<u64, String> {
    const LEAST: u64 = 5_000_000_000;
    let Nanos(time) = text.parse().map_err(|error: UnitError| error.to_string())?;
    Some(time).filter(|time| *time >= LEAST).ok_or_else(|| "allowed are 5s and more".to_owned())
}

/// `garland exec`.
#[derive(Debug, ClapArgs)]
pub struct Exec {
    /// The nodes, such as 'n[01-20]'.
    pub nodes: String,
    /// The command and its arguments.
    #[arg(last = true, required = true)]
    pub command: Vec<OsString>,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}
