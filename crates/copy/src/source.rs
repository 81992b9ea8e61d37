//! The source of a copy to nodes: a file, an object, a tree, or a stream.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use garland_control::{Ends, Outcome};
use garland_core::cluster::target::{self, Target};
use garland_core::plan::{DEFAULT_BLOCK_SIZE, Layout, Manifest, Plan, StripeServer, Stripes};
use garland_core::printable;
use garland_dataplane::pace::Pace;
use garland_dataplane::source::{Content, RemoteFile, Source, StreamSource};
use garland_dataplane::tree::{ScanError, ScanOptions, Tally, TreeSource, name_of};
use garland_protocol::copy::{Destination, TreeDestination};
use garland_results::tree::TreeResult;
use garland_sys::confine::Root;
use garland_sys::signal::Interrupts;
use garland_sys::{clock, inherited, random};
use garland_terminal::failure::{Failure, OrFailure};

use crate::ends;
use crate::lists::chosen;
use crate::spec::{CopySpec, SourceSpec};

/// The open source of a copy to nodes.
pub enum CopySource {
    /// A regular file or a block device, and its path.
    File(PathBuf, Arc<Source>),
    /// A single file that is not on this machine, such as a remote object or URL.
    Elsewhere(Arc<dyn RemoteFile>),
    /// Files and directories, as one sequence of bytes.
    Tree(Arc<TreeSource>),
    /// A stream: bytes that can be read only once. The name is empty unless the stream is a named
    /// pipe.
    Stream(Vec<u8>, Layout, Arc<StreamSource>),
}

impl CopySource {
    /// Opens the sources on this machine that the user specified; a tree is scanned completely.
    /// `disk` is the rate of an emulated disk in bytes per second.
    pub fn open(
        spec: &CopySpec,
        interrupts: &Arc<Interrupts>,
        disk: Option<u64>,
    ) -> Result<Self, Failure> {
        if spec.source.removes_others {
            refuse_unless_one_directory(&spec.source.paths)?;
        }
        match &spec.source.paths[..] {
            sources if sources.iter().any(|source| ends::is_stream(source)) => Self::stream(spec),
            [file] if !spec.source.is_tree || is_file(file) && spec.source.chosen_by.is_none() => {
                let read = ends::source(file)?.on_disk(Pace::limited_to(disk).as_ref());
                Ok(Self::File(file.clone(), Arc::new(read)))
            }
            _ if !spec.source.is_tree => {
                let count = spec.source.paths.len();
                let message = format!("cannot copy several sources ({count}) as one file");
                Err(Failure::usage(message).hint("copy each by itself"))
            }
            _ => Self::open_tree(spec, interrupts, disk),
        }
    }

    /// Opens the sources as a tree, whatever they are. No link is followed.
    fn open_tree(
        spec: &CopySpec,
        interrupts: &Arc<Interrupts>,
        disk: Option<u64>,
    ) -> Result<Self, Failure> {
        let stop = || interrupts.have_come();
        let options = scan_options(spec, &stop);
        let tree = match (&spec.source.chosen_by, &spec.source.paths[..]) {
            (None, sources) => TreeSource::open(sources, &options),
            (Some(file), [source]) => TreeSource::open_chosen(source, &chosen(file)?, &options),
            (Some(_), sources) => {
                let count = sources.len();
                let what =
                    format!("--files-from accepts only one SOURCE, a directory, not {count}");
                return Err(Failure::usage(what));
            }
        };
        Self::from_tree(spec, tree, disk)
    }

    /// Opens the entry of the open directory `folder` that has the last name of `path`, its path,
    /// as a tree. No link is followed, and no other file system is entered.
    pub fn open_entry(
        spec: &CopySpec,
        folder: OwnedFd,
        path: &Path,
        interrupts: &Arc<Interrupts>,
        disk: Option<u64>,
    ) -> Result<Self, Failure> {
        let stop = || interrupts.have_come();
        let tree = TreeSource::open_entry(folder, path, &scan_options(spec, &stop));
        Self::from_tree(spec, tree, disk)
    }

