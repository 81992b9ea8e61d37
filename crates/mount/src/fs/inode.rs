//! A file of a node, with its writes in transit and its open handles.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use garland_protocol::files::{Attr, FileKind, FileNumber, Stamp};
use garland_sys::sync::{Mutex, MutexGuard};
use rustix::io::Errno;

use super::ahead::Ahead;
use super::behind::Behind;
use super::cache_stamp::CacheStamp;
use super::held::Held;

/// The bit that is set in the inode numbers of nodes' files, and never in those of the mount
/// itself.
pub const OF_FILES: u64 = 1 << 62;

/// The maximum length of a path in bytes: PATH_MAX of Linux.
const PATH_MAX: usize = 4096;

/// What identifies a file of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    peer: usize,
    device: u64,
    inode: u64,
    /// Type and birth time distinguish the file from an earlier file with this inode number.
    kind: FileKind,
    born: Stamp,
}

impl Key {
    /// Returns the key of the file with these attributes on the node at index `peer`.
    pub fn from_attr(peer: usize, attr: &Attr) -> Self {
        let Attr { device, inode, kind, born, .. } = *attr;
        Self { peer, device, inode, kind, born }
    }

    /// Returns the file on its node.
    pub fn file_number(self) -> FileNumber {
        let Self { device, inode, kind, born, .. } = self;
        FileNumber { device, inode, kind, born }
    }

    /// Returns the inode number that the kernel gets. Several keys may have the same number.
    pub fn number(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish() >> 2 | OF_FILES
    }
}

/// A file, directory or other inode of a node.
pub struct Inode {
    /// The inode number that the kernel knows.
    pub number: u64,
    /// The index of the node that the file is on.
    pub peer: usize,
    /// What identifies the file; `None` for the root of a node, which may change.
    pub key: Option<Key>,
    flow: Mutex<Flow>,
    place: Mutex<Place>,
}

#[derive(Default)]
struct Place {
    /// The directory in which the inode has its last known name; `None` for the root of a node, and
    /// if no name is known.
    above: Option<Arc<Inode>>,
    name: Vec<u8>,
    /// The kernel's lookup count: how many references to the inode the kernel has.
    told: u64,
}

impl Place {
    fn last_name(&self) -> Option<(u64, Vec<u8>)> {
        self.above.as_ref().map(|above| (above.number, self.name.clone()))
    }
}

impl Inode {
    /// Creates the inode of the root of the node at index `peer`.
    pub fn root(number: u64, peer: usize) -> Arc<Self> {
        let flow = Mutex::default();
        let place = Mutex::default();
        Arc::new(Self { number, peer, key: None, flow, place })
    }

    /// Creates an inode without a name.
    pub fn new(number: u64, key: Key) -> Arc<Self> {
        let flow = Mutex::default();
        let place = Mutex::default();
        Arc::new(Self { number, peer: key.peer, key: Some(key), flow, place })
    }

    /// Returns the path relative to the node's root; `None` if no name is known, or the path is too
    /// long.
    pub fn path(self: &Arc<Self>) -> Option<Vec<u8>> {
        let mut names = Vec::new();
        let mut length = 0;
        let mut at = Arc::clone(self);
        while at.key.is_some() {
            let place = at.place();
            let above = Arc::clone(place.above.as_ref()?);
            length += place.name.len() + 1;
            if length > PATH_MAX {
                return None;
            }
            names.push(place.name.clone());
            drop(place);
            at = above;
        }
        names.reverse();
        Some(names.join(&b'/'))
    }

    /// Returns the path of the entry `name` in this directory; `None` if no name of the directory
    /// is known.
    pub fn path_of(self: &Arc<Self>, name: &[u8]) -> Option<Vec<u8>> {
        let mut path = self.path()?;
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        Some(path)
    }

    /// Locks and returns the data in transit.
    pub fn flow(&self) -> MutexGuard<'_, Flow> {
        self.flow.lock()
    }

    /// Returns whether this inode is `other`, or lies below it.
    pub fn is_below(self: &Arc<Self>, other: &Arc<Self>) -> bool {
        let mut at = Some(Arc::clone(self));
        // No more directories than a path can have.
        for _ in 0..PATH_MAX {
            match at {
                Some(inode) if Arc::ptr_eq(&inode, other) => return true,
                Some(inode) => at = inode.above(),
                None => return false,
            }
        }
        true
    }

    /// Returns the directory that contains the inode; `None` if no name is known.
    pub fn above(&self) -> Option<Arc<Self>> {
        self.place().above.clone()
    }

    /// Sets the name of the inode: `name` in the directory `above`.
    pub fn set_name(&self, above: &Arc<Self>, name: &[u8]) {
        let mut place = self.place();
        place.above = Some(Arc::clone(above));
        place.name = name.to_vec();
    }

    /// Forgets the name of the inode if it is `name` in the directory with the inode number
    /// `above`.
    pub fn remove_name(&self, above: u64, name: &[u8]) {
        let mut place = self.place();
        let same = place.above.as_ref().is_some_and(|folder| folder.number == above);
        if same && place.name == name {
            place.above = None;
        }
    }

    /// Adds one to the kernel's lookup count.
    pub fn look_up(&self) {
        self.place().told += 1;
    }

    /// Subtracts `times` from the kernel's lookup count. Returns `None` if the count is still above
    /// 0. Otherwise returns the last known name, if any: the inode number of the directory, and the
    /// name in it.
    pub fn forget(&self, times: u64) -> Option<Option<(u64, Vec<u8>)>> {
        let mut place = self.place();
        place.told = place.told.saturating_sub(times);
        (place.told == 0).then(|| place.last_name())
    }

    /// Returns the last known name, if any: the inode number of the directory, and the name in it.
    pub fn last_name(&self) -> Option<(u64, Vec<u8>)> {
        self.place().last_name()
    }

    fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock()
    }
}

