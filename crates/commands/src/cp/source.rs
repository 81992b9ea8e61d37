//! What is given to nodes: a file, files and folders as one, or a stream.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use garland_control::{Ends, Outcome};
use garland_core::cluster::target::{self, Target};
use garland_core::plan::{DEFAULT_BLOCK_SIZE, Layout, Manifest, Plan, StripeServer, Stripes};
use garland_dataplane::{Content, ScanError, ScanOptions, Source, StreamSource, TreeSource};
use garland_protocol::{Destination, TreeDestination, TreeLimits};
use garland_sys::confine::Root;
use garland_sys::signal::Interrupts;
use garland_sys::{clock, random};

use crate::cp::elsewhere::{Elsewhere, MODE};
use crate::cp::ends;
use crate::cp::request::CopyRequest;
use garland_results::tree::TreeResult;
use garland_terminal::failure::{Failure, OrFailure};

/// What is given.
pub enum CopySource {
    /// One file.
    File(PathBuf, Arc<Source>),
    /// One that is elsewhere.
    Elsewhere(Arc<Elsewhere>),
    /// Files and folders.
    Tree(Arc<TreeSource>),
    /// Bytes that come once, with a name if they have one.
    Stream(Vec<u8>, Layout, Arc<StreamSource>),
}

impl CopySource {
    /// Opens what the user named, on a disk of so many bytes per second if it is an emulated one;
    /// looks at all of a tree.
    pub fn open(
        request: &CopyRequest<'_>,
        interrupts: &Arc<Interrupts>,
        disk: Option<u64>,
    ) -> Result<Self, Failure> {
        if let Some(elsewhere) = Elsewhere::open(request.args, interrupts)? {
            return Ok(Self::Elsewhere(Arc::new(elsewhere)));
        }
        if request.args.delete {
            is_one_folder(request.args.sources())?;
        }
        match request.args.sources() {
            sources if sources.iter().any(|source| ends::is_stream(source)) => {
                Self::stream(request)
            }
            [file] if !request.args.recursive || is_file(file) => {
                let source = ends::source(file)?.on_disk_of(disk);
                Ok(Self::File(file.clone(), Arc::new(source)))
            }
            _ if !request.args.recursive => {
                let count = request.args.sources().len();
                Err(Failure::usage(format!("{count} sources go into one folder, by -r")))
            }
            sources => {
                let options = ScanOptions {
                    excludes: request.excludes.clone(),
                    attributes: request.args.xattrs,
                    sweep: request.args.delete,
                    root: &Root::Free,
                    stop: &|| interrupts.have_come(),
                };
                let tree = TreeSource::open(sources, &options).map_err(unscanned)?;
                Ok(Self::Tree(Arc::new(tree.on_disk_of(disk))))
            }
        }
    }

    /// Opens the one stream that is given.
    fn stream(request: &CopyRequest<'_>) -> Result<Self, Failure> {
        let [source] = request.args.sources() else {
            return Err(Failure::usage("a stream is copied alone, not beside other sources"));
        };
        if request.args.stripe.is_some() {
            return Err(Failure::usage("a stream can't be striped: nobody knows its length")
                .hint("write it to a file first"));
        }
        let block = request.block_size.unwrap_or(DEFAULT_BLOCK_SIZE);
        let layout = Layout::open_ended(block).map_err(Failure::usage)?;
        let (name, opened) = match target::parse(source.as_os_str()) {
            Ok(Target::Pipe) => (Vec::new(), open_input(layout)),
            Ok(Target::Command(line)) if line.trim_ascii().is_empty() => {
                return Err(Failure::usage("there is no command behind `|`")
                    .hint("such as '|pg_dump data'"));
            }
            // A plan doesn't need its bytes.
            Ok(Target::Command(_)) if request.args.dry_run => (Vec::new(), open_input(layout)),
            Ok(Target::Command(line)) => {
                (Vec::new(), StreamSource::of_command(&line, None, layout))
            }
            _ => {
                let name = source.file_name().unwrap_or_default();
                (name.as_bytes().to_vec(), StreamSource::of_pipe(source, layout))
            }
        };
        let stream = opened.or_nothing(format!("opening {}", source.display()))?;
        Ok(Self::Stream(name, layout, Arc::new(stream)))
    }

