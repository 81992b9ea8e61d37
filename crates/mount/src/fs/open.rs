//! What is open: files and folders on nodes, and the mount's own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use super::ahead::Ahead;
use super::inodes::Inode;
use super::listing::OpenFolder;

/// A file that is open on a node.
pub struct OpenFile {
    /// The file.
    pub inode: Arc<Inode>,
    /// The connection that the handle is of.
    pub epoch: u64,
    /// The node's handle.
    pub handle: u64,
    /// What is written goes to the end.
    pub append: bool,
    /// What was read ahead.
    pub ahead: Mutex<Ahead>,
    /// The error of a write that the node refused, which whoever writes on must learn; 0 for none.
    failed: AtomicI32,
}

impl PartialEq for OpenFile {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl OpenFile {
    pub fn new(inode: Arc<Inode>, epoch: u64, handle: u64, append: bool) -> Arc<Self> {
        let (ahead, failed) = (Mutex::default(), AtomicI32::new(0));
        Arc::new(Self { inode, epoch, handle, append, ahead, failed })
    }

    /// Bytes that were written by it are lost. It stays so: nobody may take the file for whole.
    pub fn fail(&self, error: Errno) {
        let number = error.raw_os_error();
        // The first one says what went wrong.
        let _ = self.failed.compare_exchange(0, number, Ordering::AcqRel, Ordering::Acquire);
    }

    /// # Errors
    /// When bytes that were written by it are lost.
    pub fn check(&self) -> Result<(), Errno> {
        match self.failed.load(Ordering::Acquire) {
            0 => Ok(()),
            number => Err(Errno::from_raw_os_error(number)),
        }
    }

    /// What was read ahead.
    pub fn ahead(&self) -> MutexGuard<'_, Ahead> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something open.
#[derive(Clone)]
pub enum Open {
    /// A file.
    File(Arc<OpenFile>),
    /// A folder.
    Folder(Arc<OpenFolder>),
    /// Text of the mount's own.
    Text(Arc<str>),
}

/// All that is open, by the kernel's handles.
#[derive(Default)]
pub struct Opens {
    all: Mutex<HashMap<u64, Open>>,
    last: AtomicU64,
}

impl Opens {
    /// Keeps `open`; its handle.
    pub fn keep(&self, open: Open) -> u64 {
        let handle = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        self.lock().insert(handle, open);
        handle
    }

    /// What has the handle.
    pub fn find(&self, handle: u64) -> Option<Open> {
        self.lock().get(&handle).cloned()
    }

    /// The file that has the handle.
    pub fn file(&self, handle: u64) -> Option<Arc<OpenFile>> {
        match self.find(handle) {
            Some(Open::File(file)) => Some(file),
            Some(Open::Folder(_) | Open::Text(_)) | None => None,
        }
    }

    /// It is closed.
    pub fn remove(&self, handle: u64) -> Option<Open> {
        self.lock().remove(&handle)
    }

    /// How much is open.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Open>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
