//! A file system with one file, the image of a disk, that logs what is written to it and when that
//! is made stable.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite,
    Request, Session, SessionACL, WriteFlags,
};
use parking_lot::Mutex;
use rustix::mount::{UnmountFlags, unmount};

/// The name of the image.
const IMAGE: &str = "image";

const TOP: INodeNo = INodeNo(1);
const FILE: INodeNo = INodeNo(2);
const TTL: Duration = Duration::from_secs(1);

/// What was done to the image.
#[derive(Clone, Debug)]
pub enum Entry {
    /// Bytes were written at an offset.
    Write(usize, Vec<u8>),
    /// Everything written before is stable.
    Sync,
}

/// The image of a disk, served by this process. Dropping it unmounts it.
pub struct LoggedDisk {
    folder: PathBuf,
    state: Arc<Mutex<State>>,
}

struct State {
    bytes: Vec<u8>,
    log: Vec<Entry>,
}

impl LoggedDisk {
    /// Mounts the file system on `folder`. Its image has `size` bytes.
    pub fn mount(folder: PathBuf, size: usize) -> Self {
        fs::create_dir(&folder).expect("a new directory");
        let device = garland_sys::fuse::mount(&folder).expect("FUSE can be mounted");
        let state = Arc::new(Mutex::new(State { bytes: vec![0; size], log: Vec::new() }));
        let served = Served(Arc::clone(&state));
        let session = Session::from_fd(served, device, SessionACL::All, Config::default());
        let session = session.expect("the kernel greets");
        std::thread::spawn(move || session.run());
        Self { folder, state }
    }

    /// Returns the path of the image.
    pub fn image(&self) -> PathBuf {
        self.folder.join(IMAGE)
    }

    /// Returns the bytes of the image, and forgets what was logged.
    pub fn begin(&self) -> Vec<u8> {
        let mut state = self.state.lock();
        state.log.clear();
        state.bytes.clone()
    }

    /// Returns what was logged since [`Self::begin`].
    pub fn log(&self) -> Vec<Entry> {
        self.state.lock().log.clone()
    }
}

impl Drop for LoggedDisk {
    fn drop(&mut self) {
        let _ = unmount(&self.folder, UnmountFlags::DETACH);
    }
}

/// Writes to `path` what a disk that had `image` has when its power fails after the first `count`
/// entries of `log`: all that is stable, and of the rest what `survives` says, write by write.
pub fn write_left(
    path: &Path,
    image: &[u8],
    log: &[Entry],
    count: usize,
    mut survives: impl FnMut() -> bool,
) {
    let mut left = image.to_vec();
    let stable = log[..count].iter().rposition(|entry| matches!(entry, Entry::Sync)).unwrap_or(0);
    for (at, entry) in log[..count].iter().enumerate() {
        if let Entry::Write(offset, bytes) = entry
            && (at < stable || survives())
        {
            left[*offset..*offset + bytes.len()].copy_from_slice(bytes);
        }
    }
    fs::write(path, left).expect("room for an image");
}

struct Served(Arc<Mutex<State>>);

impl Served {
    fn attributes(&self, ino: INodeNo) -> FileAttr {
        let is_top = ino == TOP;
        FileAttr {
            ino,
            size: if is_top { 0 } else { self.0.lock().bytes.len() as u64 },
            blocks: 0,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if is_top { FileType::Directory } else { FileType::RegularFile },
            perm: if is_top { 0o755 } else { 0o600 },
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }
}

impl Filesystem for Served {
    fn lookup(&self, _req: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match name == IMAGE {
            true => reply.entry(&TTL, &self.attributes(FILE), Generation(0)),
            false => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _req: &Request, ino: INodeNo, _fh: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&TTL, &self.attributes(ino));
    }

    fn open(&self, _req: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(ino.0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _req: &Request,
        _ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let state = self.0.lock();
        let begin = state.bytes.len().min(offset as usize);
        let end = state.bytes.len().min(begin + size as usize);
        reply.data(&state.bytes[begin..end]);
    }

    fn write(
        &self,
        _req: &Request,
        _ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut state = self.0.lock();
        let begin = offset as usize;
        let end = offset as usize + data.len();
        if end > state.bytes.len() {
            return reply.error(Errno::ENOSPC);
        }
        state.bytes[begin..end].copy_from_slice(data);
        state.log.push(Entry::Write(begin, data.to_vec()));
        reply.written(data.len() as u32);
    }

    fn fsync(
        &self,
        _req: &Request,
        _ino: INodeNo,
        _fh: FileHandle,
        _datasync: bool,
        reply: ReplyEmpty,
    ) {
        self.0.lock().log.push(Entry::Sync);
        reply.ok();
    }

    fn flush(
        &self,
        _req: &Request,
        _ino: INodeNo,
        _fh: FileHandle,
        _lock_owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        reply.ok();
    }
}
