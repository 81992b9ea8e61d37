//! What a mount has open here.

use std::collections::HashMap;
use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use super::listing::Listing;

/// The most that one mount may have open.
const MOST: usize = 16 << 10;

/// An open file or folder.
pub enum Open {
    File(File),
    Folder(Mutex<Listing>),
}

/// All of a mount's.
#[derive(Default)]
pub struct Handles {
    open: Mutex<HashMap<u64, Arc<Open>>>,
    last: AtomicU64,
}

impl Handles {
    /// Keeps `open`; the handle that it is known by.
    pub fn keep(&self, open: Open) -> Result<u64, Errno> {
        let mut all = self.lock();
        if all.len() >= MOST {
            return Err(Errno::NFILE);
        }
        let handle = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        all.insert(handle, Arc::new(open));
        Ok(handle)
    }

    /// What is open under `handle`.
    pub fn find(&self, handle: u64) -> Result<Arc<Open>, Errno> {
        self.lock().get(&handle).cloned().ok_or(Errno::BADF)
    }

    /// Does `work` with the file that is open under `handle`.
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

    /// Closes what is open under `handle`.
    pub fn close(&self, handle: u64) {
        // Dropped once the lock is given back: closing may wait for a disk.
        let closed = self.lock().remove(&handle);
        drop(closed);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<Open>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
