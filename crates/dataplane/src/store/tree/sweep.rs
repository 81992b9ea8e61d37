//! Removes from a directory what is not part of the tree, or names it, without following symbolic
//! links.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use garland_core::tree::{DEPTH_MAX, Pattern};
use garland_protocol::copy::SweptMounts;
use garland_sys::removal::Ground;
use garland_sys::sync::Mutex;
use rustix::fs::{AtFlags, Dir, FileType, fstat, statat, unlinkat};
use rustix::io::Errno;

use super::directory;
use super::exact_names;
use super::surplus::Surplus;
use super::trouble::Troubles;
use crate::store::left::is_partial_name;
use crate::tree::open_directory;

/// The maximum number of names that are remembered of all open directories together; they take 24
/// MiB at most.
const NAMES: usize = 1 << 20;

/// The number of bits in half of a hash.
const HALF: u32 = 32;

/// The names of the tree in each open directory, and the patterns of other paths that stay.
pub struct Sweeper {
    spared: Vec<Pattern>,
    folders: Vec<Swept>,
    /// The total number of names in `folders`.
    names: usize,
    hashing: RandomState,
    fate: Fate,
    swept: SweptMounts,
    /// The ground of the directories that are swept if not all are; none if it is not known.
    only: Option<Ground>,
}

/// What happens to entries that are not part of the tree.
enum Fate {
    /// They are removed and counted, as long as the number is below the maximum.
    Removed { removed: Arc<AtomicU64>, removed_max: u64 },
    /// They stay, and their paths are collected.
    Named(Mutex<Surplus>),
}

/// The names of a directory that can be swept. Its names are stored as hashes: if a name that
/// should be removed has the same hash as a name of the tree, it stays. The upper half of a hash is
/// that of what file systems may make of the name.
#[derive(Default)]
pub struct Swept {
    names: HashSet<u64>,
    /// Whether everything in the directory stays, because there are too many names, or because it
    /// is swept already.
    stays: bool,
    depth: usize,
}

/// A directory from which names are removed.
struct Site<'a> {
    folder: &'a OwnedFd,
    /// What is mounted below the directory has another one, and stays.
    ground: Ground,
    /// The path of the directory relative to the top. It ends in a slash; that of the top is empty.
    path: &'a [u8],
    depth: usize,
}

impl Sweeper {
    /// Returns a sweeper whose current directory is the top. Paths that match a pattern of `spared`
    /// stay; `removed` counts the removed files and directories, of which there are at most
    /// `removed_max`.
    pub fn new(spared: &[Vec<u8>], removed: Arc<AtomicU64>, removed_max: u64) -> Self {
        Self::with(spared, Fate::Removed { removed, removed_max })
    }

    /// Returns a sweeper as [`Self::new`] does, but which removes nothing: it collects the paths of
    /// what would be removed.
    pub fn naming(spared: &[Vec<u8>]) -> Self {
        Self::with(spared, Fate::Named(Mutex::default()))
    }

    fn with(spared: &[Vec<u8>], fate: Fate) -> Self {
        let spared = spared.iter().filter_map(|text| Pattern::parse(text).ok()).collect();
        let folders = vec![Swept::default()];
        let hashing = RandomState::new();
        let swept = SweptMounts::All;
        Self { spared, folders, names: 0, hashing, fate, swept, only: None }
    }

    /// Sets from which directories something is removed; `top` is the destination directory.
    pub fn sweeping(self, swept: SweptMounts, top: &OwnedFd) -> Self {
        Self { swept, only: Ground::new(top).ok(), ..self }
    }

    /// Returns the paths that were collected.
    pub fn into_named(self) -> Surplus {
        match self.fate {
            Fate::Removed { .. } => Surplus::default(),
            Fate::Named(surplus) => surplus.into_inner(),
        }
    }