    /// How it is cut into blocks, of `block` bytes if the user says so.
    pub fn layout(&self, block: Option<u32>) -> Result<Layout, Failure> {
        match (self, block) {
            (Self::Stream(_, layout, _), _) => Ok(*layout),
            (_, None) => Ok(Layout::fitting(self.content().length())),
            (_, Some(block)) => Layout::new(self.content().length(), block).map_err(Failure::usage),
        }
    }

    /// The file that is given, if it is one.
    pub fn file(&self) -> Option<(&Path, &Arc<Source>)> {
        match self {
            Self::File(path, source) => Some((path, source)),
            Self::Elsewhere(_) | Self::Tree(_) | Self::Stream(..) => None,
        }
    }

    /// Its bytes.
    pub fn content(&self) -> Arc<dyn Content> {
        match self {
            Self::File(_, source) => Arc::<Source>::clone(source),
            Self::Elsewhere(elsewhere) => Arc::<Elsewhere>::clone(elsewhere),
            Self::Tree(tree) => Arc::<TreeSource>::clone(tree),
            Self::Stream(_, _, stream) => Arc::<StreamSource>::clone(stream),
        }
    }

    /// What became of a tree on this machine's side.
    pub fn tree(&self) -> Option<TreeResult> {
        match self {
            Self::File(..) | Self::Elsewhere(_) | Self::Stream(..) => None,
            Self::Tree(tree) => {
                let result = TreeResult::new(tree.tally(), &tree.left_out());
                Some(result.with_deletion_skipped(tree.unswept()))
            }
        }
    }

    /// A plan by which it was copied: who joined is in it, and what was a stream has a length now.
    pub fn ended(&self, plan: Plan, outcome: &Outcome) -> Plan {
        let planned = plan.receivers().count();
        let joined = outcome.nodes.iter().skip(planned).map(|node| node.name.as_str());
        let plan = plan.joined_by(joined);
        if plan.layout.open { plan.ended_at(self.content().length()) } else { plan }
    }

    /// It and where it goes on nodes, `path` there, with a `manifest` beside it if there is one.
    pub fn ends(
        &self,
        request: &CopyRequest<'_>,
        path: &[u8],
        manifest: Option<Manifest>,
    ) -> Result<Ends, Failure> {
        let destination = self.destination(request, path)?;
        Ok(Ends::Out { source: self.content(), destination, manifest })
    }

    /// Where it goes on nodes, `path` there.
    fn destination(&self, request: &CopyRequest<'_>, path: &[u8]) -> Result<Destination, Failure> {
        let streams = matches!(path, b"/dev/null" | b"-" | [b'|', ..]);
        if streams {
            let message = "what goes to a pipe, a command or nowhere can't be read back";
            request.refuse_to_read_back(message)?;
        }
        Ok(match (path, self) {
            (b"/dev/null", _) => Destination::Null,
            (b"-", _) if request.args.stripe.is_some() => {
                return Err(Failure::usage("stripes can't go to standard output"));
            }
            (b"-", Self::Tree(_)) => {
                return Err(Failure::usage("a tree goes to a folder, not to standard output")
                    .hint("for its bytes as one stream: tar"));
            }
            (b"-", Self::File(..) | Self::Elsewhere(_) | Self::Stream(..)) => Destination::Output,
            ([b'|', ..], _) if request.args.stripe.is_some() => {
                return Err(Failure::usage("stripes can't go to commands"));
            }
            ([b'|', ..], Self::Tree(_)) => {
                return Err(Failure::usage("a tree goes to a folder, not to a command")
                    .hint("for its bytes as one stream: tar c . | garland cp - 'n[1-3]:|tar x'"));
            }
            ([b'|', line @ ..], _) => Destination::Command(line.to_vec()),
            (path, Self::Tree(_)) => Destination::Tree(TreeDestination {
                path: path.to_vec(),
                below: None,
                fsync: !request.args.no_fsync,
                verify: request.args.checks.verify,
                limits: TreeLimits {
                    removes: request.args.delete,
                    attributes: request.args.xattrs,
                    ..TreeLimits::default()
                },
            }),
            (path, Self::File(..) | Self::Elsewhere(_) | Self::Stream(..)) => {
                let FileFacts { name, mode, modified } = self.facts()?;
                Destination::File {
                    path: path.to_vec(),
                    below: None,
                    name,
                    mode,
                    times: modified.filter(|_| request.args.preserve),
                    fsync: !request.args.no_fsync,
                    room: self.room(),
                    force_device: request.args.force_device,
                }
            }
        })
    }

