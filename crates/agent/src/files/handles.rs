//! The open files of a mount.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use garland_sys::sync::Mutex;
use garland_sys::threads::{Slot, Slots};
use rustix::io::Errno;

use super::listing::Listing;

/// An open file or directory.
pub enum Open {
    File(OpenFile),
    Folder(Mutex<Listing>),
}

/// An open file.
pub struct OpenFile {
    pub file: File,
    /// Whether the peer may change its attributes, whatever it was opened for.
    pub may_change: bool,
}

/// The open files of a mount, by handle.
pub struct Handles {
    open: Mutex<HashMap<u64, Kept>>,
    /// A slot for each open file of all mounts of the peer.
    slots: Arc<Slots>,
    last: AtomicU64,
}

/// A file that is kept open.
struct Kept {
    open: Arc<Open>,
    _slot: Slot,
}

impl Handles {
    /// Creates an empty set of files, each of which takes one of `slots`.
    pub fn new(slots: Arc<Slots>) -> Self {
        Self { open: Mutex::default(), slots, last: AtomicU64::new(0) }
    }

    /// Adds an open file. Returns its handle, or `ENFILE` if the peer has too many open files.
    pub fn keep(&self, open: Open) -> Result<u64, Errno> {
        let slot = self.slots.take().ok_or(Errno::NFILE)?;
        let handle = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        self.open.lock().insert(handle, Kept { open: Arc::new(open), _slot: slot });
        Ok(handle)
    }

    /// Returns the open file of a handle, or `EBADF` for an unknown handle.
    pub fn find(&self, handle: u64) -> Result<Arc<Open>, Errno> {
        let all = self.open.lock();
        all.get(&handle).map(|kept| Arc::clone(&kept.open)).ok_or(Errno::BADF)
    }

    /// Runs `work` with the file of a handle. Fails with `EBADF` for an unknown handle, and with
    /// `EISDIR` for a directory.
    pub fn file<T>(
        &self,
        handle: u64,
        work: impl FnOnce(&File) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        match &*self.find(handle)? {
            Open::File(open) => work(&open.file),
            Open::Folder(_) => Err(Errno::ISDIR),
        }
    }

    /// Changes attributes of the file of a handle by `work`, as [`Self::file`]. Fails with `EACCES`
    /// if the peer may not change them.
    pub fn change<T>(
        &self,
        handle: u64,
        work: impl FnOnce(&File) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        match &*self.find(handle)? {
            Open::File(open) if !open.may_change => Err(Errno::ACCESS),
            Open::File(open) => work(&open.file),
            Open::Folder(_) => Err(Errno::ISDIR),
        }
    }

    /// Closes a handle.
    pub fn close(&self, handle: u64) {
        // Drop the file after the lock is released: closing it may wait for a disk.
        let closed = self.open.lock().remove(&handle);
        drop(closed);
    }
}
