//! The table of the kernel's handles.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::folder::OpenFolder;
use super::inode::OpenFile;

/// The target of a handle.
#[derive(Clone)]
pub enum Open {
    /// A file of a node.
    File(Arc<OpenFile>),
    /// A directory of a node.
    Folder(Arc<OpenFolder>),
    /// A text of the mount itself.
    Text(Arc<str>),
}

/// The open files and directories by the kernel's handle.
#[derive(Default)]
pub struct Opens {
    all: Mutex<HashMap<u64, Open>>,
    last: AtomicU64,
}

impl Opens {
    /// Adds `open`; returns its handle.
    pub fn keep(&self, open: Open) -> u64 {
        let handle = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        self.lock().insert(handle, open);
        handle
    }

    /// The target of this handle.
    pub fn find(&self, handle: u64) -> Option<Open> {
        self.lock().get(&handle).cloned()
    }

    /// The file that has this handle.
    pub fn file(&self, handle: u64) -> Option<Arc<OpenFile>> {
        match self.find(handle) {
            Some(Open::File(file)) => Some(file),
            Some(Open::Folder(_) | Open::Text(_)) | None => None,
        }
    }

    /// Removes a handle and returns its target.
    pub fn remove(&self, handle: u64) -> Option<Open> {
        self.lock().remove(&handle)
    }

    /// The number of open handles.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Open>> {
        self.all.lock()
    }
}