    /// Bytes that a file of it takes on a disk: all that come, where nobody knows of holes.
    fn room(&self) -> u64 {
        match self {
            Self::File(_, source) => source.room(),
            _ => u64::MAX,
        }
    }

    /// What is known of the one file.
    fn facts(&self) -> Result<FileFacts, Failure> {
        let nameless = || Failure::usage("the source has no name");
        match self {
            Self::File(file, source) => Ok(FileFacts {
                name: file.file_name().ok_or_else(nameless)?.as_bytes().to_vec(),
                mode: source.mode().or_nothing("asking for the source's mode")?,
                modified: Some(source.modified()),
            }),
            Self::Elsewhere(elsewhere) => Ok(FileFacts {
                name: elsewhere.file_name().ok_or_else(|| {
                    nameless().hint("its URL ends in a folder: name one that ends in a file")
                })?,
                mode: MODE,
                modified: elsewhere.modified(),
            }),
            Self::Stream(name, ..) => {
                Ok(FileFacts { name: name.clone(), mode: 0o666, modified: None })
            }
            Self::Tree(_) => Err(Failure::usage("a tree can't be striped")),
        }
    }

    /// What is to lie beside every stripe, but for what isn't known yet: the digests.
    pub fn manifest(&self, plan: &Plan, stripes: Stripes) -> Result<Manifest, Failure> {
        let FileFacts { name, mode, modified } = self.facts()?;
        let name = String::from_utf8(name).map_err(|_| {
            Failure::usage("the source's name isn't valid UTF-8, and a manifest is text")
                .hint("copy it under another name, by a link")
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

/// What is known of one file.
struct FileFacts {
    name: Vec<u8>,
    mode: u32,
    modified: Option<(i64, u32)>,
}

/// What is removed elsewhere is told by one folder.
fn is_one_folder(sources: &[PathBuf]) -> Result<(), Failure> {
    let folder = |path: &PathBuf| {
        let followed = path.as_os_str().as_bytes().ends_with(b"/");
        let stat = if followed { path.metadata() } else { path.symlink_metadata() };
        stat.is_ok_and(|stat| stat.is_dir())
    };
    match sources {
        [source] if folder(source) => Ok(()),
        _ => Err(Failure::usage("--delete takes one folder of this machine as its source")),
    }
}

/// This command's standard input.
fn open_input(layout: Layout) -> io::Result<StreamSource> {
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    Ok(StreamSource::of(input, "standard input", layout))
}

/// One plain file is copied alike with and without `-r`.
fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|stat| stat.is_file())
}

fn unscanned(error: ScanError) -> Failure {
    match error {
        ScanError::Interrupted => Failure::interrupted("looking at the source"),
        ScanError::Twice(_) => Failure::usage(error)
            .hint("copy one after the other; of `folder/` only what is in it is copied"),
        ScanError::Io { .. } | ScanError::Kind { .. } | ScanError::TooMany => {
            Failure::nothing(error)
        }
    }
}
