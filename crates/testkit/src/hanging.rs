//! A file system in which calls of one kind hang, as on a broken disk or a dead file server, or
//! which is odd, as those of cameras and other systems are. A process that hangs in such a call
//! cannot be killed until the file system is released.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    AccessFlags, BsdFileFlags, Config, Errno, FileAttr, FileHandle, FileType, Filesystem,
    FopenFlags, Generation, INodeNo, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate,
    ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, Session,
    SessionACL, TimeOrNow, WriteFlags,
};
use parking_lot::Mutex;
use rustix::mount::{UnmountFlags, unmount};

/// The time for which the kernel may cache attributes: 0, so the kernel always requests them.
const TTL: Duration = Duration::ZERO;

/// The kind of call that hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HangsIn {
    /// Listing a directory.
    List,
    /// Creating a file.
    Create,
    /// Writing to files, once this number of bytes was written in total.
    Write(u64),
    /// Reading from files, once this number of bytes was read in total.
    Read(u64),
    /// Syncing a file (fsync(2)).
    Fsync,
    /// Renaming a file.
    Rename,
    /// None: the disk only takes this long to write a mebibyte.
    Never {
        /// The time for a mebibyte.
        a_mib: Duration,
    },
}

/// What an odd file system does otherwise than those of Linux. All have no hard links, and no files
/// without a name.
#[derive(Clone, Copy, Debug, Default)]
pub struct Oddities {
    /// It finds a file under each name of which this function makes the same one, such as
    /// [`str::to_lowercase`].
    pub folds: Option<fn(&str) -> String>,
    /// Listings have the names that `folds` makes, as those of some mounts do.
    pub lists_folded: bool,
    /// Each name under which a file is found gives it another inode number, as libfuse does, and
    /// listings have the same number for all files.
    pub numbers_names: bool,
    /// What becomes of modes.
    pub modes: Modes,
    /// chown(2) fails if it would change something.
    pub refuses_owners: bool,
    /// utimensat(2) fails, except for the present time.
    pub refuses_times: bool,
    /// utimensat(2) does nothing and succeeds.
    pub ignores_times: bool,
    /// symlink(2) fails.
    pub refuses_symlinks: bool,
    /// Times are multiples of this number of nanoseconds; 0 for any time.
    pub time_unit_ns: u64,
    /// It has room for this number of files and directories, the top one among them; 0 for any.
    pub inodes_max: usize,
    /// utimensat(2) with UTIME_OMIT for the access time does nothing and succeeds.
    pub ignores_single_times: bool,
    /// It has no change times, and counts what is free in clusters only, as that of exFAT does:
    /// that shows any time, and stores only those of 1980 to 2107.
    pub is_like_exfat: bool,
    /// It refuses names with a colon, with the error of exFAT's: ENOENT.
    pub refuses_colons: bool,
    /// Listing a directory fails with this error number; 0 for none.
    pub listing_fails: i32,
}

/// What an odd file system does with the modes of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Modes {
    /// It keeps them.
    #[default]
    Kept,
    /// All files have the same one, and chmod(2) fails, as on a FAT.
    FixedAndRefused,
    /// All files have the same one, and chmod(2) does nothing and succeeds.
    FixedAndIgnored,
    /// Files have the mode with which they were created, and chmod(2) fails.
    Refused,
}

/// A mounted file system in memory that hangs in one kind of call, or is odd. Dropping it releases
/// hanging calls and unmounts it.
#[derive(Debug)]
pub struct HangingDisk {
    dir: PathBuf,
    disk: Arc<Mutex<Disk>>,
}

struct Disk {
    hangs: Option<HangsIn>,
    oddities: Oddities,
    /// The inode numbers of names, if each has its own: by directory and name, and the file of
    /// each.
    of_names: HashMap<(u64, OsString), u64>,
    by_number: HashMap<u64, u64>,
    files: HashMap<u64, File>,
    next: u64,
    written: u64,
    read: u64,
    /// The replies to calls that hang. A reply that is dropped would be sent as an error.
    hanging: Vec<Box<dyn Send>>,
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} files, {} calls that hang", self.files.len(), self.hanging.len())
    }
}

