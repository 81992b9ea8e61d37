//! What is given to nodes: a file, or files and folders as one stream.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use garland_core::plan::{Manifest, Plan, StripeServer, Stripes};
use garland_core::proto::Destination;
use garland_core::tree::Pattern;
use garland_node::{Content, ScanError, ScanOptions, Source, TreeSource};
use garland_sys::signal::Interrupts;
use garland_sys::{clock, random};

use super::ends;
use super::tree_result::TreeResult;
use crate::args::Cp;
use crate::failure::{Failure, OrFailure};

/// What is given.
pub enum Given {
    /// One file.
    File(PathBuf, Arc<Source>),
    /// Files and folders.
    Tree(Arc<TreeSource>),
}

impl Given {
    /// Opens what the user named, on a disk of so many bytes per second if it is an emulated one;
    /// looks at all of a tree.
    pub fn open(cp: &Cp, interrupts: &Interrupts, disk: Option<u64>) -> Result<Self, Failure> {
        match cp.sources.as_slice() {
            [file] if !cp.recursive || is_file(file) => {
                let source = ends::source(file)?.on_disk_of(disk);
                Ok(Self::File(file.clone(), Arc::new(source)))
            }
            _ if !cp.recursive => {
                let count = cp.sources.len();
                Err(Failure::usage(format!("{count} sources go into one folder, by -r")))
            }
            sources => {
                let excludes = cp.exclude.iter().map(|pattern| {
                    Pattern::parse(pattern.as_bytes()).map_err(|error| {
                        let shown = pattern.to_string_lossy();
                        Failure::usage(format!("--exclude {shown}: {error}"))
                    })
                });
                let options = ScanOptions {
                    excludes: excludes.collect::<Result<_, _>>()?,
                    attributes: cp.xattrs,
                    stop: &|| interrupts.have_come(),
                };
                let tree = TreeSource::open(sources, &options).map_err(unscanned)?;
                Ok(Self::Tree(Arc::new(tree.on_disk_of(disk))))
            }
        }
    }

    /// Its bytes.
    pub fn content(&self) -> Arc<dyn Content> {
        match self {
            Self::File(_, source) => Arc::<Source>::clone(source),
            Self::Tree(tree) => Arc::<TreeSource>::clone(tree),
        }
    }

    /// What became of a tree on this machine's side.
    pub fn tree(&self) -> Option<TreeResult> {
        match self {
            Self::File(..) => None,
            Self::Tree(tree) => Some(TreeResult::new(tree.tally(), &tree.left_out())),
        }
    }

    /// Where it goes on nodes, `path` there.
    pub fn destination(&self, cp: &Cp, path: &[u8]) -> Result<Destination, Failure> {
        Ok(match (path, self) {
            (b"/dev/null", _) => Destination::Null,
            (b"-", _) if cp.stripe.is_some() => {
                return Err(Failure::usage("stripes can't go to standard output"));
            }
            (b"-", Self::Tree(_)) => {
                return Err(Failure::usage("a tree goes to a folder, not to standard output")
                    .hint("for its bytes as one stream: tar"));
            }
            (b"-", Self::File(..)) => Destination::Output,
            (path, Self::Tree(_)) => Destination::Tree { path: path.to_vec(), fsync: !cp.no_fsync },
            (path, Self::File(file, source)) => {
                let name = file.file_name();
                let name = name.ok_or_else(|| Failure::usage("the source has no name"))?;
                Destination::File {
                    path: path.to_vec(),
                    name: name.as_bytes().to_vec(),
                    mode: source.mode().or_nothing("asking for the source's mode")?,
                    times: cp.preserve.then(|| source.modified()),
                    fsync: !cp.no_fsync,
                }
            }
        })
    }

    /// What is to lie beside every stripe, but for what isn't known yet: the digests.
    pub fn manifest(&self, plan: &Plan, stripes: Stripes) -> Result<Manifest, Failure> {
        let Self::File(file, source) = self else {
            return Err(Failure::usage("a tree can't be striped"));
        };
        let name = file.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| {
            Failure::usage("the source's name isn't valid UTF-8, and a manifest is text")
                .hint("copy it under another name, by a link")
        })?;
        let server = |name: &str| StripeServer { name: name.to_owned(), digest: [0; 32] };
        Ok(Manifest {
            set: random::bytes(),
            written: i64::try_from(clock::wall_ns() / 1_000_000_000).unwrap_or(i64::MAX),
            name: name.to_owned(),
            mode: source.mode().or_nothing("asking for the source's mode")?,
            modified: source.modified(),
            stripes,
            layout: plan.layout,
            servers: plan.receivers().map(|(_, node)| server(&node.name)).collect(),
            number: 0,
        })
    }
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
