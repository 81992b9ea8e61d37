//! Options that say what is copied, and what of it is kept.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args as ClapArgs};
use garland_copy::lists::is_one_input;
use garland_copy::spec::SourceSpec;
use garland_core::printable;
use garland_protocol::copy::KeptStatus;
use garland_terminal::failure::Failure;

use super::kind::{COPY, FILE, FROM_FILES, FROM_MANY, FROM_TREES, Kinds, OBJECT, STREAM, TREE};
use super::rule::Rule;
use crate::cp::filters::{FilterRule, excludes};

/// What is copied, and what of it is kept.
#[derive(Clone, Debug, ClapArgs)]
pub struct SourceArgs {
    /// Copy directories and everything in them.
    ///
    /// They go into the directory PATH; of a source that ends in /, only its contents. Symbolic and
    /// hard links stay links. Modes and times are kept, and owners if the agent runs as root. Each
    /// file appears whole or not at all; a file never replaces a directory, nor a directory a file.
    /// Sockets, pipes and devices are skipped. Files that cannot be read, or change during the
    /// copy, are listed, and the exit code is 1.
    #[arg(short, long, conflicts_with = "stripe")]
    pub recursive: bool,
    /// -r -p: directories, with modes and times.
    #[arg(short, long, conflicts_with = "stripe")]
    archive: bool,
    /// Skip paths matching PATTERN, as rsync does.
    ///
    /// *.o anywhere, /build at the top only, cache/ directories only; `*` and `?` stop at a slash,
    /// `**` does not. May be repeated.
    #[arg(long, value_name = "PATTERN", requires = "tree")]
    exclude: Vec<OsString>,
    /// Do not skip paths matching PATTERN: of all patterns, in the order in which they are given,
    /// the first that matches decides.
    #[arg(long, value_name = "PATTERN", requires = "tree", hide_short_help = true)]
    include: Vec<OsString>,
    /// Patterns from FILE, one a line, as of --exclude, or with `+` and a space before it as of
    /// --include; `-` is standard input.
    ///
    /// Lines that begin with # or ; are comments. A copy with a list from standard input or a pipe
    /// cannot be resumed, only started again.
    #[arg(long, value_name = "FILE", requires = "tree", hide_short_help = true)]
    exclude_from: Vec<PathBuf>,
    /// The patterns of the three options above, in the order in which they were given.
    #[arg(skip)]
    pub filters: Vec<FilterRule>,
    /// Only the paths in FILE, one a line, relative to the one SOURCE; `-` is standard input (such
    /// a copy cannot be resumed, only started again).
    ///
    /// They keep these paths below PATH. A directory is copied with everything in it. Paths may
    /// also be separated by NUL, as of `find -print0`; lines that begin with # or ; are comments.
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
    /// From directories on nodes: only inside the directory that is copied (PATH itself for a
    /// source that ends in /), through no link, and only for a single source directory. Paths
    /// matching --exclude stay. A directory in which something could not be copied is left as it
    /// is, and listed.
    #[arg(long, requires = "tree")]
    pub delete: bool,
    /// With --delete, remove at most N files and directories from each node; others stay, and are
    /// listed.
    ///
    /// Without this option there is no limit, but an empty or unreadable SOURCE is refused: all
    /// that a node has would be removed.
    #[arg(long, value_name = "N", requires = "delete", hide_short_help = true)]
    pub max_delete: Option<u64>,
    /// Leave out what is mounted in a directory.
    ///
    /// As with rsync, the directory itself is copied, and --delete removes nothing from it. A
    /// SOURCE may be such a directory, and what --files-from names is copied wherever it is.
    #[arg(short = 'x', long, requires = "tree", hide_short_help = true)]
    pub one_file_system: bool,
    /// Keep extended attributes, and with them access control lists and capabilities.
    #[arg(long, requires = "tree", hide_short_help = true)]
    pub xattrs: bool,
    /// Keep the mode and time of a file.
    ///
    /// Trees keep them without this option.
    #[arg(short = 'p', long)]
    pub preserve: bool,
    /// With -r, -a or -p: do not set modes.
    ///
    /// What exists keeps its mode, and what is new has that of SOURCE as far as the umask allows
    /// it. Modes are not compared either.
    #[arg(long, requires = "kept", conflicts_with = "xattrs", hide_short_help = true)]
    pub no_perms: bool,
    /// With -r, -a or -p: do not set modification times.
    ///
    /// For file systems that refuse them. Files of trees then differ by their times from those of
    /// SOURCE, so that a rerun reads them on both sides.
    #[arg(long, requires = "kept", hide_short_help = true)]
    pub no_times: bool,
    /// Write the paths that were not copied to FILE, as --files-from reads them.
    ///
    /// They are relative to the one SOURCE, one a line, or each followed by NUL if lines could not
    /// tell them; `.` is all of it: a node failed as a whole, and the copy is to be started again.
    /// FILE lies outside of SOURCE, is empty if everything was copied, and has `.` until the copy
    /// has ended.
    #[arg(long, value_name = "FILE", requires = "tree", hide_short_help = true)]
    pub failed_to: Option<PathBuf>,
}