struct File {
    attr: FileAttr,
    bytes: Vec<u8>,
    names: HashMap<OsString, u64>,
}

impl HangingDisk {
    /// Mounts the file system on `dir`; the directory is created if missing.
    ///
    /// # Panics
    /// When this user cannot mount FUSE file systems.
    #[must_use]
    pub fn mount(dir: &Path, hangs: HangsIn) -> Self {
        Self::mount_with(dir, Some(hangs), Oddities::default())
    }

    /// Mounts a file system on `dir` in which no call hangs, but which is odd.
    ///
    /// # Panics
    /// When this user cannot mount FUSE file systems.
    #[must_use]
    pub fn mount_odd(dir: &Path, oddities: Oddities) -> Self {
        Self::mount_with(dir, None, oddities)
    }

    fn mount_with(dir: &Path, hangs: Option<HangsIn>, oddities: Oddities) -> Self {
        std::fs::create_dir_all(dir).expect("the folder can be made");
        let device = garland_sys::fuse::mount(dir)
            .unwrap_or_else(|error| panic!("mounting on {}: {error}", dir.display()));
        let top = File::new(1, FileType::Directory, 0o777);
        let disk = Arc::new(Mutex::new(Disk {
            hangs,
            oddities,
            of_names: HashMap::new(),
            by_number: HashMap::new(),
            files: HashMap::from([(1, top)]),
            next: 2,
            written: 0,
            read: 0,
            hanging: Vec::new(),
        }));
        let mut config = Config::default();
        config.acl = SessionACL::Owner;
        let session =
            Session::from_fd(Shared(Arc::clone(&disk)), device, SessionACL::Owner, config)
                .expect("the kernel greets");
        std::thread::spawn(move || session.run());
        Self { dir: dir.to_owned(), disk }
    }

    /// Returns the number of calls that hang now.
    #[must_use]
    pub fn hanging(&self) -> usize {
        self.disk.lock().hanging.len()
    }

    /// Releases the calls that hang, which then fail with an error. Later calls succeed.
    pub fn release(&self) {
        let mut disk = self.disk.lock();
        disk.hangs = None;
        // Dropping a reply sends an error.
        disk.hanging.clear();
    }

    /// Creates the file `name` with these bytes in the root of the file system.
    pub fn put(&self, name: &str, bytes: Vec<u8>) {
        let mut disk = self.disk.lock();
        let number = disk.make(1, OsStr::new(name), FileType::RegularFile, 0o644).0;
        let file = disk.files.get_mut(&number).expect("it was made just now");
        file.attr.size = bytes.len() as u64;
        file.bytes = bytes;
    }
}

impl Drop for HangingDisk {
    fn drop(&mut self) {
        self.release();
        // Ends the connection even if it is in use.
        let _ = unmount(&self.dir, UnmountFlags::FORCE);
        let _ = unmount(&self.dir, UnmountFlags::DETACH);
    }
}

impl File {
    fn new(number: u64, kind: FileType, mode: u32) -> Self {
        let attr = FileAttr {
            ino: INodeNo(number),
            size: 0,
            blocks: 0,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm: (mode & 0o7777) as u16,
            nlink: 1,
            uid: rustix::process::getuid().as_raw(),
            gid: rustix::process::getgid().as_raw(),
            rdev: 0,
            blksize: 4096,
            flags: 0,
        };
        Self { attr, bytes: Vec::new(), names: HashMap::new() }
    }
}

impl Disk {
    /// Returns the file with the inode number `number`, which may be that of one of its names.
    fn get(&self, number: u64) -> Option<&File> {
        self.files.get(self.by_number.get(&number).unwrap_or(&number))
    }

    fn get_mut(&mut self, number: u64) -> Option<&mut File> {
        self.files.get_mut(self.by_number.get(&number).unwrap_or(&number))
    }

