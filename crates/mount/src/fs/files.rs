//! Opens, closes, allocates and seeks in files.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use fuser::{
    FileHandle, FopenFlags, Generation, OpenAccMode, OpenFlags, ReplyCreate, ReplyEmpty,
    ReplyLseek, ReplyOpen,
};
use garland_protocol::files::{Answer, Ask, Attr, Hole};
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::Mount;
use super::attr::{self, CACHE_TIMEOUT, errno};
use super::cache_stamp::CacheStamp;
use super::held::Held;
use super::inode::{Inode, Key, OpenFile};
use super::open::Open;
use crate::peer::Reply;

/// A file that the node has opened.
struct Opened {
    epoch: u64,
    handle: u64,
    attr: Attr,
    fresh: bool,
}

impl Mount {
    /// Opens the file of an inode after the node has all writes of this mount to it that are held.
    /// Fails if another file has its name by now.
    pub fn open(self: &Arc<Self>, inode: Arc<Inode>, flags: OpenFlags, reply: ReplyOpen) {
        if inode.flow().held.is_none() {
            return self.open_sent(inode, flags, reply);
        }
        let mount = Arc::clone(self);
        let held = Arc::clone(&inode);
        self.settle(&held, Box::new(move || mount.open_sent(inode, flags, reply)));
    }

    fn open_sent(self: &Arc<Self>, inode: Arc<Inode>, flags: OpenFlags, reply: ReplyOpen) {
        // To truncate it, the kernel makes a separate call.
        let how = garland_protocol::files::OpenFlags { truncate: false, ..translate(flags, None) };
        let Some(path) = inode.path() else { return reply.error(errno(Errno::STALE)) };
        let mount = Arc::clone(self);
        let peer = Arc::clone(self.peer(&inode));
        let then = move |outcome: Result<Reply, Errno>| match opened(outcome) {
            // The name that was found last is gone; the next lookup finds the one that the user
            // named.
            Err(Errno::NOENT) => reply.error(errno(Errno::STALE)),
            Err(error) => reply.error(errno(error)),
            Ok(file) if inode.key != Some(Key::from_attr(inode.peer, &file.attr)) => {
                // Another file has the name now; the next lookup finds it.
                mount.close_handle(&inode, file.epoch, file.handle);
                reply.error(errno(Errno::STALE));
            }
            Ok(file) => {
                let (handle, flags) = mount.keep(&inode, &file, how);
                reply.opened(FileHandle(handle), flags);
            }
        };
        peer.ask(Ask::Open(path, how), Vec::new(), Box::new(then));
    }

    /// Creates a file in a directory and opens it.
    pub fn create(
        self: &Arc<Self>,
        above: Arc<Inode>,
        name: Vec<u8>,
        mode: u32,
        flags: OpenFlags,
        reply: ReplyCreate,
    ) {
        let Some(path) = above.path_of(&name) else { return reply.error(errno(Errno::STALE)) };
        let how = translate(flags, Some((mode & 0o7777) as u16));
        let mount = Arc::clone(self);
        let peer = Arc::clone(self.peer(&above));
        let then = move |outcome: Result<Reply, Errno>| match opened(outcome) {
            Err(error) => reply.error(errno(error)),
            Ok(file) => {
                let inode = mount.inodes.tell(&above, &name, &file.attr);
                let (handle, flags) = mount.keep(&inode, &file, how);
                let attr = inode.flow().with_written(file.attr);
                let attr = attr::to_kernel(inode.number, &attr);
                reply.created(&CACHE_TIMEOUT, &attr, Generation(0), FileHandle(handle), flags);
            }
        };
        peer.ask(Ask::Open(path, how), Vec::new(), Box::new(then));
    }

    /// Adds an open file. Returns its handle, and flags that say what the kernel may cache.
    fn keep(
        &self,
        inode: &Arc<Inode>,
        opened: &Opened,
        how: garland_protocol::files::OpenFlags,
    ) -> (u64, FopenFlags) {
        let Opened { epoch, handle, attr, fresh } = *opened;
        let file = OpenFile::new(Arc::clone(inode), epoch, handle, how.append);
        let now = Some(CacheStamp::from_attr(&attr));
        let is_same = {
            let mut flow = inode.flow();
            flow.open.push(Arc::clone(&file));
            if how.truncate {
                flow.version += 1;
            }
            let is_same = flow.is_settled() && flow.seen == now;
            // The file changed just now if `fresh`: another change might not alter its times.
            flow.seen = now.filter(|_| !fresh);
            file.ahead().trust(flow.seen);
            flow.with_written(attr);
            if !is_same {
                // Pieces that other handles read ahead may be older than this state.
                flow.version += 1;
            }
            // With `exclusive` nobody else has the file yet, and it belongs to the agent's user.
            if how.create.is_some() && how.exclusive && how.write && !how.append && self.may_hold()
            {
                flow.held = Some(Held::new(&file, attr));
            }
            is_same
        };
        self.figures.opens.fetch_add(1, Ordering::Relaxed);
        let mut flags = FopenFlags::empty();
        if is_same {
            self.figures.kept.fetch_add(1, Ordering::Relaxed);
            flags |= FopenFlags::FOPEN_KEEP_CACHE;
        }
        if how.append {
            // Only the node knows the end of the file; cached pages would be at wrong offsets.
            flags |= FopenFlags::FOPEN_DIRECT_IO;
        }
        if !how.write {
            flags |= FopenFlags::FOPEN_NOFLUSH;
        }
        (self.opens.keep(Open::File(file)), flags)
    }

