//! The open files of a mount.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use garland_sys::sync::Mutex;

use rustix::io::Errno;

use super::listing::Listing;

/// An open file or directory.
pub enum Open {
    File(File),
    Folder(Mutex<Listing>),
}

/// The open files of a mount, by handle.
pub struct Handles {
    open: Mutex<HashMap<u64, Arc<Open>>>,
    open_max: usize,
    last: AtomicU64,
}

impl Handles {
    /// Creates an empty set of at most `open_max` files.
    pub fn new(open_max: usize) -> Self {
        Self { open: Mutex::default(), open_max, last: AtomicU64::new(0) }
    }

    /// Adds an open file. Returns its handle, or `ENFILE` if the mount has too many open files.
    pub fn keep(&self, open: Open) -> Result<u64, Errno> {
        let mut all = self.open.lock();
        if all.len() >= self.open_max {
            return Err(Errno::NFILE);
        }
        let handle = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        all.insert(handle, Arc::new(open));
        Ok(handle)
    }

    /// Returns the open file of a handle, or `EBADF` for an unknown handle.
    pub fn find(&self, handle: u64) -> Result<Arc<Open>, Errno> {
        self.open.lock().get(&handle).cloned().ok_or(Errno::BADF)
    }

    /// Runs `work` with the file of a handle. Fails with `EBADF` for an unknown handle, and with
    /// `EISDIR` for a directory.
    pub fn file<T>(
        &self,
        handle: u64,
        work: impl FnOnce(&File) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        match &*self.find(handle)? {
            Open::File(file) => work(file),
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
