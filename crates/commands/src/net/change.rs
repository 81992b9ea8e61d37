//! Changes of files: what a file is, what it should be, and how to apply and undo the change.

use std::fmt;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use garland_sys::new_file::NewFile;
use garland_topology::config::{ConfigFile, Format, Place};
use serde::{Deserialize, Serialize};

use garland_terminal::failure::{Failure, OrFailure};

/// A change of a file from its present content to the planned content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The path of the file.
    pub path: PathBuf,
    /// The present content of the file; `None` if it does not exist.
    pub old: Option<Content>,
    /// The planned content of the file; `None` if it is to be removed.
    pub new: Option<Content>,
}

/// A file's bytes and permission bits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// The content of the file.
    pub bytes: Vec<u8>,
    /// The permission bits, such as `0o644`.
    pub mode: u32,
}

impl Change {
    /// Returns the changes below `root` that install `files`, and remove files of this format that an earlier
    /// topology left.
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

    /// Gives the file its planned content.
    pub fn apply(&self) -> Result<(), Failure> {
        put(&self.path, self.new.as_ref())
    }

    /// Restores the former content of the file.
    pub fn undo(&self) -> Result<(), Failure> {
        put(&self.path, self.old.as_ref())
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match (&self.old, &self.new) {
            (None, _) => "write",
            (Some(_), None) => "remove",
            (Some(old), Some(new)) if old.bytes == new.bytes => {
                return write!(f, "set mode {:o} of {}", new.mode, self.path.display());
            }
            (Some(_), Some(_)) => "replace",
        };
        write!(f, "{what} {}", self.path.display())
    }
}

/// Writes a file under a temporary name and renames it. A file that is a mount point itself, as `/etc/hosts`
/// in containers, cannot be renamed to and is written in place.
fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let written = || {
        // Network tools ignore the temporary name, which begins with a dot.
        let mut file = NewFile::with_mode(path, 0o600)?;
        file.write_all(bytes)?;
        file.file().set_permissions(Permissions::from_mode(mode))?;
        file.file().sync_all()?;
        file.commit()
    };
    let Err(error) = written() else { return Ok(()) };
    if error.kind() != ErrorKind::ResourceBusy {
        return Err(error);
    }
    let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Writes `content` to the file `path`, whose directory is created if missing. If `content` is
/// `None`, removes the file.
pub fn put(path: &Path, content: Option<&Content>) -> Result<(), Failure> {
    match content {
        Some(content) => {
            let directory = path.parent().unwrap_or(Path::new("/"));
            fs::create_dir_all(directory)
                .or_nothing(format!("creating {}", directory.display()))?;
            write(path, &content.bytes, content.mode)
                .or_nothing(format!("writing {}", path.display()))
        }
        None => match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).or_nothing(format!("removing {}", path.display()))
            }
            _ => Ok(()),
        },
    }
}

fn read(path: &Path) -> Result<Option<Content>, Failure> {
    let content = || -> io::Result<Content> {
        let mode = File::open(path)?.metadata()?.permissions().mode() & 0o7777;
        Ok(Content { bytes: fs::read(path)?, mode })
    };
    match content() {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).or_nothing(format!("reading {}", path.display())),
    }
}

/// Returns the existing files below `root` that Garland names in this format. The paths begin with
/// `/` and do not include `root`.
fn ours(root: &Path, format: Format) -> Result<Vec<String>, Failure> {
    let directory = below(root, format.folder())?;
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).or_nothing(format!("reading {}", directory.display())),
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
                let link = whole.display();
                return Err(Failure::usage(format!(
                    "{link} is a symbolic link, which could lead out of --root"
                ))
                .hint("replace it by its target, or write the files with --output-dir"));
            }
            whole =
                fs::canonicalize(&whole).or_nothing(format!("resolving {}", whole.display()))?;
        }
    }
    Ok(whole)
}
