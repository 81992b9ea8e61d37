//! Handles the calls of the kernel. Those about the mount's own directory are answered here; all
//! others go to a node.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fuser::{
    AccessFlags, BsdFileFlags, Errno, FileHandle, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyLseek, ReplyOpen, ReplyStatfs,
    ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use garland_protocol::files::{Changes, Hole, NewKind, PIECE};
use rustix::fs::FileType;

use super::Mount;
use super::ahead::Read;
use super::attr::{CACHE_TIMEOUT, time_set};
use super::folder::Want;
use super::inode::Inode;
use super::inodes::TOP;
use super::open::Open;
use super::top::{Named, Own};

/// The maximum number of background requests, such as read-ahead, that the kernel sends at a time.
/// Those of all nodes count together, so that one node which does not answer could stop the others:
/// as many as the kernel allows to this user, by its memory.
const BACKGROUND_MAX: u16 = u16::MAX;

/// The callbacks of the file system for the FUSE library.
pub struct Files(pub Arc<Mount>);

impl Files {
    /// Returns the inode of a node with this number. Fails with EPERM for an inode of the mount
    /// itself, which cannot be changed, and with ESTALE for an unknown number.
    fn inode(&self, number: INodeNo) -> Result<Arc<Inode>, Errno> {
        match self.0.inodes.find(number.0) {
            Some(inode) => Ok(inode),
            None if self.0.top.own(number.0).is_some() => Err(Errno::EPERM),
            None => Err(Errno::ESTALE),
        }
    }
}

/// Returns the inode that a call names; if there is none, replies with the error and returns.
macro_rules! found {
    ($files:expr, $number:expr, $reply:expr) => {
        match $files.inode($number) {
            Ok(inode) => inode,
            Err(error) => return $reply.error(error),
        }
    };
}

/// Returns the open file that a call names; if there is none, replies with the error and returns.
macro_rules! opened {
    ($files:expr, $handle:expr, $reply:expr) => {
        match $files.0.opens.file($handle.0) {
            Some(file) => file,
            None => return $reply.error(Errno::EBADF),
        }
    };
}

impl Filesystem for Files {
    fn init(&mut self, _req: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        // Not FUSE_ATOMIC_O_TRUNC: with it the file would be truncated before the kernel refuses to
        // write to a running program.
        let wanted = [
            InitFlags::FUSE_AUTO_INVAL_DATA,
            InitFlags::FUSE_DO_READDIRPLUS,
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_ASYNC_DIO,
            InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP,
        ];
        for one in wanted {
            // Older kernels lack this, and send more requests.
            let _ = config.add_capabilities(one);
        }
        let _ = config.set_max_write(PIECE);
        let _ = config.set_max_background(BACKGROUND_MAX);
        Ok(())
    }

    fn lookup(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if parent.0 != TOP {
            let above = found!(self, parent, reply);
            return self.0.look_up(above, name.as_bytes().to_vec(), reply);
        }
        match self.0.top.find(name) {
            Some(Named::Node(place)) => self.0.look_up_node(place, reply),
            Some(Named::Own(number)) => match self.0.top.attr(number) {
                Some(attr) => reply.entry(&CACHE_TIMEOUT, &attr, Generation(0)),
                None => reply.error(Errno::ENOENT),
            },
            None => reply.error(Errno::ENOENT),
        }
    }

    fn forget(&self, _req: &Request, ino: INodeNo, times: u64) {
        self.0.inodes.forget(ino.0, times);
    }

    fn getattr(&self, _req: &Request, ino: INodeNo, fh: Option<FileHandle>, reply: ReplyAttr) {
        match self.0.top.attr(ino.0) {
            Some(attr) => reply.attr(&CACHE_TIMEOUT, &attr),
            None => self.0.stat(found!(self, ino, reply), fh.map(|fh| fh.0), reply),
        }
    }

    fn setattr(
        &self,
        _req: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        fh: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let inode = found!(self, ino, reply);
        let changes = Changes {
            only: None,
            mode: mode.map(|mode| (mode & 0o7777) as u16),
            user: uid,
            group: gid,
            size,
            accessed: atime.map(time_set),
            modified: mtime.map(time_set),
        };
        self.0.change(inode, fh.map(|fh| fh.0), changes, reply);
    }

    fn readlink(&self, _req: &Request, ino: INodeNo, reply: ReplyData) {
        match self.0.top.own(ino.0) {
            Some(Own::Link(text)) => reply.data(text.as_bytes()),
            Some(_) => reply.error(Errno::EINVAL),
            None => self.0.read_link(&found!(self, ino, reply), reply),
        }
    }

    fn mknod(
        &self,
        _req: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        _rdev: u32,
        reply: ReplyEntry,
    ) {
        let kind = match FileType::from_raw_mode(mode) {
            FileType::RegularFile => NewKind::File,
            FileType::Fifo => NewKind::Pipe,
            FileType::Socket => NewKind::Socket,
            _ => return reply.error(Errno::EPERM),
        };
        self.0.make(found!(self, parent, reply), name.as_bytes().to_vec(), kind, mode, reply);
    }

    fn mkdir(
        &self,
        _req: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        reply: ReplyEntry,
    ) {
        let above = found!(self, parent, reply);
        self.0.make(above, name.as_bytes().to_vec(), NewKind::Folder, mode, reply);
    }

    fn unlink(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.0.remove(found!(self, parent, reply), name.as_bytes().to_vec(), false, reply);
    }

