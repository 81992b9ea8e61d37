//! A file of a node, its bytes in transit and its open handles.

use parking_lot::{Mutex, MutexGuard};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use garland_protocol::{Attr, FileKind, Stamp};
use rustix::io::Errno;

use super::ahead::Ahead;
use super::behind::Behind;
use super::cache_stamp::CacheStamp;

/// The bit that is set in the inode numbers of files, and in none of the mount's own numbers.
pub const OF_FILES: u64 = 1 << 62;

/// The identity of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    peer: usize,
    device: u64,
    inode: u64,
    /// Inode numbers are reused, but for another kind of file or with another birth time.
    kind: FileKind,
    born: Stamp,
}

impl Key {
    /// The key of the file with these attributes on the node at index `peer`.
    pub fn of(peer: usize, attr: &Attr) -> Self {
        let Attr { device, inode, kind, born, .. } = *attr;
        Self { peer, device, inode, kind, born }
    }

    /// The kernel's inode number; files may collide.
    pub fn number(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish() >> 2 | OF_FILES
    }
}

/// A file, directory or other inode of a node.
pub struct Inode {
    /// The kernel's inode number.
    pub number: u64,
    /// The index of its node.
    pub peer: usize,
    /// The identity; `None` for the root of a node, which may change.
    pub key: Option<Key>,
    flow: Mutex<Flow>,
    place: Mutex<Place>,
}

#[derive(Default)]
struct Place {
    /// The parent directory; `None` for the root of a node, and for inodes without a known name.
    above: Option<Arc<Inode>>,
    name: Vec<u8>,
    /// The kernel's lookup count.
    told: u64,
}

impl Inode {
    /// The root of the node at index `peer`.
    pub fn root(number: u64, peer: usize) -> Arc<Self> {
        let (flow, place) = (Mutex::default(), Mutex::default());
        Arc::new(Self { number, peer, key: None, flow, place })
    }

    /// A file without a name.
    pub fn new(number: u64, key: Key) -> Arc<Self> {
        let (flow, place) = (Mutex::default(), Mutex::default());
        Arc::new(Self { number, peer: key.peer, key: Some(key), flow, place })
    }

    /// The path below the node's root; `None` if no name is known.
    pub fn path(self: &Arc<Self>) -> Option<Vec<u8>> {
        let mut names = Vec::new();
        let mut at = Arc::clone(self);
        while at.key.is_some() {
            let place = at.place();
            let above = Arc::clone(place.above.as_ref()?);
            names.push(place.name.clone());
            drop(place);
            at = above;
        }
        names.reverse();
        Some(names.join(&b'/'))
    }

    /// The path of `name` in this directory.
    pub fn path_of(self: &Arc<Self>, name: &[u8]) -> Option<Vec<u8>> {
        let mut path = self.path()?;
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        Some(path)
    }

    /// The bytes in transit.
    pub fn flow(&self) -> MutexGuard<'_, Flow> {
        self.flow.lock()
    }

    /// The directory that it is in, if it has a known name.
    pub fn above(&self) -> Option<Arc<Self>> {
        self.place().above.clone()
    }

    /// Sets its name: `name` in `above`.
    pub fn set_name(&self, above: &Arc<Self>, name: &[u8]) {
        let mut place = self.place();
        place.above = Some(Arc::clone(above));
        place.name = name.to_vec();
    }

    /// Removes its name if that is `name` in the directory with inode number `above`.
    pub fn remove_name(&self, above: u64, name: &[u8]) {
        let mut place = self.place();
        let same = place.above.as_ref().is_some_and(|folder| folder.number == above);
        if same && place.name == name {
            place.above = None;
        }
    }

    /// Increments the kernel's lookup count.
    pub fn look_up(&self) {
        self.place().told += 1;
    }

    /// Takes `times` from the kernel's lookup count. At 0 it returns the last name, as the directory's
    /// inode number and the name in it, in the inner option.
    pub fn forget(&self, times: u64) -> Option<Option<(u64, Vec<u8>)>> {
        let mut place = self.place();
        place.told = place.told.saturating_sub(times);
        let name = place.above.as_ref().map(|above| (above.number, place.name.clone()));
        (place.told == 0).then_some(name)
    }

    fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock()
    }
}

/// A continuation that runs once all writes of a file are acknowledged.
pub type Settled = Box<dyn FnOnce() + Send>;

/// The bytes of a file in transit, which all its handles share.
#[derive(Default)]
pub struct Flow {
    /// Writes that the node hasn't acknowledged.
    pub behind: Behind<Arc<OpenFile>>,
    /// The continuations that wait until all writes are acknowledged.
    pub waiting: Vec<Settled>,
    /// A counter of changes by this mount, which invalidate what was read ahead.
    pub version: u64,
    /// The state of the file that the kernel's page cache shows; `None` if unknown.
    pub seen: Option<CacheStamp>,
    /// The length of the file that the kernel was told, in bytes.
    pub size: u64,
    /// The open handles, by which a file without a name is reached.
    pub open: Vec<Arc<OpenFile>>,
}

impl Flow {
    /// Adds the writes in transit to the attributes.
    pub fn with_written(&mut self, mut attr: Attr) -> Attr {
        if let Some(end) = self.behind.end() {
            attr.size = attr.size.max(end);
        }
        self.size = attr.size;
        attr
    }
}

/// An open file of a node.
pub struct OpenFile {
    /// The file.
    pub inode: Arc<Inode>,
    /// The connection that the handle belongs to.
    pub epoch: u64,
    /// The node's handle.
    pub handle: u64,
    /// Whether writes append.
    pub append: bool,
    ahead: Mutex<Ahead>,
    /// The error number of the first failed write, which later calls report; 0 for none.
    failed: AtomicI32,
}

impl PartialEq for OpenFile {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl OpenFile {
    /// A file that was opened on the connection of `epoch`.
    pub fn new(inode: Arc<Inode>, epoch: u64, handle: u64, append: bool) -> Arc<Self> {
        let (ahead, failed) = (Mutex::default(), AtomicI32::new(0));
        Arc::new(Self { inode, epoch, handle, append, ahead, failed })
    }

    /// Records that written bytes are lost. The error stays, so that no caller takes the file for complete.
    pub fn fail(&self, error: Errno) {
        let number = error.raw_os_error();
        // The first error is the cause.
        let _ = self.failed.compare_exchange(0, number, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Checks that no written bytes are lost.
    ///
    /// # Errors
    /// The error of the first write that was lost.
    pub fn check(&self) -> Result<(), Errno> {
        match self.failed.load(Ordering::Acquire) {
            0 => Ok(()),
            number => Err(Errno::from_raw_os_error(number)),
        }
    }

    /// The read-ahead.
    pub fn ahead(&self) -> MutexGuard<'_, Ahead> {
        self.ahead.lock()
    }
}