    fn from_tree(
        spec: &CopySpec,
        tree: Result<TreeSource, ScanError>,
        disk: Option<u64>,
    ) -> Result<Self, Failure> {
        let tree = tree.map_err(scan_failure)?;
        refuse_to_remove_all(&spec.source, tree.tally())?;
        Ok(Self::Tree(Arc::new(tree.on_disk(Pace::limited_to(disk).as_ref()))))
    }

    /// Returns the open regular file `file` as a source; `path` is its path.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn from_file(file: File, path: &Path, disk: Option<u64>) -> Result<Self, Failure> {
        let source = Source::from_file(file, path).map_err(Failure::nothing)?;
        let source = source.on_disk(Pace::limited_to(disk).as_ref());
        Ok(Self::File(path.to_owned(), Arc::new(source)))
    }

    /// Opens a stream, which must be the only source.
    fn stream(spec: &CopySpec) -> Result<Self, Failure> {
        let [source] = &spec.source.paths[..] else {
            return Err(Failure::usage("a stream cannot be copied together with other sources"));
        };
        if spec.plan.is_striped() {
            return Err(Failure::usage("a stream cannot be striped: its length is unknown")
                .hint("write the stream to a file first"));
        }
        let block = spec.plan.block_size.unwrap_or(DEFAULT_BLOCK_SIZE);
        let layout = Layout::open_ended(block)?;
        let (name, opened) = match target::parse(source.as_os_str()) {
            Ok(Target::Pipe) => (Vec::new(), open_input(layout)),
            Ok(Target::Command(line)) if line.trim_ascii().is_empty() => {
                return Err(Failure::usage("no command after `|`")
                    .hint("specify one, such as '|pg_dump data'"));
            }
            // A plan can be made without the bytes.
            Ok(Target::Command(_)) if spec.run.is_dry => (Vec::new(), open_input(layout)),
            Ok(Target::Command(line)) => {
                (Vec::new(), StreamSource::of_command(&line, None, layout))
            }
            _ => {
                let name = source.file_name().unwrap_or_default();
                (name.as_bytes().to_vec(), StreamSource::of_pipe(source, layout))
            }
        };
        let stream = opened.or_nothing(format!("cannot open {}", printable::path(source)))?;
        Ok(Self::Stream(name, layout, Arc::new(stream)))
    }

    /// Returns how the source is cut into blocks, of `block` bytes if the user specified a size.
    pub fn layout(&self, block: Option<u32>) -> Result<Layout, Failure> {
        match (self, block) {
            (Self::Stream(_, layout, _), _) => Ok(*layout),
            (_, None) => Layout::fitting(self.content().length()).checked().map_err(Failure::usage),
            (_, Some(block)) => Layout::new(self.content().length(), block).map_err(Failure::usage),
        }
    }

    /// Returns the path and the open file if the source is a file.
    pub fn file(&self) -> Option<(&Path, &Arc<Source>)> {
        match self {
            Self::File(path, source) => Some((path, source)),
            Self::Elsewhere(_) | Self::Tree(_) | Self::Stream(..) => None,
        }
    }

    /// Returns the content of the source.
    pub fn content(&self) -> Arc<dyn Content> {
        match self {
            Self::File(_, source) => Arc::<Source>::clone(source),
            Self::Elsewhere(elsewhere) => elsewhere.clone(),
            Self::Tree(tree) => Arc::<TreeSource>::clone(tree),
            Self::Stream(_, _, stream) => Arc::<StreamSource>::clone(stream),
        }
    }

    /// Returns which files of a tree on this machine were read, and which were not; `None` if the
    /// source is not a tree.
    pub fn tree(&self) -> Option<TreeResult> {
        match self {
            Self::File(..) | Self::Elsewhere(_) | Self::Stream(..) => None,
            Self::Tree(tree) => {
                let result = TreeResult::new(tree.tally(), &tree.left_out());
                let result = result.with_unchanged(tree.unchanged());
                Some(result.with_deletion_skipped(tree.unswept()))
            }
        }
    }

    /// Returns whether all entries of a tree were left out because nodes have them.
    pub fn is_bare(&self) -> bool {
        matches!(self, Self::Tree(tree) if tree.is_bare())
    }

    /// Completes the plan after the copy, with the nodes that joined and the length of a stream.
    pub fn ended(&self, plan: Plan, outcome: &Outcome) -> Plan {
        let planned = plan.receivers().count();
        let joined = outcome.nodes.iter().skip(planned).map(|node| node.name.as_str());
        let plan = plan.joined_by(joined);
        if plan.layout.open { plan.ended_at(self.content().length()) } else { plan }
    }

    /// Returns the source and destination of a copy to `path` on nodes, with the `manifest` of a
    /// striped copy.
    pub fn ends(
        &self,
        spec: &CopySpec,
        path: &[u8],
        manifest: Option<Manifest>,
    ) -> Result<Ends, Failure> {
        let destination = self.destination(spec, path)?;
        Ok(Ends::Out { source: self.content(), destination, manifest })
    }

    /// Returns the destination at `path` on nodes.
    fn destination(&self, spec: &CopySpec, path: &[u8]) -> Result<Destination, Failure> {
        let streams = matches!(path, b"/dev/null" | b"-" | [b'|', ..]);
        if streams {
            let message = "data that goes to a pipe, a command or /dev/null cannot be read back";
            spec.refuse_to_read_back(message)?;
        }
        Ok(match (path, self) {
            (b"/dev/null", _) => Destination::Null,
            (b"-", _) if spec.plan.is_striped() => {
                return Err(Failure::usage("a striped copy cannot go to standard output"));
            }
            (b"-", Self::Tree(_)) => {
                return Err(Failure::usage(
                    "a tree can be copied only to a directory, not to standard output",
                )
                .hint("for a stream, use tar"));
            }
            (b"-", Self::File(..) | Self::Elsewhere(_) | Self::Stream(..)) => {
                inherited::output().or_nothing("cannot copy to standard output")?;
                Destination::Output
            }
            ([b'|', ..], _) if spec.plan.is_striped() => {
                return Err(Failure::usage("a striped copy cannot go to commands"));
            }
            ([b'|', ..], Self::Tree(_)) => {
                return Err(Failure::usage(
                    "a tree can be copied only to a directory, not to a command",
                )
                .hint("for a stream, use tar: tar c . | garland cp - 'n[1-3]:|tar x'"));
            }
            ([b'|', line @ ..], _) => Destination::Command(line.to_vec()),
            (path, Self::Tree(_)) => Destination::Tree(TreeDestination {
                path: path.to_vec(),
                below: None,
                fsync: spec.checks.fsync,
                verify: spec.checks.read_back.verify,
                keeps: spec.source.keeps,
                limits: spec.source.limits_on_nodes(),
            }),
            (path, Self::File(..) | Self::Elsewhere(_) | Self::Stream(..)) => {
                let FileFacts { name, mode, modified } = self.facts()?;
                let keeps = spec.source.kept_of_file();
                Destination::File {
                    path: path.to_vec(),
                    below: None,
                    name,
                    mode,
                    // A stream has no mode to keep.
                    keeps_mode: keeps.modes && modified.is_some(),
                    times: modified.filter(|_| keeps.times),
                    fsync: spec.checks.fsync,
                    room: self.room(),
                    grows: false,
                    force_device: spec.checks.forces_devices,
                }
            }
        })
    }

    /// Returns the disk space that the file needs, in bytes: less than its length if it has holes.
    /// `u64::MAX` stands for the whole length.
    fn room(&self) -> u64 {
        match self {
            Self::File(_, source) => source.room(),
            _ => u64::MAX,
        }
    }

    /// Returns the name, mode and modification time of a single file.
    fn facts(&self) -> Result<FileFacts, Failure> {
        let nameless = || Failure::usage("the source has no name");
        match self {
            Self::File(file, source) => Ok(FileFacts {
                name: file.file_name().ok_or_else(nameless)?.as_bytes().to_vec(),
                mode: source.mode().or_nothing("cannot read the mode of the source")?,
                modified: Some(source.modified()),
            }),
            Self::Elsewhere(elsewhere) => Ok(FileFacts {
                // Only a path that ends in a name takes a source without one, as with streams.
                name: elsewhere.file_name().unwrap_or_default(),
                mode: elsewhere.mode(),
                modified: elsewhere.modified(),
            }),
            Self::Stream(name, ..) => {
                Ok(FileFacts { name: name.clone(), mode: 0o666, modified: None })
            }
            Self::Tree(_) => Err(Failure::usage("a tree cannot be striped")),
        }
    }

    /// Returns the manifest that is stored with every stripe. The digests of the stripes are not
    /// known yet and are zero.
    pub fn manifest(&self, plan: &Plan, stripes: Stripes) -> Result<Manifest, Failure> {
        let FileFacts { name, mode, modified } = self.facts()?;
        if name.is_empty() {
            return Err(Failure::usage("stripes need the source's name, and its URL ends in none")
                .hint("download the file first"));
        }
        let name = String::from_utf8(name).map_err(|_| {
            Failure::usage("the name of the source is not valid UTF-8, which the manifest requires")
                .hint("create a symbolic link with a valid name, and copy the link")
        })?;
        let server = |name: &str| StripeServer { name: name.to_owned(), digest: [0; 32] };
        Ok(Manifest {
            set: random::bytes(),
            written: i64::try_from(clock::wall_ns() / 1_000_000_000).unwrap_or(i64::MAX),
            name,
            mode,
            modified: modified.unwrap_or_default(),
            stripes,
            layout: plan.layout,
            servers: plan.receivers().map(|(_, node)| server(&node.name)).collect(),
            number: 0,
        })
    }
}