    fn rmdir(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.0.remove(found!(self, parent, reply), name.as_bytes().to_vec(), true, reply);
    }

    fn symlink(
        &self,
        _req: &Request,
        parent: INodeNo,
        link_name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        let above = found!(self, parent, reply);
        let kind = NewKind::Link(target.as_os_str().as_bytes().to_vec());
        self.0.make(above, link_name.as_bytes().to_vec(), kind, 0o777, reply);
    }

    fn rename(
        &self,
        _req: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let from = (found!(self, parent, reply), name.as_bytes().to_vec());
        let to = (found!(self, newparent, reply), newname.as_bytes().to_vec());
        self.0.rename(from, to, flags.bits(), reply);
    }

    fn link(
        &self,
        _req: &Request,
        ino: INodeNo,
        newparent: INodeNo,
        newname: &OsStr,
        reply: ReplyEntry,
    ) {
        let inode = found!(self, ino, reply);
        let above = found!(self, newparent, reply);
        self.0.link(&inode, above, newname.as_bytes().to_vec(), reply);
    }

    fn open(&self, _req: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        if self.0.top.own(ino.0) != Some(Own::Status) {
            return self.0.open(found!(self, ino, reply), flags, reply);
        }
        let text = serde_json::to_string(&self.0.account()).unwrap_or_default();
        let handle = self.0.opens.keep(Open::Text(text.into()));
        // The length of the status changes from open to open: the kernel must not cache it.
        reply.opened(FileHandle(handle), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn create(
        &self,
        _req: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let above = found!(self, parent, reply);
        self.0.create(above, name.as_bytes().to_vec(), mode, OpenFlags(flags), reply);
    }

    fn read(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.0.opens.find(fh.0) {
            Some(Open::File(file)) => self.0.read(file, Read::new(offset, size, reply)),
            Some(Open::Text(text)) => {
                let rest = text.as_bytes().get(offset as usize..).unwrap_or_default();
                reply.data(&rest[..rest.len().min(size as usize)]);
            }
            Some(Open::Folder(_)) => reply.error(Errno::EISDIR),
            None => reply.error(Errno::EBADF),
        }
    }

    fn write(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        self.0.write(&opened!(self, fh, reply), offset, data, reply);
    }

    fn flush(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        _lock_owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        match self.0.opens.find(fh.0) {
            Some(Open::File(file)) => self.0.flush(file, reply),
            _ => reply.ok(),
        }
    }

    fn release(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.0.release(fh.0, reply);
    }

    fn fsync(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        datasync: bool,
        reply: ReplyEmpty,
    ) {
        self.0.sync(opened!(self, fh, reply), datasync, reply);
    }

    fn opendir(&self, _req: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        match self.0.top.own(ino.0) {
            Some(_) => reply.opened(FileHandle(0), FopenFlags::empty()),
            None => self.0.open_folder(found!(self, ino, reply), reply),
        }
    }

    fn readdir(
        &self,
        _req: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        match self.0.opens.find(fh.0) {
            Some(Open::Folder(folder)) => self.0.list(&folder, Want::Plain(offset, reply)),
            _ if ino.0 != TOP => reply.error(Errno::EBADF),
            _ => {
                self.0.top.list(offset, |next, number, kind, name| {
                    reply.add(INodeNo(number), next, kind, name)
                });
                reply.ok();
            }
        }
    }

    fn readdirplus(
        &self,
        _req: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        match self.0.opens.find(fh.0) {
            Some(Open::Folder(folder)) => self.0.list(&folder, Want::Plus(offset, reply)),
            _ if ino.0 != TOP => reply.error(Errno::EBADF),
            _ => {
                self.0.top.list(offset, |next, number, kind, name| {
                    // With a validity of zero the kernel asks for the real attributes.
                    let attr = super::attr::own(kind, number, 0o555, 0);
                    reply.add(attr.ino, next, name, &Duration::ZERO, &attr, Generation(0))
                });
                reply.ok();
            }
        }
    }

    fn releasedir(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        _flags: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.0.release(fh.0, reply);
    }

    fn fsyncdir(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        _datasync: bool,
        reply: ReplyEmpty,
    ) {
        match self.0.top.own(ino.0) {
            Some(_) => reply.ok(),
            None => self.0.sync_folder(&found!(self, ino, reply), reply),
        }
    }

    fn statfs(&self, _req: &Request, ino: INodeNo, reply: ReplyStatfs) {
        match self.0.top.own(ino.0) {
            Some(_) => reply.statfs(0, 0, 0, 0, 0, 4096, 255, 4096),
            None => self.0.space(&found!(self, ino, reply), reply),
        }
    }

    fn access(&self, _req: &Request, ino: INodeNo, mask: AccessFlags, reply: ReplyEmpty) {
        match self.0.top.own(ino.0) {
            Some(_) => reply.ok(),
            None => self.0.may(&found!(self, ino, reply), mask.bits(), reply),
        }
    }

    fn fallocate(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        self.0.allocate(opened!(self, fh, reply), mode, (offset, length), reply);
    }

    fn lseek(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        offset: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        const SEEK_DATA: i32 = 3;
        const SEEK_HOLE: i32 = 4;
        let hole = match whence {
            SEEK_DATA => Hole::Data,
            SEEK_HOLE => Hole::Hole,
            _ => return reply.error(Errno::EINVAL),
        };
        let Ok(from) = u64::try_from(offset) else { return reply.error(Errno::ENXIO) };
        self.0.seek(opened!(self, fh, reply), from, hole, reply);
    }
}
