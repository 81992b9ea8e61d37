//! A disk that forgets at a crash what was not made stable.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use garland_core::splitmix::SplitMix;

/// The smallest part that is written or lost as a whole, in bytes.
const SECTOR: usize = 512;

/// A directory and its files.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    /// The names, now.
    names: BTreeMap<PathBuf, usize>,
    /// The changes of names that a crash may undo, the oldest first: the names before each.
    unstable: Vec<BTreeMap<PathBuf, usize>>,
    files: Vec<Contents>,
}

/// The bytes of a file: now, and on the medium.
#[derive(Clone, Debug, Default)]
struct Contents {
    now: Vec<u8>,
    stable: Vec<u8>,
}

impl Disk {
    /// Adds a stable file.
    #[must_use]
    pub fn with(mut self, path: &Path, bytes: &[u8]) -> Self {
        self.names.insert(path.to_path_buf(), self.files.len());
        self.files.push(Contents { now: bytes.to_vec(), stable: bytes.to_vec() });
        self
    }

    /// Returns a file's bytes.
    #[must_use]
    pub fn bytes(&self, path: &Path) -> Option<&[u8]> {
        self.names.get(path).map(|&file| &self.files[file].now[..])
    }

    /// Returns the names of all files.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.names.keys().map(PathBuf::as_path)
    }

    pub(super) fn find(&self, path: &Path) -> Option<usize> {
        self.names.get(path).copied()
    }

    fn change_names(&mut self) -> &mut BTreeMap<PathBuf, usize> {
        self.unstable.push(self.names.clone());
        &mut self.names
    }

    pub(super) fn create(&mut self, path: &Path, length: u64) -> usize {
        let file = self.files.len();
        let now = vec![0; usize::try_from(length).unwrap_or(0)];
        self.files.push(Contents { now, stable: Vec::new() });
        self.change_names().insert(path.to_path_buf(), file);
        file
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> bool {
        let Some(file) = self.find(from) else { return false };
        let names = self.change_names();
        names.remove(from);
        names.insert(to.to_path_buf(), file);
        true
    }

    pub(super) fn remove(&mut self, path: &Path) -> bool {
        self.find(path).is_some() && self.change_names().remove(path).is_some()
    }

    pub(super) fn read(&self, file: usize, offset: usize, bytes: &mut [u8]) -> usize {
        let rest = self.files[file].now.get(offset..).unwrap_or_default();
        let count = rest.len().min(bytes.len());
        bytes[..count].copy_from_slice(&rest[..count]);
        count
    }

    pub(super) fn write(&mut self, file: usize, offset: usize, bytes: &[u8]) {
        let now = &mut self.files[file].now;
        now.resize(now.len().max(offset + bytes.len()), 0);
        now[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    pub(super) fn sync(&mut self, file: usize) {
        let Contents { now, stable } = &mut self.files[file];
        stable.clone_from(now);
    }

    pub(super) fn sync_names(&mut self) {
        self.unstable.clear();
    }

    /// Loses some of what is not stable. Changes of names are lost from the last one on; sectors of
    /// files are lost in any choice.
    pub(super) fn crash(&mut self, random: &mut SplitMix) {
        let kept = random.below(self.unstable.len() + 1);
        if let Some(names) = self.unstable.get(kept) {
            self.names = names.clone();
        }
        for Contents { now, stable } in &mut self.files {
            if now == stable {
                continue;
            }
            stable.resize(now.len(), 0);
            for (new, old) in now.chunks_mut(SECTOR).zip(stable.chunks(SECTOR)) {
                if random.below(2) == 0 {
                    new.copy_from_slice(old);
                }
            }
        }
    }
}
