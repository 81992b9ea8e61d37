//! A file that is in place already and is kept: the same inode, neither written nor read again.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use garland_core::tree::Meta;
use garland_sys::process;
use rustix::fs::{FileType, Stat, fstat};

use super::dir_entry::DirEntry;
use super::metadata::apply_changes;
use crate::attributes;
use crate::tree::{Stamp, open_file};

/// The number of files with hard links that are remembered.
const LINKED: usize = 10_000;

/// A file that is kept.
pub struct Kept {
    file: File,
    /// The name of the file in its directory.
    pub name: Vec<u8>,
    meta: Meta,
}

/// The files that had several hard links before the copy and are kept under one name of the tree,
/// by device and inode. Their other names become separate files, or links that are created later.
#[derive(Debug, Default)]
pub struct Linked(Vec<(u64, u64)>);

impl Kept {
    /// Returns the file at `entry` if it still has the `stamp` that it had when it was read, and
    /// can be given `meta`. Any other file is written again.
    pub fn find(
        entry: &DirEntry<'_>,
        name: &[u8],
        meta: &Meta,
        stamp: Stamp,
        linked: (bool, &mut Linked),
    ) -> Option<Self> {
        let file = open_file(entry.folder(), name).ok()?;
        let stat = fstat(&file).ok()?;
        let plain = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        let user = process::user_id();
        let own = stat.st_uid == user || user == 0;
        let same = plain && own && Stamp::of(&stat) == stamp;
        let (linked, others) = linked;
        let single = stat.st_nlink == 1 || linked && others.take(&stat);
        let may = same && single && entry.refuse_folded().is_ok() && has_no_others(&file, meta);
        may.then(|| Self { file, name: name.to_vec(), meta: meta.clone() })
    }

    /// Sets the metadata where it differs.
    ///
    /// # Errors
    /// When some of it cannot be set.
    pub fn apply_metadata(&self) -> io::Result<()> {
        apply_changes(&self.file, &self.meta)
    }
}

impl Linked {
    /// Assigns a file to a name. Returns false if another name has the file, or too many files are
    /// remembered.
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

/// Returns whether all extended attributes of a file are among those in `meta`.
fn has_no_others(file: impl AsFd, meta: &Meta) -> bool {
    let wanted = |name: &[u8]| meta.attributes.iter().any(|(of, _)| of == name);
    let has = attributes::read(file);
    has.is_ok_and(|has| has.iter().all(|(name, _)| wanted(name)))
}