/// A function that is called once the writes to a file so far are acknowledged.
pub type Settled = Box<dyn FnOnce() + Send>;

/// Who waits for writes to a file.
pub struct Waiter {
    /// The number of the last write before; see [`Behind`]. Later ones are not waited for.
    pub last: u64,
    /// What is called then.
    pub then: Settled,
}

/// The data in transit between a file and its node, shared by all handles of the file.
#[derive(Default)]
pub struct Flow {
    /// The writes that the node has not acknowledged.
    pub behind: Behind<Arc<OpenFile>>,
    /// Whether a thread sends writes now; it also sends what others add meanwhile.
    pub is_sending: bool,
    /// The file while it is new, and what is done to it is held; `None` for all other files.
    pub held: Option<Held<Arc<OpenFile>>>,
    /// The attributes in the node's reply to the last write, if it had any.
    pub landed: Option<Attr>,
    /// Those who wait for writes, in the order of these.
    pub waiting: VecDeque<Waiter>,
    /// The number of changes of the file by this mount. Each invalidates what was read ahead.
    pub version: u64,
    /// The state of the file to which the kernel's cached pages belong; `None` if unknown.
    pub seen: Option<CacheStamp>,
    /// The length of the file in bytes, as last reported to the kernel.
    pub size: u64,
    /// The open handles of the file. A file without a known name is accessed through one of them.
    pub open: Vec<Arc<OpenFile>>,
}

impl Flow {
    /// Returns the attributes as they will be once the writes in transit are executed.
    pub fn with_written(&mut self, mut attr: Attr) -> Attr {
        let held = self.held.as_ref().map(Held::end);
        if let Some(end) = self.behind.end().max(held) {
            attr.size = attr.size.max(end);
        }
        self.size = attr.size;
        attr
    }

    /// Returns whether the node has everything that was done to the file.
    pub fn is_settled(&self) -> bool {
        self.behind.is_settled() && self.held.is_none()
    }

    /// Removes and returns those who wait for no write any more.
    pub fn take_settled(&mut self) -> Vec<Settled> {
        let settled = self.behind.settled();
        let count = self.waiting.partition_point(|waiter| waiter.last <= settled);
        self.waiting.drain(..count).map(|waiter| waiter.then).collect()
    }

    /// Returns whether the node has all attributes of the file that this mount has changed.
    pub fn has_attributes(&self) -> bool {
        self.held.is_none() && !self.behind.has_alone()
    }

    /// Ends holding: what is held is sent next.
    pub fn let_go(&mut self) {
        if let Some((owner, data, changes)) = self.held.take().and_then(Held::into_parts) {
            self.behind.put_first(owner, data, changes);
        }
    }

    /// Ends holding like [`let_go`](Self::let_go), so that the reply of the node has the attributes
    /// of the file. Returns whether anything was held.
    pub fn let_go_for_attributes(&mut self) -> bool {
        let parts = self.held.take().and_then(Held::into_parts);
        let Some((owner, data, changes)) = parts else { return false };
        self.behind.put_first(owner, data, Some(changes.unwrap_or_default()));
        true
    }
}

/// An open handle of a file on a node.
pub struct OpenFile {
    /// The inode of the file.
    pub inode: Arc<Inode>,
    /// The epoch of the connection on which the handle is valid.
    pub epoch: u64,
    /// The number of the handle on the node.
    pub handle: u64,
    /// Whether all writes append to the file.
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
    /// Creates a handle of a file that was opened on the connection of `epoch`.
    pub fn new(inode: Arc<Inode>, epoch: u64, handle: u64, append: bool) -> Arc<Self> {
        let ahead = Mutex::default();
        let failed = AtomicI32::new(0);
        Arc::new(Self { inode, epoch, handle, append, ahead, failed })
    }

    /// Records that a write has failed. All later writes, fsyncs and closes report the error, so
    /// that no caller considers the file complete.
    pub fn fail(&self, error: Errno) {
        let number = error.raw_os_error();
        // The first error is the cause.
        let _ = self.failed.compare_exchange(0, number, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Checks that no write through this handle has failed.
    ///
    /// # Errors
    /// The error of the first failed write.
    pub fn check(&self) -> Result<(), Errno> {
        match self.failed.load(Ordering::Acquire) {
            0 => Ok(()),
            number => Err(Errno::from_raw_os_error(number)),
        }
    }

    /// Locks and returns the read-ahead.
    pub fn ahead(&self) -> MutexGuard<'_, Ahead> {
        self.ahead.lock()
    }
}
