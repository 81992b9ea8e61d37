//! The directory that a file is created in.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use garland_core::printable;
use garland_sys::confine::{self, Root};
use garland_sys::error::reason;
use rustix::fs::{Access, AtFlags, accessat};

use super::StoreError;

/// A directory that files are created in.
pub struct OpenDirectory {
    /// The open directory.
    pub folder: OwnedFd,
    /// Its path.
    pub path: PathBuf,
    /// The parents of the directories that were created for it.
    pub parents: Vec<OwnedFd>,
}

impl OpenDirectory {
    /// Creates the record of a directory that existed before.
    pub(super) fn new(folder: OwnedFd, path: PathBuf) -> Self {
        Self { folder, path, parents: Vec::new() }
    }
}

/// Returns a function that converts an error of opening the directory `path`.
pub(super) fn unopened(path: &Path) -> impl Fn(io::Error) -> StoreError {
    move |error| StoreError::path("open the directory", printable::path(path), &error)
}

/// Opens the directory `path` below `root`, or the directory `below` in it if given. Missing
/// directories are created.
pub fn open_below(
    root: &Root,
    path: &[u8],
    below: Option<&[u8]>,
) -> Result<OpenDirectory, StoreError> {
    let path = Path::new(OsStr::from_bytes(path));
    let (folder, mut parents) = root.open_or_make_dir(path).map_err(unopened(path))?;
    let Some(below) = below.map(OsStr::from_bytes) else {
        return Ok(OpenDirectory { folder, path: path.to_owned(), parents });
    };
    let path = path.join(below);
    let inner = confine::open_below(&folder, below).map_err(unopened(&path))?;
    parents.push(folder);
    Ok(OpenDirectory { folder: inner, path, parents })
}

/// Returns the directory and the file name of a destination: `given` and `name` if `given` is a
/// directory, else the two parts of `given`.
pub fn target(root: &Root, given: &Path, name: &OsStr) -> (PathBuf, OsString) {
    let is_folder = given.as_os_str().as_bytes().ends_with(b"/")
        || root.open_dir(given, false).is_ok()
        || given.file_name().is_none();
    if is_folder {
        return (given.to_owned(), name.to_owned());
    }
    let folder = given.parent().unwrap_or(Path::new("")).to_owned();
    (folder, given.file_name().unwrap_or(name).to_owned())
}

/// Returns why the directory `path`, which is missing, could not be opened, and what makes it: a
/// copy whose destination ends with `/`, if this process may write to the directory above.
pub fn missing_directory(root: &Root, path: &Path, error: &io::Error) -> String {
    let why = reason(error);
    let exists = |above: &&Path| root.find_dir(above).is_ok();
    let above = path.ancestors().skip(1).find(exists).unwrap_or(Path::new(""));
    let writable = root.find_dir(above).and_then(|found| {
        let wanted = Access::WRITE_OK | Access::EXEC_OK;
        Ok(accessat(&found, ".", wanted, AtFlags::EACCESS)?)
    });
    match writable {
        Ok(()) => format!("{why}; a copy to {}/ makes it", printable::path(path)),
        Err(refused) => {
            let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
            let above = printable::path(above);
            format!("{why}, and it cannot be made in {above}: {}", reason(&refused))
        }
    }
}
