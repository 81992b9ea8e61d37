//! A file that is there already and stays: the same inode, not written and not read again.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use garland_core::tree::Meta;
use garland_sys::process;
use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, openat};

use crate::attributes;
use crate::store::tree::dir_entry::DirEntry;
use crate::store::tree::metadata::redress;
use crate::tree::Stamp;

/// Files with several names of which one stays: so many are remembered.
const LINKED: usize = 10_000;

/// A file that stays.
pub struct Kept {
    file: File,
    /// Its name.
    pub name: Vec<u8>,
    meta: Meta,
}

/// Files that had several names before, and have become one of the tree's: what other names they had
/// are other files now, or names that follow.
#[derive(Debug, Default)]
pub struct Linked(Vec<(u64, u64)>);

impl Kept {
    /// What is at `spot`, if it is the file that had this `stamp` when it was read, and may become what
    /// `meta` says. Whatever else it is, it is written anew.
    pub fn find(
        spot: &DirEntry<'_>,
        name: &[u8],
        meta: &Meta,
        stamp: Stamp,
        linked: (bool, &mut Linked),
    ) -> Option<Self> {
        let file = open(spot.folder(), name).ok()?;
        let stat = fstat(&file).ok()?;
        let plain = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        let user = process::user_id();
        let own = stat.st_uid == user || user == 0;
        let same = plain && own && Stamp::of(&stat) == stamp;
        let (linked, others) = linked;
        let single = stat.st_nlink == 1 || linked && others.take(&stat);
        let may = same && single && spot.refuse_folded().is_ok() && has_no_others(&file, meta);
        may.then(|| Self { file, name: name.to_vec(), meta: meta.clone() })
    }

    /// Gives it what it is to have besides its bytes, where it hasn't.
    ///
    /// # Errors
    /// When something of it can't be given.
    pub fn dress(&self) -> io::Result<()> {
        redress(&self.file, &self.meta)
    }
}

impl Linked {
    /// Takes a file for a name; says whether it was none's before, as far as is known.
    fn take(&mut self, stat: &Stat) -> bool {
        let id = (stat.st_dev, stat.st_ino);
        match self.0.binary_search(&id) {
            Err(place) if self.0.len() < LINKED => {
                self.0.insert(place, id);
                true
            }
            _ => false,
        }
    }
}

fn open(folder: &OwnedFd, name: &[u8]) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(File::from(openat(folder, name, flags, Mode::empty())?))
}

/// Whether a file has no attribute that it isn't to have.
fn has_no_others(file: impl AsFd, meta: &Meta) -> bool {
    let wanted = |name: &[u8]| meta.attributes.iter().any(|(of, _)| of == name);
    let has = attributes::read(file);
    has.is_ok_and(|has| has.iter().all(|(name, _)| wanted(name)))
}
