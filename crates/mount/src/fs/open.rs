//! The table of open files and directories, by the kernel's handles.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use garland_sys::sync::{Mutex, MutexGuard};

use super::folder::OpenFolder;
use super::inode::OpenFile;

/// What a handle of the kernel refers to.
#[derive(Clone)]
pub enum Open {
    /// An open file of a node.
    File(Arc<OpenFile>),
    /// An open directory of a node.
    Folder(Arc<OpenFolder>),
    /// The text of a file of the mount itself, such as the status, as of when it was opened.
    Text(Arc<str>),
}

/// The open files and directories of the mount, by handle.
#[derive(Default)]
pub struct Opens {
    all: Mutex<HashMap<u64, Open>>,
    last: AtomicU64,
}

impl Opens {
    /// Adds `open` and returns its handle.
    pub fn keep(&self, open: Open) -> u64 {
        let handle = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        self.lock().insert(handle, open);
        handle
    }

    /// Returns what a handle refers to; `None` if there is no such handle.
    pub fn find(&self, handle: u64) -> Option<Open> {
        self.lock().get(&handle).cloned()
    }

    /// Returns the open file that a handle refers to; `None` if it refers to anything else.
    pub fn file(&self, handle: u64) -> Option<Arc<OpenFile>> {
        match self.find(handle) {
            Some(Open::File(file)) => Some(file),
            Some(Open::Folder(_) | Open::Text(_)) | None => None,
        }
    }

    /// Returns all open files.
    pub fn files(&self) -> Vec<Arc<OpenFile>> {
        let all = self.lock();
        let files = all.values().filter_map(|open| match open {
            Open::File(file) => Some(Arc::clone(file)),
            Open::Folder(_) | Open::Text(_) => None,
        });
        files.collect()
    }

    /// Removes a handle and returns what it referred to.
    pub fn remove(&self, handle: u64) -> Option<Open> {
        self.lock().remove(&handle)
    }

    /// Returns the number of open handles.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Open>> {
        self.all.lock()
    }
}