    /// Returns the name that finds `name` in a directory, and its file.
    fn find(&self, parent: u64, name: &OsStr) -> Option<(OsString, u64)> {
        let names = &self.get(parent)?.names;
        let is_same = |other: &OsStr| match self.oddities.folds {
            Some(fold) => fold(&other.to_string_lossy()) == fold(&name.to_string_lossy()),
            None => other == name,
        };
        let other = names.keys().find(|other| is_same(other))?;
        Some((other.clone(), names[other]))
    }

    /// Returns what the kernel is told of the file `number` when it asks for the name.
    fn named(&mut self, parent: u64, name: &OsStr, number: u64) -> FileAttr {
        let mut attr = self.files[&number].attr;
        if self.oddities.numbers_names {
            let key = (parent, name.to_owned());
            let next = self.next;
            let own = *self.of_names.entry(key).or_insert(next);
            self.next += u64::from(own == next);
            self.by_number.insert(own, number);
            attr.ino = INodeNo(own);
        }
        attr
    }

    /// Returns the time as the file system keeps it.
    fn kept(&self, time: SystemTime) -> SystemTime {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let ns = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        UNIX_EPOCH + Duration::from_nanos(ns - ns % self.oddities.time_unit_ns.max(1))
    }

    fn now(&self) -> SystemTime {
        self.kept(UNIX_EPOCH + Duration::from_nanos(garland_sys::clock::wall_ns()))
    }

    fn make(&mut self, parent: u64, name: &OsStr, kind: FileType, mode: u32) -> (u64, FileAttr) {
        let number = self.next;
        let now = self.now();
        self.next += 1;
        let mode = match self.oddities.modes {
            Modes::Kept | Modes::Refused => mode,
            // The mount decides it for all files.
            Modes::FixedAndRefused | Modes::FixedAndIgnored => 0o755,
        };
        let mut file = File::new(number, kind, mode);
        file.attr.ctime = now;
        if self.oddities.is_like_exfat {
            file.attr.mtime = now;
        }
        self.files.insert(number, file);
        if let Some(parent) = self.get_mut(parent) {
            parent.names.insert(name.to_owned(), number);
        }
        (number, self.named(parent, name, number))
    }

    /// Returns the error with which a new entry of this name is refused.
    fn refusal(&self, name: &OsStr) -> Option<Errno> {
        let is_refused = self.oddities.refuses_colons && name.as_encoded_bytes().contains(&b':');
        is_refused.then_some(Errno::ENOENT)
    }

    fn has_inodes(&self) -> bool {
        self.oddities.inodes_max == 0 || self.files.len() < self.oddities.inodes_max
    }

    fn remove(&mut self, parent: u64, name: &OsStr) -> bool {
        let Some((name, _)) = self.find(parent, name) else { return false };
        self.of_names.remove(&(parent, name.clone()));
        let parent = self.get_mut(parent);
        parent.is_some_and(|parent| parent.names.remove(&name).is_some())
    }
}

struct Shared(Arc<Mutex<Disk>>);

impl Shared {
    /// Takes the time of a slow disk for writing `length` bytes. All other calls wait, as on a real
    /// one.
    fn be_slow(&self, length: usize) {
        let hangs = self.0.lock().hangs;
        if let Some(HangsIn::Never { a_mib }) = hangs {
            std::thread::sleep(a_mib.mul_f64(length as f64 / f64::from(1 << 20)));
        }
    }
}

/// If calls of this kind hang, keeps the reply to this call without sending it, and returns.
macro_rules! hang_if {
    ($disk:expr, $hangs:pat, $reply:expr) => {
        if let Some($hangs) = $disk.hangs {
            return $disk.hanging.push(Box::new($reply));
        }
    };
}