/// The name, mode and modification time of a single file.
struct FileFacts {
    name: Vec<u8>,
    mode: u32,
    modified: Option<(i64, u32)>,
}

/// Returns an error for `--delete` unless there is exactly one source, a directory, which
/// determines what is removed.
fn refuse_unless_one_directory(sources: &[PathBuf]) -> Result<(), Failure> {
    let is_directory = |path: &PathBuf| {
        let followed = path.as_os_str().as_bytes().ends_with(b"/");
        let stat = if followed { path.metadata() } else { path.symlink_metadata() };
        let stat = stat.or_nothing(format!("cannot open {}", printable::path(path)))?;
        Ok::<_, Failure>(stat.is_dir())
    };
    match sources {
        [source] if is_directory(source)? => Ok(()),
        _ => Err(Failure::usage("--delete needs exactly one source, a directory of this machine")),
    }
}

/// Opens this command's standard input as a stream.
fn open_input(layout: Layout) -> io::Result<StreamSource> {
    let stdin = inherited::input()?.as_fd().try_clone_to_owned()?;
    Ok(StreamSource::new(stdin, "standard input", layout))
}

/// Whether a path is a regular file. Files are copied in the same way with and without `-r`.
fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|stat| stat.is_file())
}

/// Returns how the sources of a tree are scanned, until `stop` returns true.
fn scan_options<'a>(spec: &CopySpec, stop: &'a dyn Fn() -> bool) -> ScanOptions<'a> {
    ScanOptions {
        excludes: spec.source.excludes.clone(),
        attributes: spec.source.keeps_attributes,
        sweep: spec.source.removes_others,
        one_file_system: spec.source.is_one_file_system,
        root: &Root::Free,
        stop,
    }
}