    /// Records that `name` in the current directory is part of the tree, so that it stays. If too
    /// many names are recorded, nothing in the directory is removed.
    pub fn keep(&mut self, name: &[u8]) {
        let hash = self.hash(name);
        let Some(folder) = self.folders.last_mut() else { return };
        if self.names >= NAMES {
            folder.stays = true;
        } else if folder.names.insert(hash) {
            self.names += 1;
        }
    }

    /// Makes a directory of the tree the current one; `folder` is it, if it is there.
    pub fn enter(&mut self, folder: Option<&OwnedFd>) {
        let is_outermost = self.folders.len() == 1;
        if is_outermost && self.swept == SweptMounts::OfCopied {
            self.only = folder.and_then(|folder| Ground::new(folder).ok());
        }
        self.folders.push(Swept::default());
    }

    /// Makes the parent of the current directory the current one.
    pub fn leave(&mut self) {
        let left = self.folders.pop();
        self.names -= left.map_or(0, |left| left.names.len());
    }

    /// Returns the names of the current directory, which is complete, to sweep it once they are in
    /// place. It is not swept again.
    pub fn complete(&mut self) -> Swept {
        let depth = self.folders.len();
        let after = Swept { stays: true, ..Swept::default() };
        let own = self.folders.last_mut().map(|own| std::mem::replace(own, after));
        Swept { depth, ..own.unwrap_or_default() }
    }

    /// Removes from a directory all names that are not part of the tree, with everything in them,
    /// unless that `is_kept`. `own` are its names, `folder` is the directory and `path` its path.
    /// Errors of single names are added to `troubles`.
    ///
    /// # Errors
    /// When an error occurs that affects the rest of the tree, too, such as a full disk.
    pub fn sweep(
        &mut self,
        own: &Swept,
        is_kept: bool,
        folder: &OwnedFd,
        path: &[u8],
        troubles: &mut Troubles,
    ) -> io::Result<()> {
        self.names -= own.names.len();
        if own.stays || is_kept {
            return Ok(());
        }
        let ground = match Ground::new(folder) {
            Ok(ground) => ground,
            Err(error) => return troubles.note(path, &error),
        };
        if self.swept != SweptMounts::All && self.only != Some(ground) {
            return Ok(());
        }
        let site = Site { folder, ground, path, depth: own.depth };
        let names = match self.surplus(own, folder) {
            Ok(names) => names,
            Err(error) => return troubles.note(path, &error.into()),
        };
        self.empty(&site, names, troubles).map(drop)
    }

    /// Returns the names in `folder` that are neither names of the tree nor may be what the file
    /// system lists instead of one: a name of the tree that it does not list may be found under any
    /// name that is the same but for case or for dots at the end.
    fn surplus(&self, own: &Swept, folder: &OwnedFd) -> rustix::io::Result<Vec<Vec<u8>>> {
        let mut others = listed(folder)?;
        others.retain(|name| !own.names.contains(&self.hash(name)));
        if others.is_empty() {
            return Ok(others);
        }
        let mut unlisted = own.names.clone();
        for name in listed(folder)? {
            unlisted.remove(&self.hash(&name));
        }
        let unlisted: HashSet<u64> = unlisted.into_iter().map(|hash| hash >> HALF).collect();
        let may_have_others = match &self.fate {
            Fate::Removed { .. } => exact_names::may_have_others,
            // The tree is not in place, so that all that is new is unlisted.
            Fate::Named(_) => exact_names::may_ignore_case,
        };
        others.retain(|name| {
            let is_like_one = unlisted.contains(&(self.hash(name) >> HALF));
            !is_like_one || !may_have_others(folder, name)
        });
        Ok(others)
    }

    fn hash(&self, name: &[u8]) -> u64 {
        let folded = self.hashing.hash_one(exact_names::folded(name));
        folded >> HALF << HALF | self.hashing.hash_one(name) >> HALF
    }

