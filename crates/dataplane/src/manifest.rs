//! Makes the manifest of a file or directory, for which a name is published.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use garland_core::plan::Layout;
use garland_core::printable;
use garland_core::tree::DEPTH_MAX;
use garland_protocol::names::{NAMED_FILES_MAX, NAMED_MODE, NameManifest, NamedFile};
use garland_sys::confine::{Root, find_itself, open_found};
use garland_sys::error::reason;
use rustix::fs::{Dir, FileType, fstat};
use rustix::io::Errno;

use crate::block_index::holding::Holding;
use crate::block_index::{Opened, Records};
use crate::pace::Pace;
use crate::tree::open_directory;

/// Reads the files of a manifest.
pub struct ManifestReader<'a> {
    /// The directory that no path leaves.
    pub root: &'a Root,
    /// The digests of files that were read before.
    pub records: &'a Records,
    /// The rate of an emulated disk.
    pub disk: Option<&'a Pace>,
    /// Ends the reading when it is set.
    pub stop: &'a AtomicBool,
    /// Called for each file, and for each block that is read.
    pub progress: &'a dyn Fn(),
}

impl ManifestReader<'_> {
    /// Returns the manifest of the file or directory `path`, and its path below the root without a
    /// slash at the beginning and without symbolic links (raw bytes). Modes are reduced to
    /// [`NAMED_MODE`].
    ///
    /// # Errors
    /// When something cannot be read, changes meanwhile, or is neither a directory nor a regular
    /// file, or when there are no files.
    pub fn read(&self, path: &Path) -> Result<(Vec<u8>, NameManifest), String> {
        let told =
            |error: io::Error| format!("cannot open {}: {}", printable::path(path), reason(&error));
        let entry = self.root.find(path).and_then(|found| open_found(&found)).map_err(told)?;
        let real = real_path(self.root, &entry).map_err(told)?;
        // The name is the one that was asked for, also if it is that of a link.
        let base = match path.file_name() {
            Some(name) => name.as_bytes().to_vec(),
            None => real.rsplit(|byte| *byte == b'/').next().unwrap_or_default().to_vec(),
        };
        let is_tree = fstat(&entry)
            .map(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
            .map_err(|error| told(error.into()))?;
        let mut files = Vec::new();
        match is_tree {
            true => self.directory(&entry, &mut Vec::new(), &mut files, 0)?,
            false => files.push(self.file(File::from(entry), Vec::new(), path)?),
        }
        if base.is_empty() {
            return Err(format!(
                "{} is the root directory: publish what is in it",
                printable::path(path)
            ));
        }
        if files.is_empty() {
            return Err(format!("{} has no files in it to publish", printable::path(path)));
        }
        Ok((real, NameManifest { base, is_tree, files }))
    }

    /// Adds the files of a directory, whose path below the top is `path`, ordered by their names.
    fn directory(
        &self,
        folder: &OwnedFd,
        path: &mut Vec<u8>,
        files: &mut Vec<NamedFile>,
        depth: usize,
    ) -> Result<(), String> {
        let shown = |path: &[u8]| printable::path(Path::new(OsStr::from_bytes(path)));
        let told = |path: &[u8], error: io::Error| {
            format!("cannot read {}: {}", shown(path), reason(&error))
        };
        // A copy has the top below another directory.
        if depth + 1 >= DEPTH_MAX {
            return Err(format!("{} is nested too deeply", shown(path)));
        }
        let entries = Dir::read_from(folder).and_then(|entries| {
            let all = entries.map(|entry| Ok(entry?.file_name().to_bytes().to_vec()));
            all.collect::<rustix::io::Result<Vec<_>>>()
        });
        let mut names = entries.map_err(|error| told(path, error.into()))?;
        names.retain(|name| !matches!(name.as_slice(), b"." | b".."));
        names.sort_unstable();
        let above = path.len();
        for name in names {
            if above > 0 {
                path.push(b'/');
            }
            path.extend_from_slice(&name);
            if let Ok(inner) = open_directory(folder, &name) {
                self.directory(&inner, path, files, depth + 1)?;
            } else {
                let found = find_itself(folder, Path::new(OsStr::from_bytes(&name)));
                let file = found.and_then(|found| open_found(&found)).map_err(|error| {
                    match error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) {
                        true => {
                            format!("{} is a symbolic link, which names cannot have", shown(path))
                        }
                        false => told(path, error),
                    }
                })?;
                // What a manifest has no room for takes no memory.
                if files.len() == NAMED_FILES_MAX {
                    let last = shown(path);
                    return Err(format!(
                        "{last} is one file more than {NAMED_FILES_MAX}: publish parts of it"
                    ));
                }
                let at = PathBuf::from(OsStr::from_bytes(path));
                files.push(self.file(File::from(file), path.clone(), &at)?);
            }
            path.truncate(above);
        }
        Ok(())
    }

    fn file(&self, file: File, path: Vec<u8>, shown: &Path) -> Result<NamedFile, String> {
        let told = |error: io::Error| {
            format!("cannot read {}: {}", printable::path(shown), reason(&error))
        };
        let stat = file.metadata().map_err(told)?;
        if !stat.is_file() {
            return Err(format!(
                "cannot publish {}: it is neither a regular file nor a directory",
                printable::path(shown)
            ));
        }
        let opened = Opened::now(&file).map_err(told)?;
        let layout = Layout::fitting(stat.len());
        let records = self.records;
        let disk = self.disk;
        (self.progress)();
        let held =
            Holding::with_digests(file, layout.block_size, records, disk, self.progress, self.stop);
        let held = held.map_err(told)?;
        let digests = held.digests.all();
        let digests =
            digests.filter(|_| held.stamp == opened.stamp && opened.stamp.length == layout.length);
        let digests =
            digests.ok_or_else(|| told(io::Error::other("it changed while it was read")))?;
        records.note(&held.file, &opened, layout, &digests);
        let mode = stat.mode() & NAMED_MODE;
        let modified = opened.stamp.modified;
        Ok(NamedFile { path, mode, modified, layout, digests })
    }
}

/// Returns the path of an open file below `root` as [`ManifestReader::read`] does.
///
/// # Errors
/// When it is unknown, or outside of the root.
pub fn real_path(root: &Root, entry: &OwnedFd) -> io::Result<Vec<u8>> {
    let path_of = |fd: &OwnedFd| std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd()));
    let path = path_of(entry)?;
    let top = path_of(&root.top()?)?;
    let below = path.strip_prefix(&top).map_err(|_| io::Error::other("it is outside of the root"));
    Ok(below?.as_os_str().as_bytes().to_vec())
}

#[cfg(test)]
mod tests;