/// Returns an error if nodes would be left without all that they have of a source: a disk that is
/// not mounted looks like an empty directory.
fn refuse_to_remove_all(source: &SourceSpec, tally: Tally) -> Result<(), Failure> {
    let Tally { files, folders, links } = tally;
    let own = source.paths.iter().filter(|path| name_of(path).is_some()).count() as u64;
    let is_empty = files + links == 0 && folders <= own;
    if !source.removes_others || source.removes_max.is_some() || !is_empty {
        return Ok(());
    }
    let shown = source.paths.iter().map(|path| printable::name(path.as_os_str().as_bytes()));
    let shown = shown.collect::<Vec<_>>().join(" ");
    let what = format!("cannot copy {shown} with --delete: nothing in it can be copied");
    Err(Failure::nothing(format!("{what}, and all that nodes have there would be removed")).hint(
        "check that it is mounted and readable; --max-delete N allows N removals on each node",
    ))
}

fn scan_failure(error: ScanError) -> Failure {
    match error {
        ScanError::Interrupted => Failure::interrupted("scanning the source"),
        ScanError::Twice(_) => Failure::usage(error).hint(
            "copy them with separate commands; `directory/` copies only the contents of the directory",
        ),
        ScanError::Io { .. }
        | ScanError::Kind { .. }
        | ScanError::SameName { .. }
        | ScanError::Pattern { .. }
        | ScanError::TooManyPlaces { .. }
        | ScanError::Missing(_)
        | ScanError::TooMany => Failure::nothing(error),
    }
}

