//! Files of a tree that are in place already and are kept. A kept file stays the same inode, and is
//! neither written nor read again.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use garland_core::tree::Meta;
use garland_protocol::copy::KeptStatus;
use garland_sys::process;
use rustix::fs::{FileType, Stat, fstat};

use super::dir_entry::DirEntry;
use super::metadata::{Manner, OtherLists, apply_changes};
use crate::attributes;
use crate::tree::{Stamp, open_file};

/// The maximum number of files with hard links that are remembered. Further ones are written again.
const LINKED: usize = 10_000;

/// A file of the tree that is in place already and is kept.
pub struct Kept {
    file: File,
    /// The name of the file in its directory.
    pub name: Vec<u8>,
    meta: Meta,
}

/// The device and inode numbers of files that had several hard links before the copy, and that are
/// kept under one name of the tree. Their other names become separate files, or hard links that the
/// stream creates later.
#[derive(Debug, Default)]
pub struct Linked(Vec<(u64, u64)>);

impl Kept {
    /// Returns the file at `entry` if it still has `stamp`, the stamp that it had when it was read,
    /// and can be given `meta`. Otherwise returns none: the file is written again. `linked` tells
    /// whether further hard links to the file follow in the stream, and which files with hard links
    /// are already kept.
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
        let same = plain && own && Stamp::from_stat(&stat) == stamp;
        let (linked, others) = linked;
        let single = stat.st_nlink == 1 || linked && others.take(&stat);
        let may = same && single && entry.refuse_folded().is_ok() && has_no_others(&file, meta);
        if may {
            entry.note_placed();
        }
        may.then(|| Self { file, name: name.to_vec(), meta: meta.clone() })
    }

    /// Sets those metadata of the file that differ and are kept. A mode that is not stays the same.
    ///
    /// # Errors
    /// When some of them cannot be set.
    pub fn apply_metadata(&self, keeps: KeptStatus) -> io::Result<()> {
        // It has no lists but those of the source.
        apply_changes(&self.file, &self.meta, Manner { lists: OtherLists::Stay, keeps })
    }
}

impl Linked {
    /// Records that a file with hard links is kept under the current name. Returns false if it is
    /// already kept under another name, or if too many files are recorded.
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

/// Returns whether a file has no extended attributes except those in `meta`.
fn has_no_others(file: impl AsFd, meta: &Meta) -> bool {
    let wanted = |name: &[u8]| meta.attributes.iter().any(|(of, _)| of == name);
    let has = attributes::read(file);
    has.is_ok_and(|has| has.iter().all(|(name, _)| wanted(name)))
}