impl Filesystem for Shared {
    fn lookup(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let mut disk = self.0.lock();
        match disk.find(parent.0, name) {
            Some((_, number)) => {
                let attr = disk.named(parent.0, name, number);
                reply.entry(&TTL, &attr, Generation(0));
            }
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _req: &Request, ino: INodeNo, _fh: Option<FileHandle>, reply: ReplyAttr) {
        match self.0.lock().get(ino.0) {
            Some(file) => reply.attr(&TTL, &FileAttr { ino, ..file.attr }),
            None => reply.error(Errno::ESTALE),
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
        _fh: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let mut disk = self.0.lock();
        let oddities = disk.oddities;
        let now = disk.now();
        let refuses_modes = matches!(oddities.modes, Modes::FixedAndRefused | Modes::Refused);
        if mode.is_some() && refuses_modes
            || matches!(mtime, Some(TimeOrNow::SpecificTime(_))) && oddities.refuses_times
        {
            return reply.error(Errno::EPERM);
        }
        let mtime = mtime.filter(|_| !oddities.ignores_times);
        let mtime = mtime.filter(|_| !oddities.ignores_single_times || atime.is_some());
        let mtime = mtime.map(|mtime| match mtime {
            TimeOrNow::SpecificTime(time) => disk.kept(time),
            TimeOrNow::Now => now,
        });
        let Some(file) = disk.get_mut(ino.0) else { return reply.error(Errno::ESTALE) };
        let user = uid.unwrap_or(file.attr.uid);
        let group = gid.unwrap_or(file.attr.gid);
        if oddities.refuses_owners && (user, group) != (file.attr.uid, file.attr.gid) {
            return reply.error(Errno::EPERM);
        }
        file.attr.uid = user;
        file.attr.gid = group;
        if let Some(size) = size {
            file.attr.size = size;
            file.bytes.resize(usize::try_from(size).unwrap_or(0), 0);
        }
        if let Some(mode) = mode.filter(|_| oddities.modes == Modes::Kept) {
            file.attr.perm = (mode & 0o7777) as u16;
        }
        file.attr.mtime = mtime.unwrap_or(file.attr.mtime);
        file.attr.ctime = if oddities.is_like_exfat { file.attr.mtime } else { now };
        reply.attr(&TTL, &FileAttr { ino, ..file.attr });
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
        let mut disk = self.0.lock();
        if let Some(error) = disk.refusal(name) {
            return reply.error(error);
        }
        if !disk.has_inodes() {
            return reply.error(Errno::ENOSPC);
        }
        let (_, attr) = disk.make(parent.0, name, FileType::Directory, mode);
        reply.entry(&TTL, &attr, Generation(0));
    }

    fn unlink(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        match self.0.lock().remove(parent.0, name) {
            true => reply.ok(),
            false => reply.error(Errno::ENOENT),
        }
    }

    fn rmdir(&self, req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let disk = self.0.lock();
        let found = disk.find(parent.0, name).and_then(|(_, number)| disk.get(number));
        if found.is_some_and(|folder| !folder.names.is_empty()) {
            return reply.error(Errno::ENOTEMPTY);
        }
        drop(disk);
        self.unlink(req, parent, name, reply);
    }

    fn symlink(
        &self,
        _req: &Request,
        parent: INodeNo,
        name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        let mut disk = self.0.lock();
        if disk.oddities.refuses_symlinks {
            return reply.error(Errno::EPERM);
        }
        if let Some(error) = disk.refusal(name) {
            return reply.error(error);
        }
        let (number, _) = disk.make(parent.0, name, FileType::Symlink, 0o777);
        let link = disk.files.get_mut(&number).expect("it was made just now");
        link.bytes = target.as_os_str().as_encoded_bytes().to_vec();
        link.attr.size = link.bytes.len() as u64;
        reply.entry(&TTL, &disk.named(parent.0, name, number), Generation(0));
    }

    fn readlink(&self, _req: &Request, ino: INodeNo, reply: ReplyData) {
        match self.0.lock().get(ino.0) {
            Some(link) => reply.data(&link.bytes),
            None => reply.error(Errno::ESTALE),
        }
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
        let mut disk = self.0.lock();
        hang_if!(disk, HangsIn::Rename, reply);
        let Some((_, number)) = disk.find(parent.0, name) else {
            return reply.error(Errno::ENOENT);
        };
        let replaces = !flags.contains(RenameFlags::RENAME_NOREPLACE);
        if !replaces && disk.find(newparent.0, newname).is_some() {
            return reply.error(Errno::EEXIST);
        }
        disk.remove(parent.0, name);
        disk.remove(newparent.0, newname);
        if let Some(folder) = disk.get_mut(newparent.0) {
            folder.names.insert(newname.to_owned(), number);
        }
        reply.ok();
    }

    fn create(
        &self,
        _req: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        let mut disk = self.0.lock();
        hang_if!(disk, HangsIn::Create, reply);
        if let Some(error) = disk.refusal(name) {
            return reply.error(error);
        }
        if !disk.has_inodes() {
            return reply.error(Errno::ENOSPC);
        }
        let (number, attr) = disk.make(parent.0, name, FileType::RegularFile, mode);
        let direct = FopenFlags::FOPEN_DIRECT_IO;
        reply.created(&TTL, &attr, Generation(0), FileHandle(number), direct);
    }

    fn open(&self, _req: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        // With direct I/O, each call of a program is one call here.
        reply.opened(FileHandle(ino.0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let mut disk = self.0.lock();
        if let Some(HangsIn::Read(after)) = disk.hangs
            && disk.read >= after
        {
            return disk.hanging.push(Box::new(reply));
        }
        let Some(file) = disk.get(ino.0) else { return reply.error(Errno::ESTALE) };
        let rest = usize::try_from(offset).ok().and_then(|at| file.bytes.get(at..));
        let rest = rest.unwrap_or_default();
        let part = &rest[..rest.len().min(size as usize)];
        reply.data(part);
        let read = part.len() as u64;
        disk.read += read;
    }

    fn write(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        self.be_slow(data.len());
        let mut disk = self.0.lock();
        if let Some(HangsIn::Write(after)) = disk.hangs
            && disk.written >= after
        {
            return disk.hanging.push(Box::new(reply));
        }
        disk.written += data.len() as u64;
        let now = disk.now();
        let Some(file) = disk.get_mut(ino.0) else { return reply.error(Errno::ESTALE) };
        file.attr.mtime = now;
        file.attr.ctime = now;
        let begin = usize::try_from(offset).unwrap_or(0);
        let end = begin + data.len();
        if file.bytes.len() < end {
            file.bytes.resize(end, 0);
            file.attr.size = end as u64;
        }
        file.bytes[begin..end].copy_from_slice(data);
        reply.written(u32::try_from(data.len()).unwrap_or(0));
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

    fn fsync(
        &self,
        _req: &Request,
        _ino: INodeNo,
        _fh: FileHandle,
        _datasync: bool,
        reply: ReplyEmpty,
    ) {
        let mut disk = self.0.lock();
        hang_if!(disk, HangsIn::Fsync, reply);
        reply.ok();
    }

    fn readdir(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let mut disk = self.0.lock();
        hang_if!(disk, HangsIn::List, reply);
        if disk.oddities.listing_fails != 0 {
            return reply.error(Errno::from_i32(disk.oddities.listing_fails));
        }
        let Some(folder) = disk.get(ino.0) else { return reply.error(Errno::ESTALE) };
        let mut names: Vec<_> = folder.names.iter().collect();
        names.sort();
        let rest = (1..).zip(names).skip(usize::try_from(offset).unwrap_or(usize::MAX));
        for (next, (name, number)) in rest {
            let kind = disk.files.get(number).map_or(FileType::RegularFile, |it| it.attr.kind);
            let listed = if disk.oddities.numbers_names { u64::from(u32::MAX) } else { *number };
            let fold = disk.oddities.folds.filter(|_| disk.oddities.lists_folded);
            let name = fold.map_or(name.clone(), |fold| fold(&name.to_string_lossy()).into());
            if reply.add(INodeNo(listed), next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _req: &Request, _ino: INodeNo, reply: fuser::ReplyStatfs) {
        let disk = self.0.lock();
        const FREE: u64 = 1 << 20;
        let free_inodes = match disk.has_inodes() {
            true if disk.oddities.is_like_exfat => FREE,
            true => FREE / 2,
            false => 0,
        };
        reply.statfs(FREE, FREE, FREE, FREE, free_inodes, 4096, 255, 4096);
    }

    fn access(&self, _req: &Request, _ino: INodeNo, _mask: AccessFlags, reply: ReplyEmpty) {
        reply.ok();
    }
}