/// A list of patterns or paths, which stands in a file.
pub struct List<'a> {
    /// The option that names it.
    option: &'static str,
    /// The file; `-` is standard input.
    pub file: &'a Path,
}

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.option, printable::path(self.file))
    }
}

/// The copies that may set modes and times.
const KEEPING: Kinds = FILE | OBJECT | TREE | FROM_FILES | FROM_MANY | FROM_TREES;

const ONLY_TREES: &str = "it applies only to directories, which are copied with -r";

pub const RULES: &[Rule] = &[
    // Objects below a prefix are a tree; for another address the option is refused by an error that
    // names it.
    Rule::new("recursive", TREE | FROM_TREES | OBJECT, "a stream is not a directory: omit -r")
        .spooled(),
    Rule::new("archive", TREE | FROM_TREES | OBJECT, "a stream is not a directory: omit -a")
        .spooled(),
    Rule::new("exclude", TREE | FROM_TREES | OBJECT, ONLY_TREES).spooled(),
    Rule::new("include", TREE | FROM_TREES | OBJECT, ONLY_TREES).spooled(),
    Rule::new("exclude-from", TREE | FROM_TREES | OBJECT, ONLY_TREES).spooled(),
    Rule::new("files-from", TREE | OBJECT, ONLY_TREES)
        .not_spooled("an entry goes out with all that is in it; --exclude leaves out paths"),
    Rule::new(
        "delete",
        TREE | OBJECT,
        "copies from nodes add and replace files, but never remove any",
    )
    .spooled(),
    Rule::new(
        "max-delete",
        TREE | OBJECT,
        "copies from nodes add and replace files, but never remove any",
    )
    .spooled(),
    Rule::new("one-file-system", TREE | FROM_TREES, "it applies only to directories on disks")
        .spooled(),
    Rule::new("no-perms", KEEPING, "this copy sets no modes of files").spooled(),
    Rule::new("no-times", KEEPING, "this copy sets no times of files").spooled(),
    Rule::new(
        "failed-to",
        TREE,
        "--files-from, which reads it, applies only to directories that are copied to nodes",
    )
    .not_spooled("DIR/done has the result of each entry"),
    Rule::new("xattrs", TREE | FROM_TREES | OBJECT, ONLY_TREES).spooled(),
    Rule::new("preserve", COPY & !STREAM, "a stream has no mode and no modification time")
        .spooled(),
];

impl SourceArgs {
    /// Sets what options stand for together, and the order of the patterns on the command line.
    pub fn note_typed(&mut self, matches: &ArgMatches) {
        self.recursive |= self.archive;
        self.preserve |= self.archive;
        self.filters = self.filters_in_order(matches);
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

    /// Returns the lists of patterns and paths.
    pub fn lists(&self) -> impl Iterator<Item = List<'_>> {
        let patterns = self.exclude_from.iter().map(|file| List { option: "--exclude-from", file });
        let paths = self.files_from.iter().map(|file| List { option: "--files-from", file });
        patterns.chain(paths)
    }

    /// Refuses two lists that are the same pipe or standard input: the second would be empty.
    ///
    /// # Errors
    /// When there are such lists.
    pub fn refuse_two_readers(&self) -> Result<(), Failure> {
        let lists: Vec<List<'_>> = self.lists().collect();
        for (at, second) in lists.iter().enumerate() {
            let first = lists[..at].iter().find(|first| is_one_input(first.file, second.file));
            if let Some(first) = first {
                let message = format!("cannot read {second}: {first} takes all of that input");
                return Err(Failure::usage(message).hint("write one of the lists to a file"));
            }
        }
        Ok(())
    }

    /// Returns what a copy of `paths` copies.
    ///
    /// # Errors
    /// When a pattern is invalid, or the file that has it cannot be read.
    pub fn spec(&self, paths: &[PathBuf]) -> Result<SourceSpec, Failure> {
        Ok(SourceSpec {
            paths: paths.to_vec(),
            is_tree: self.recursive,
            excludes: excludes(&self.filters)?,
            chosen_by: self.files_from.clone(),
            is_one_file_system: self.one_file_system,
            removes_others: self.delete,
            removes_max: self.max_delete,
            keeps_attributes: self.xattrs,
            preserves: self.preserve,
            keeps: KeptStatus { modes: !self.no_perms, times: !self.no_times, owners: true },
            failed_to: self.failed_to.clone(),
        })
    }
}