    /// Removes the entries `names` of the directory `site`. Returns whether all of them were
    /// removed.
    fn empty(
        &self,
        site: &Site<'_>,
        names: Vec<Vec<u8>>,
        troubles: &mut Troubles,
    ) -> io::Result<bool> {
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

    /// Removes or names the file or directory `name`, unless it is to stay. Returns whether it was
    /// removed or named.
    fn remove(
        &self,
        site: &Site<'_>,
        name: &[u8],
        path: &[u8],
        troubles: &mut Troubles,
    ) -> io::Result<bool> {
        let stat = statat(site.folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        // Partial files of killed agents have been removed already: this one belongs to a running
        // copy.
        let others = is_partial_name(OsStr::from_bytes(name));
        if others || Pattern::exclude(&self.spared, path, is_folder) {
            return Ok(false);
        }
        // Nothing is changed in a directory that stays.
        self.check_maximum()?;
        match is_folder {
            true => self.remove_folder(site, name, path, troubles),
            false => self.unlink(site, name, path, AtFlags::empty()),
        }
    }

    /// Removes or names the file `name`, or the empty directory, as `flags` say.
    fn unlink(
        &self,
        site: &Site<'_>,
        name: &[u8],
        path: &[u8],
        flags: AtFlags,
    ) -> io::Result<bool> {
        self.check_maximum()?;
        let removed = match &self.fate {
            Fate::Removed { removed, .. } => removed,
            Fate::Named(surplus) => {
                let slash: &[u8] = if flags == AtFlags::REMOVEDIR { b"/" } else { b"" };
                surplus.lock().add([path, slash].concat());
                return Ok(true);
            }
        };
        match unlinkat(site.folder, name, flags) {
            Ok(()) => {
                removed.fetch_add(1, Ordering::Relaxed);
                Ok(true)
            }
            // Another process has just created something in it.
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Fails if as many files and directories were removed as may be.
    fn check_maximum(&self) -> io::Result<()> {
        match &self.fate {
            Fate::Removed { removed, removed_max }
                if removed.load(Ordering::Relaxed) >= *removed_max =>
            {
                let why = format!("not removed: --max-delete {removed_max} is reached");
                Err(io::Error::other(why))
            }
            Fate::Removed { .. } | Fate::Named(_) => Ok(()),
        }
    }

    /// Removes or names a directory and what is in it. If it stays, it keeps its mode.
    fn remove_folder(
        &self,
        above: &Site<'_>,
        name: &[u8],
        path: &[u8],
        troubles: &mut Troubles,
    ) -> io::Result<bool> {
        if above.depth > DEPTH_MAX {
            let message = format!("directories are nested more than {DEPTH_MAX} deep");
            return Err(io::Error::other(message));
        }
        let folder = open_directory(above.folder, name)?;
        // The number of the device alone does not tell: a directory of the same file system may be
        // bound there.
        if Ground::new(&folder)? != above.ground {
            return Err(io::Error::other("not removed: something is mounted there"));
        }
        let before = fstat(&folder)?;
        let is_opened = matches!(self.fate, Fate::Removed { .. });
        if is_opened {
            directory::allow_owner(&folder, &before);
        }
        let own = path;
        let path = [own, b"/"].concat();
        let depth = above.depth + 1;
        let site = Site { folder: &folder, ground: above.ground, path: &path, depth };
        let emptied = match listed(&folder) {
            Ok(names) => self.empty(&site, names, troubles),
            Err(error) => troubles.note(&path, &error.into()).map(|()| false),
        };
        let gone = match emptied {
            Ok(true) => self.unlink(above, name, own, AtFlags::REMOVEDIR),
            stays => stays,
        };
        if is_opened && !matches!(gone, Ok(true)) {
            directory::close_again(&folder, &before);
        }
        gone
    }
}

/// Returns the names of all entries of a directory.
fn listed(folder: &OwnedFd) -> rustix::io::Result<Vec<Vec<u8>>> {
    let names = Dir::read_from(folder)?.map(|entry| Ok(entry?.file_name().to_bytes().to_vec()));
    let is_entry = |name: &Vec<u8>| name != b"." && name != b"..";
    names.filter(|name| name.as_ref().map_or(true, is_entry)).collect()
}
