//! The state directory of labs: `labs/NAME/lab.json` and `labs/NAME/nodes/n3/`.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use garland_sys::namespace;

use crate::spec::name_fault;
use crate::{LabError, Record, share};

/// Garland's state directory; labs are in its subdirectory `labs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDir(pub PathBuf);

impl StateDir {
    /// Returns the records of all labs, running or left by a crash, sorted by name.
    pub fn list(&self) -> Result<Vec<Record>, LabError> {
        let labs = self.labs();
        let entries = match fs::read_dir(&labs) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(LabError::file("read directory", &labs)(error)),
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.map_err(LabError::file("read directory", &labs))?;
            found.extend(Record::read(&entry.path())?);
        }
        // A crashed lab may have left control groups.
        if found.iter().any(|record| record.living_keeper().is_none()) {
            share::sweep();
        }
        found.sort_by(|one, other| one.spec.name.cmp(&other.spec.name));
        Ok(found)
    }

    /// Returns the directory of the lab `name`.
    ///
    /// # Errors
    /// When `name` is not a valid name of a lab.
    pub(crate) fn lab(&self, name: &str) -> Result<PathBuf, LabError> {
        match name_fault(name) {
            None => Ok(self.labs().join(name)),
            Some(reason) => {
                Err(LabError::Spec { name: name.to_owned(), reason: reason.to_owned() })
            }
        }
    }

    /// Locks the labs of this state directory: no other process can start or end a lab until the
    /// returned file is dropped. Creates the directory if missing.
    pub(crate) fn lock(&self) -> Result<File, LabError> {
        let labs = self.labs();
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&labs)
            .map_err(LabError::file("create directory", &labs))?;
        let locked = || -> io::Result<File> {
            let folder = File::open(&labs)?;
            if folder.metadata()?.uid() != namespace::effective_ids().0 {
                return Err(io::Error::other("it belongs to another user"));
            }
            folder.lock()?;
            Ok(folder)
        };
        locked().map_err(LabError::file("lock directory", &labs))
    }

    fn labs(&self) -> PathBuf {
        self.0.join("labs")
    }
}

/// Creates a directory that must not exist yet, with access for its owner only.
pub(crate) fn make_private(folder: &Path) -> Result<(), LabError> {
    DirBuilder::new().mode(0o700).create(folder).map_err(LabError::file("create directory", folder))
}

/// Removes a directory and its contents. Symbolic links are removed and never followed. Succeeds if
/// the directory does not exist.
pub(crate) fn remove(folder: &Path) -> Result<(), LabError> {
    let removed = match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(folder).and_then(|()| fs::remove_dir_all(folder))
        }
        other => other,
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(LabError::file("remove directory", folder)(error))
        }
        _ => Ok(()),
    }
}

/// Makes all directories of a tree writable for their owner, since a copied tree may contain
/// read-only directories.
fn open_up(folder: &Path) -> io::Result<()> {
    // Where all users may write, another one may have put a link to another tree in its place.
    if !fs::symlink_metadata(folder)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}