    fn may_hold(&self) -> bool {
        !self.is_refused.load(Ordering::Acquire)
    }

    /// Closes an open file or directory by the kernel's handle. The node closes a file after it has
    /// acknowledged all writes to it.
    pub fn release(self: &Arc<Self>, handle: u64, reply: ReplyEmpty) {
        match self.opens.remove(handle) {
            Some(Open::File(file)) => {
                let mount = Arc::clone(self);
                let inode = Arc::clone(&file.inode);
                let then = move || {
                    file.inode.flow().open.retain(|open| !Arc::ptr_eq(open, &file));
                    mount.close_handle(&file.inode, file.epoch, file.handle);
                };
                self.settle(&inode, Box::new(then));
            }
            Some(Open::Folder(folder)) => self.close_folder(&folder),
            Some(Open::Text(_)) | None => {}
        }
        reply.ok();
    }

    fn close_handle(&self, inode: &Inode, epoch: u64, handle: u64) {
        let close = Ask::Close(handle);
        self.peer(inode).ask_in(epoch, close, Vec::new(), Box::new(|_| {}));
    }

    /// Allocates or deallocates space of a file (fallocate(2)).
    pub fn allocate(
        self: &Arc<Self>,
        file: Arc<OpenFile>,
        mode: i32,
        range: (u64, u64),
        reply: ReplyEmpty,
    ) {
        let mount = Arc::clone(self);
        let inode = Arc::clone(&file.inode);
        let then = move || {
            let ask = Ask::Allocate(file.handle, mode.cast_unsigned(), range.0, range.1);
            let changed = Arc::clone(&file.inode);
            let then = move |outcome: Result<Reply, Errno>| {
                changed.flow().version += 1;
                match outcome {
                    Ok(_) => reply.ok(),
                    Err(error) => reply.error(errno(error)),
                }
            };
            mount.peer(&file.inode).ask_in(file.epoch, ask, Vec::new(), Box::new(then));
        };
        self.settle(&inode, Box::new(then));
    }

    /// Finds the next hole or the next data of a file (lseek(2)).
    pub fn seek(self: &Arc<Self>, file: Arc<OpenFile>, from: u64, hole: Hole, reply: ReplyLseek) {
        let mount = Arc::clone(self);
        let inode = Arc::clone(&file.inode);
        let then = move || {
            let ask = Ask::Seek(file.handle, from, hole);
            let then = move |outcome: Result<Reply, Errno>| match outcome.map(|came| came.answer) {
                Ok(Answer::At(at)) => reply.offset(i64::try_from(at).unwrap_or(i64::MAX)),
                Ok(_) => reply.error(errno(Errno::IO)),
                Err(error) => reply.error(errno(error)),
            };
            mount.peer(&file.inode).ask_in(file.epoch, ask, Vec::new(), Box::new(then));
        };
        self.settle(&inode, Box::new(then));
    }
}

fn opened(outcome: Result<Reply, Errno>) -> Result<Opened, Errno> {
    let Reply { answer, epoch, .. } = outcome?;
    match answer {
        Answer::Opened { handle, attr, fresh } => Ok(Opened { epoch, handle, attr, fresh }),
        _ => Err(Errno::IO),
    }
}

fn translate(flags: OpenFlags, create: Option<u16>) -> garland_protocol::files::OpenFlags {
    let bits = OFlags::from_bits_retain(flags.0.cast_unsigned());
    let (read, write) = match flags.acc_mode() {
        OpenAccMode::O_RDONLY => (true, false),
        OpenAccMode::O_WRONLY => (false, true),
        OpenAccMode::O_RDWR => (true, true),
    };
    garland_protocol::files::OpenFlags {
        read,
        write,
        append: bits.contains(OFlags::APPEND),
        truncate: bits.contains(OFlags::TRUNC),
        create,
        exclusive: bits.contains(OFlags::EXCL),
    }
}