#[cfg(test)]
mod tests {
    use garland_terminal::failure::Exit;

    use super::*;

    #[test]
    fn an_empty_source_removes_nothing_unless_that_is_allowed() {
        let tally = |files, folders, links| Tally { files, folders, links };
        let refused = |path: &str, removes_max, tally| {
            let paths = vec![path.into()];
            let source =
                SourceSpec { removes_others: true, removes_max, paths, ..SourceSpec::default() };
            refuse_to_remove_all(&source, tally).map_err(|failure| failure.message().to_owned())
        };
        let why = |path: &str| {
            let what = format!("cannot copy {path} with --delete: nothing in it can be copied");
            Err(format!("{what}, and all that nodes have there would be removed"))
        };
        assert_eq!(refused("d/", None, tally(0, 0, 0)), why("d/"));
        assert_eq!(refused("d", None, tally(0, 1, 0)), why("d"));
        assert_eq!(refused("d/", None, tally(0, 1, 0)), Ok(()));
        assert_eq!(refused("d", None, tally(0, 1, 1)), Ok(()));
        assert_eq!(refused("d", Some(0), tally(0, 1, 0)), Ok(()));
        let kept = SourceSpec { paths: vec!["d".into()], ..SourceSpec::default() };
        assert!(refuse_to_remove_all(&kept, tally(0, 1, 0)).is_ok());
    }

    #[test]
    fn a_source_of_delete_that_is_not_there_is_told_as_such() {
        let refused = |sources: &[&str]| {
            let sources: Vec<PathBuf> = sources.iter().map(PathBuf::from).collect();
            let failure = refuse_unless_one_directory(&sources).expect_err("it is refused");
            (failure.message().to_owned(), failure.exit())
        };
        for (source, why) in
            [("/nosuch", "no such file or directory"), ("/dev/null/x/", "not a directory")]
        {
            let told = (format!("cannot open {source}: {why}"), Exit::Nothing);
            assert_eq!(refused(&[source]), told);
        }
        let what = "--delete needs exactly one source, a directory of this machine";
        for sources in [&["/dev/null"][..], &["/", "/nosuch"], &[]] {
            assert_eq!(refused(sources), (what.to_owned(), Exit::Usage));
        }
        assert!(refuse_unless_one_directory(&["/".into()]).is_ok());
    }
}
