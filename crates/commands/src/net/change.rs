//! Changes of files: what a file is, and what it should be.

use std::fmt;
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use garland_core::printable;
use garland_sys::new_file::NewFile;
use garland_terminal::failure::{Failure, OrFailure};
use garland_topology::config::{ConfigFile, Format, Place};

/// A change of a file from its present content to the planned content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path of the file.
    pub path: PathBuf,
    /// The present content of the file; `None` if it does not exist.
    pub old: Option<Content>,
    /// The planned content of the file; `None` if it is to be removed.
    pub new: Option<Content>,
}

/// A file's bytes and permission bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The content of the file.
    pub bytes: Vec<u8>,
    /// The permission bits, such as `0o644`.
    pub mode: u32,
}

impl Change {
    /// Returns the changes below `root` that would put `files` in place, and remove files of this
    /// format that an earlier topology left.
    pub fn all(root: &Path, format: Format, files: &[ConfigFile]) -> Result<Vec<Self>, Failure> {
        let mut changes = Vec::new();
        for file in files {
            let path = below(root, &file.path)?;
            let old = read(&path)?;
            let before = old.as_ref().map(|old| String::from_utf8_lossy(&old.bytes));
            let mode = match (&old, file.place) {
                (Some(old), Place::Block) => old.mode,
                _ => file.mode,
            };
            let bytes = file.over(before.as_deref()).into_bytes();
            let new = Some(Content { bytes, mode });
            changes.push(Self { path, old, new });
        }
        for path in ours(root, format)? {
            if !files.iter().any(|file| file.path == path) {
                let path = below(root, &path)?;
                let old = read(&path)?;
                changes.push(Self { path, old, new: None });
            }
        }
        changes.retain(|change| change.old != change.new);
        Ok(changes)
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match (&self.old, &self.new) {
            (None, _) => "write",
            (Some(_), None) => "remove",
            (Some(old), Some(new)) if old.bytes == new.bytes => {
                return write!(f, "set mode {:o} of {}", new.mode, printable::path(&self.path));
            }
            (Some(_), Some(_)) => "replace",
        };
        write!(f, "{what} {}", printable::path(&self.path))
    }
}

/// Writes the file `path`, whose directory is created if missing, with these permission bits.
pub fn put(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Failure> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(directory)
        .or_nothing(format!("cannot create {}", printable::path(directory)))?;
    let write = || -> io::Result<()> {
        let mut file = NewFile::with_mode(path, 0o600)?;
        file.write_all(bytes)?;
        file.file().set_permissions(Permissions::from_mode(mode))?;
        file.file().sync_all()?;
        file.commit()
    };
    write().or_nothing(format!("cannot write {}", printable::path(path)))
}

fn read(path: &Path) -> Result<Option<Content>, Failure> {
    let content = || -> io::Result<Content> {
        let mode = File::open(path)?.metadata()?.permissions().mode() & 0o7777;
        Ok(Content { bytes: fs::read(path)?, mode })
    };
    match content() {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).or_nothing(format!("cannot read {}", printable::path(path))),
    }
}

/// Returns the existing files below `root` that Garland names in this format. The paths begin with
/// `/` and do not include `root`.
fn ours(root: &Path, format: Format) -> Result<Vec<String>, Failure> {
    let directory = below(root, format.folder())?;
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(error).or_nothing(format!("cannot read {}", printable::path(&directory)));
        }
    };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut paths: Vec<String> = names.map(|name| format!("{}{name}", format.folder())).collect();
    paths.retain(|path| format.owns(path));
    paths.sort();
    Ok(paths)
}

/// Resolves the absolute path `path` below `root`. Symbolic links are followed if `root` is `/`,
/// and refused otherwise, since they could lead out of `root`.
fn below(root: &Path, path: &str) -> Result<PathBuf, Failure> {
    let mut whole = root.to_owned();
    for part in Path::new(path).components() {
        let Component::Normal(name) = part else { continue };
        whole.push(name);
        if whole.is_symlink() {
            if root != Path::new("/") {
                let link = printable::path(&whole);
                return Err(Failure::usage(format!(
                    "{link} is a symbolic link, which could lead out of --root"
                ))
                .hint("replace it by its target, or write the files with --output-dir"));
            }
            whole = fs::canonicalize(&whole)
                .or_nothing(format!("cannot resolve {}", printable::path(&whole)))?;
        }
    }
    Ok(whole)
}
