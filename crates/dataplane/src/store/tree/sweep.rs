//! Removing what a folder has and a tree hasn't: never outside the folder, and through no link.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use garland_core::tree::{DEPTH_MAX, Pattern};
use rustix::fs::{AtFlags, Dir, FileType, Mode, fchmod, fstat, openat, statat, unlinkat};
use rustix::io::Errno;

use super::trouble::Troubles;
use crate::store::is_partial_name;
use crate::store::tree::extract::{FOLDER, OWN};

/// Names that are remembered of the folders that a stream is in, together: 24 MiB at most.
const NAMES: usize = 1 << 20;

/// What a stream has brought of the folders that it is in, and what stays in them besides.
pub struct Sweeper {
    spared: Vec<Pattern>,
    folders: Vec<Swept>,
    /// Names of these, together.
    names: usize,
    hashing: RandomState,
    removed: Arc<AtomicU64>,
}

/// A folder that the stream is in. Its names are known by their hashes: where two have one, something
/// stays that could go.
#[derive(Default)]
struct Swept {
    names: HashSet<u64>,
    /// Something couldn't be put into it, or its names are too many: nothing is removed.
    stays: bool,
}

/// Where something is that is removed.
struct Site<'a> {
    folder: &'a OwnedFd,
    /// The number of the folder's device.
    device: u64,
    /// Its path from the top, with a slash behind it unless it is the top.
    path: &'a [u8],
    depth: usize,
}

impl Sweeper {
    /// The stream is at the top; what `spared` means stays. How much was `removed` is counted.
    pub fn new(spared: &[Vec<u8>], removed: Arc<AtomicU64>) -> Self {
        let spared = spared.iter().filter_map(|text| Pattern::parse(text).ok()).collect();
        let (folders, hashing) = (vec![Swept::default()], RandomState::new());
        Self { spared, folders, names: 0, hashing, removed }
    }

    /// The stream has brought something of this name.
    pub fn brought(&mut self, name: &[u8]) {
        let hash = self.hashing.hash_one(name);
        let Some(folder) = self.folders.last_mut() else { return };
        if self.names >= NAMES {
            folder.stays = true;
        } else if folder.names.insert(hash) {
            self.names += 1;
        }
    }

    /// The stream goes into a folder.
    pub fn enter(&mut self) {
        self.folders.push(Swept::default());
    }

    /// It leaves one.
    pub fn leave(&mut self) {
        let left = self.folders.pop();
        self.names -= left.map_or(0, |left| left.names.len());
    }

    /// Something of the present folder isn't as it should be.
    pub fn trouble(&mut self) {
        self.folders.last_mut().into_iter().for_each(|folder| folder.stays = true);
    }

    /// Removes what is in the present folder and the stream hasn't brought.
    ///
    /// # Errors
    /// When nothing that follows could be done either.
    pub fn sweep(&self, folder: &OwnedFd, path: &[u8], troubles: &mut Troubles) -> io::Result<()> {
        let Some(own) = self.folders.last().filter(|own| !own.stays) else { return Ok(()) };
        let device = match fstat(folder) {
            Ok(stat) => stat.st_dev,
            Err(error) => return troubles.note(path, &error.into()),
        };
        let goes = |name: &[u8]| !own.names.contains(&self.hashing.hash_one(name));
        let site = Site { folder, device, path, depth: self.folders.len() };
        self.empty(&site, goes, troubles).map(drop)
    }

    /// Removes what is in a folder and `goes`; says whether nothing else is in it.
    fn empty(
        &self,
        site: &Site<'_>,
        goes: impl Fn(&[u8]) -> bool,
        troubles: &mut Troubles,
    ) -> io::Result<bool> {
        let listed = Dir::read_from(site.folder).and_then(|entries| {
            let names = entries.map(|entry| Ok(entry?.file_name().to_bytes().to_vec()));
            let other = |name: &Vec<u8>| name != b"." && name != b".." && goes(name);
            names.filter(|name| name.as_ref().map_or(true, other)).collect()
        });
        let names: Vec<Vec<u8>> = match listed {
            Ok(names) => names,
            Err(error) => return troubles.note(site.path, &error.into()).map(|()| false),
        };
        let mut all = true;
        for name in names {
            let path = [site.path, &name].concat();
            all &= match self.remove(site, &name, &path, troubles) {
                Ok(gone) => gone,
                Err(error) if error.kind() == io::ErrorKind::NotFound => true,
                Err(error) => troubles.note(&path, &error).map(|()| false)?,
            };
        }
        Ok(all)
    }

    /// Removes something by its name; says whether it is gone.
    fn remove(
        &self,
        site: &Site<'_>,
        name: &[u8],
        path: &[u8],
        troubles: &mut Troubles,
    ) -> io::Result<bool> {
        let stat = statat(site.folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        // What killed agents left is gone already: this is another copy's that is under way.
        let others = is_partial_name(OsStr::from_bytes(name));
        if others || self.spared.iter().any(|pattern| pattern.matches(path, is_folder)) {
            return Ok(false);
        }
        if is_folder && !self.remove_inside(site, name, path, troubles)? {
            return Ok(false);
        }
        let flags = if is_folder { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        match unlinkat(site.folder, name, flags) {
            Ok(()) => {
                self.removed.fetch_add(1, Ordering::Relaxed);
                Ok(true)
            }
            // Somebody has put something into it just now.
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn remove_inside(
        &self,
        above: &Site<'_>,
        name: &[u8],
        path: &[u8],
        troubles: &mut Troubles,
    ) -> io::Result<bool> {
        if above.depth > DEPTH_MAX {
            let message = format!("more than {DEPTH_MAX} folders within each other");
            return Err(io::Error::other(message));
        }
        let folder = openat(above.folder, name, FOLDER, Mode::empty())?;
        let stat = fstat(&folder)?;
        if stat.st_dev != above.device {
            return Err(io::Error::other("another file system is mounted there, and stays"));
        }
        if stat.st_mode & OWN != OWN {
            // Only its owner can; anybody else will see what comes of it.
            let _ = fchmod(&folder, Mode::from_raw_mode(stat.st_mode & 0o7777 | OWN));
        }
        let path = [path, b"/"].concat();
        let depth = above.depth + 1;
        let site = Site { folder: &folder, device: above.device, path: &path, depth };
        self.empty(&site, |_| true, troubles)
    }
}
