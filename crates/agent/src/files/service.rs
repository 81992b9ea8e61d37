//! Executes the requests of a mount.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use garland_dataplane::pace::{self, Pace};
use garland_protocol::files::{
    Answer, Ask, Attr, FileKind, FileRef, Hole, NewKind, OpenFlags, Space,
};
use garland_protocol::{AskKind, Role};
use garland_sys::confine::Root;
use garland_sys::sync::Mutex;
use garland_sys::threads::Slots;
use garland_sys::{clock, process};
use rustix::buffer::spare_capacity;
use rustix::fs::{
    Access, AtFlags, FallocateFlags, FileType, Mode, OFlags, RenameFlags, SeekFrom, accessat,
    fallocate, fchmod, fdatasync, fstatvfs, fsync, linkat, mkdirat, mknodat, readlinkat,
    renameat_with, seek, symlinkat, unlinkat,
};
use rustix::io::{Errno, pread, pwrite};

use super::handles::{Handles, Open, OpenFile};
use super::job_folders::JobFolders;
use super::listing::Listing;
use super::places::{ANYWHERE, Place, Places, SetId, by_descriptor};
use super::verified::WantedPiece;
use super::{attr, change, verified};
use crate::names::Holdings;

/// Two changes of a file within this time may leave it with the same change time: the resolution of
/// file times is a few milliseconds.
const TICK_NS: u64 = 100_000_000;

/// Which files of the node a peer reaches.
pub struct Reach {
    /// Who the peer is.
    pub role: Role,
    /// The contents that the agent serves.
    pub holdings: Arc<Holdings>,
    /// The directories of the jobs of a farm's nodes.
    pub job_folders: Arc<JobFolders>,
    /// The time at which a node used the agent last, in monotonic nanoseconds.
    pub active_ns: Arc<AtomicU64>,
    /// The slots for open files of the peer's key.
    pub open_files: Arc<Slots>,
}

/// The files of this node for one peer: executes its requests.
pub struct FileService {
    places: Places,
    handles: Handles,
    disk: Option<Arc<Pace>>,
    reach: Reach,
}

impl FileService {
    /// Opens the files below `root`, as far as `reach` goes.
    ///
    /// # Errors
    /// When the root cannot be opened.
    pub fn open(root: &Root, disk: Option<Arc<Pace>>, reach: Reach) -> std::io::Result<Self> {
        let handles = Handles::new(Arc::clone(&reach.open_files));
        let set_id = match reach.role {
            Role::FarmNode => SetId::Refused,
            Role::Controller | Role::Member => SetId::Writable,
        };
        Ok(Self { places: Places::new(root, set_id)?, handles, disk, reach })
    }

    /// Executes a request. `payload` is the data to write, if any; data that was read is appended
    /// to `frame`.
    ///
    /// # Errors
    /// `EACCES`, before anything is looked at, if the peer's role does not admit the request;
    /// otherwise why it cannot be executed.
    pub fn obey(&self, ask: &Ask, payload: &[u8], frame: &mut Vec<u8>) -> Result<Answer, Errno> {
        self.reach.admit(ask)?;
        let outcome = self.obey_admitted(ask, payload, frame);
        if outcome.is_ok() {
            self.reach.active_ns.store(clock::now_ns(), Ordering::Relaxed);
        }
        match outcome {
            // What lies in the place of a content is not a member's business.
            Err(error)
                if self.reach.role == Role::Member
                    && !matches!(error, Errno::STALE | Errno::AGAIN) =>
            {
                Err(Errno::NODATA)
            }
            outcome => outcome,
        }
    }

    fn obey_admitted(
        &self,
        ask: &Ask,
        payload: &[u8],
        frame: &mut Vec<u8>,
    ) -> Result<Answer, Errno> {
        match ask {
            Ask::Block { root, file, block, piece, arriving } => {
                let holding = self.reach.holdings.find(root).ok_or(Errno::NODATA)?;
                let wanted = holding.block(*file, *block).ok_or(Errno::NODATA)?;
                if *piece > 0 && *piece >= wanted.pieces() {
                    return Err(Errno::NODATA);
                }
                let find = || self.places.find(&wanted.path);
                let read = |file: &File, offset, length, bytes: &mut Vec<u8>| {
                    self.read(file, offset, length, bytes).map(drop)
                };
                let wanted = WantedPiece { block: &wanted, piece: *piece, arriving: *arriving };
                verified::read(find, &wanted, frame, read)
            }
            Ask::Holds { root, file } => {
                let holding = self.reach.holdings.find(root).ok_or(Errno::NODATA)?;
                let (path, length) = holding.file(*file).ok_or(Errno::NODATA)?;
                let place = self.places.find(&path)?;
                let found = attr::of_name(&place.folder, place.name)?;
                let is_whole = found.kind == FileKind::File && found.size == length;
                if is_whole { Ok(Answer::Done) } else { Err(Errno::STALE) }
            }
            Ask::Stat(FileRef::Path(path)) => {
                let place = self.places.find(path)?;
                attr::of_name(&place.folder, place.name).map(Answer::Attr)
            }
            Ask::Stat(FileRef::Open(handle)) => {
                self.handles.file(*handle, |file| attr::of_open(file.as_fd())).map(Answer::Attr)
            }
            Ask::Change(FileRef::Path(path), changes) => {
                change::named(&self.places.find(path)?, changes).map(Answer::Attr)
            }
            Ask::Change(FileRef::Open(handle), changes) => {
                self.handles.change(*handle, |file| change::open(file, changes)).map(Answer::Attr)
            }
            Ask::Open(path, flags) => self.open_file(path, *flags),
            Ask::Read(handle, offset, length) => {
                self.handles.file(*handle, |file| self.read(file, *offset, *length, frame))
            }
            Ask::Write(handle, offset) => {
                self.handles.file(*handle, |file| self.write(file, *offset, payload))
            }
            Ask::WriteChange(handle, offset, changes) => self.handles.change(*handle, |file| {
                self.write(file, *offset, payload)?;
                change::open(file, changes).map(Answer::Attr)
            }),
            Ask::Sync(handle, bytes_only) => self.handles.file(*handle, |file| {
                if *bytes_only { fdatasync(file) } else { fsync(file) }.map(|()| Answer::Done)
            }),
            Ask::Allocate(handle, mode, offset, length) => self.handles.file(*handle, |file| {
                let mode = FallocateFlags::from_bits(*mode).ok_or(Errno::OPNOTSUPP)?;
                fallocate(file, mode, *offset, *length).map(|()| Answer::Done)
            }),
            Ask::Seek(handle, offset, hole) => self.handles.file(*handle, |file| {
                let to = match hole {
                    Hole::Hole => SeekFrom::Hole(*offset),
                    Hole::Data => SeekFrom::Data(*offset),
                };
                seek(file, to).map(Answer::At)
            }),
            Ask::List(path) => self.list(&self.places.find(path)?),
            Ask::ListOn(handle) => self.list_on(*handle),
            Ask::Close(handle) => {
                self.handles.close(*handle);
                Ok(Answer::Done)
            }
            other => self.obey_by_name(other),
        }
    }

    fn obey_by_name(&self, ask: &Ask) -> Result<Answer, Errno> {
        let find = |path| self.places.find(path);
        match ask {
            Ask::ReadLink(path) => {
                let place = find(path)?;
                let text = readlinkat(&place.folder, place.name, Vec::new())?;
                Ok(Answer::Text(text.into_bytes()))
            }
            Ask::Access(path, what) => {
                let itself = find(path)?.itself()?;
                let what = Access::from_bits(u32::from(*what)).ok_or(Errno::INVAL)?;
                accessat(ANYWHERE, by_descriptor(&itself), what, AtFlags::EACCESS)?;
                Ok(Answer::Done)
            }
            Ask::Make(path, kind, mode) => make(&find(path)?, kind, *mode).map(Answer::Attr),
            Ask::Link(from, to) => {
                let from = find(from)?;
                let to = find(to)?;
                let _guard =
                    self.reach.guards_links().then(|| self.reach.job_folders.renames.lock());
                self.reach.check_move(&from, &to)?;
                linkat(&from.folder, from.name, &to.folder, to.name, AtFlags::empty())?;
                attr::of_name(&to.folder, to.name).map(Answer::Attr)
            }
            Ask::Remove(path) => remove(&find(path)?, AtFlags::empty()),
            Ask::RemoveFolder(path) => remove(&find(path)?, AtFlags::REMOVEDIR),
            Ask::Rename(from, to, flags) => {
                let from = find(from)?;
                let to = find(to)?;
                let known = RenameFlags::NOREPLACE | RenameFlags::EXCHANGE;
                let flags = RenameFlags::from_bits_retain((*flags).into());
                if !known.contains(flags) {
                    return Err(Errno::INVAL);
                }
                let _guard =
                    self.reach.guards_links().then(|| self.reach.job_folders.renames.lock());
                self.reach.check_move(&from, &to)?;
                if flags.contains(RenameFlags::EXCHANGE) {
                    self.reach.check_move(&to, &from)?;
                }
                renameat_with(&from.folder, from.name, &to.folder, to.name, flags)?;
                Ok(Answer::Done)
            }
            Ask::Space(path) => space(&find(path)?).map(Answer::Space),
            Ask::SyncFolder(path) => {
                let folder = find(path)?.open(OFlags::RDONLY | OFlags::DIRECTORY, 0)?;
                fsync(&folder).map(|()| Answer::Done)
            }
            _ => Err(Errno::NOSYS),
        }
    }

    fn open_file(&self, path: &[u8], flags: OpenFlags) -> Result<Answer, Errno> {
        let may_change = self.reach.may_change(path);
        let (file, made) = open(&self.places.find(path)?, flags)?;
        let mut attr = attr::of_open(&file)?;
        match attr.kind {
            FileKind::File => {}
            FileKind::Folder => return Err(Errno::ISDIR),
            // The kernel of the mount's host opens pipes and devices itself.
            _ => return Err(Errno::NXIO),
        }
        if let Some(mode) = flags.create.filter(|_| made) {
            attr = mend_mode(&file, attr, mode)?;
        }
        let changed =
            u64::try_from(attr.changed.seconds).unwrap_or(0).saturating_mul(1_000_000_000)
                + u64::from(attr.changed.nanos);
        let fresh = clock::wall_ns().abs_diff(changed) < TICK_NS;
        let handle = self.handles.keep(Open::File(OpenFile { file, may_change }))?;
        Ok(Answer::Opened { handle, attr, fresh })
    }

    fn read(
        &self,
        file: &File,
        offset: u64,
        length: u32,
        frame: &mut Vec<u8>,
    ) -> Result<Answer, Errno> {
        let before = frame.len();
        let length = length as usize;
        frame.reserve_exact(length);
        let mut have = 0;
        while have < length {
            // Read into uninitialised capacity; it may be slightly more than requested.
            match pread(file, spare_capacity(frame), offset + have as u64) {
                Ok(0) => break,
                Ok(read) => have += read,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        have = have.min(length);
        pace::on(self.disk.as_deref(), have, || ());
        frame.truncate(before + have);
        Ok(Answer::Done)
    }

    fn write(&self, file: &File, offset: u64, payload: &[u8]) -> Result<Answer, Errno> {
        let write = || {
            let mut done = 0;
            while done < payload.len() {
                match pwrite(file, &payload[done..], offset + done as u64) {
                    Ok(0) => return Err(Errno::IO),
                    Ok(written) => done += written,
                    Err(Errno::INTR) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(Answer::Done)
        };
        pace::on(self.disk.as_deref(), payload.len(), write)
    }

    fn list(&self, place: &Place<'_>) -> Result<Answer, Errno> {
        let folder = place.open(OFlags::RDONLY | OFlags::DIRECTORY, 0)?;
        let mut listing = Listing::new(folder)?;
        let (entries, more) = listing.go_on()?;
        let more =
            more.then(|| self.handles.keep(Open::Folder(Mutex::new(listing)))).transpose()?;
        Ok(Answer::Listed { more, entries })
    }

    fn list_on(&self, handle: u64) -> Result<Answer, Errno> {
        let open = self.handles.find(handle)?;
        let Open::Folder(listing) = &*open else { return Err(Errno::NOTDIR) };
        let (entries, more) = listing.lock().go_on()?;
        if !more {
            self.handles.close(handle);
        }
        Ok(Answer::Listed { more: more.then_some(handle), entries })
    }
}

impl Reach {
    /// Admits a request before anything is looked at.
    ///
    /// # Errors
    /// `EACCES` if the peer's role does not admit it; `EOPNOTSUPP` if a node of a farm would
    /// reserve disk space, as on file systems that reserve none: programs write what they need
    /// then.
    fn admit(&self, ask: &Ask) -> Result<(), Errno> {
        let kind = ask.kind();
        let may =
            self.role.may_ask(kind) && (self.role != Role::FarmNode || self.job_folders.admit(ask));
        match (may, self.role, kind) {
            (true, ..) => Ok(()),
            (false, Role::FarmNode, AskKind::Reserve) => Err(Errno::OPNOTSUPP),
            (false, ..) => Err(Errno::ACCESS),
        }
    }

    /// Returns whether the peer may change the attributes of the file at `path`.
    fn may_change(&self, path: &[u8]) -> bool {
        self.role != Role::FarmNode || self.job_folders.may_change(path)
    }

    /// Returns whether the peer may make no link that leads out of the directories it reaches.
    fn guards_links(&self) -> bool {
        self.role == Role::FarmNode
    }

    /// Checks that what lies at `from` may get a name in the directory of `to`: a link that leads
    /// upwards would lead elsewhere from there, and so would links in a directory.
    ///
    /// # Errors
    /// `EXDEV` otherwise, as between file systems: programs copy the files then.
    fn check_move(&self, from: &Place<'_>, to: &Place<'_>) -> Result<(), Errno> {
        if !self.guards_links() || from.is_beside(to)? {
            return Ok(());
        }
        let found = attr::of_name(&from.folder, from.name)?;
        let is_bound = match found.kind {
            FileKind::Folder => true,
            FileKind::Link => {
                let text = readlinkat(&from.folder, from.name, Vec::new())?;
                text.to_bytes().split(|byte| *byte == b'/').any(|part| part == b"..")
            }
            _ => false,
        };
        if is_bound { Err(Errno::XDEV) } else { Ok(()) }
    }
}

/// Opens a file. Returns whether it was created.
fn open(place: &Place<'_>, flags: OpenFlags) -> Result<(File, bool), Errno> {
    let mut how = match (flags.read, flags.write) {
        (true, true) => OFlags::RDWR,
        (false, true) => OFlags::WRONLY,
        (_, false) => OFlags::RDONLY,
    };
    how.set(OFlags::APPEND, flags.append);
    how.set(OFlags::TRUNC, flags.truncate);
    let Some(mode) = flags.create else { return Ok((place.open_existing(how)?.into(), false)) };
    // Several attempts: another process may create or remove the file between the two calls.
    for _ in 0..8 {
        match place.open(how | OFlags::CREATE | OFlags::EXCL, mode) {
            Ok(file) => return Ok((file.into(), true)),
            Err(Errno::EXIST) if !flags.exclusive => {}
            Err(error) => return Err(error),
        }
        match place.open_existing(how) {
            Ok(file) => return Ok((file.into(), false)),
            Err(Errno::NOENT) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Errno::AGAIN)
}

/// Restores the permissions that the agent's umask removed: the mount has applied the umask of the
/// requesting process.
fn mend_mode(fd: impl AsFd, attr: Attr, mode: u16) -> Result<Attr, Errno> {
    let masked = process::umask() & 0o777;
    let taken = mode & !attr.mode & u16::try_from(masked).unwrap_or(0);
    if taken == 0 {
        return Ok(attr);
    }
    fchmod(&fd, Mode::from_raw_mode((attr.mode | taken).into()))?;
    attr::of_open(fd)
}

fn make(place: &Place<'_>, kind: &NewKind, mode: u16) -> Result<Attr, Errno> {
    let folder = &place.folder;
    let name = place.name;
    let bits = Mode::from_raw_mode(mode.into());
    match kind {
        NewKind::Link(text) => {
            symlinkat(std::ffi::OsStr::from_bytes(text), folder, name)?;
            return attr::of_name(folder, name);
        }
        NewKind::Folder => {
            mkdirat(folder, name, bits)?;
            let made = place.open(OFlags::RDONLY | OFlags::DIRECTORY, 0);
            // The mode of a directory that its owner may not read stays as it is.
            let Ok(made) = made else { return attr::of_name(folder, name) };
            let attr = attr::of_open(&made)?;
            return mend_mode(made, attr, mode);
        }
        NewKind::File => {
            let file = place.open(OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, mode)?;
            let attr = attr::of_open(&file)?;
            return mend_mode(file, attr, mode);
        }
        NewKind::Pipe => mknodat(folder, name, FileType::Fifo, bits, 0)?,
        NewKind::Socket => mknodat(folder, name, FileType::Socket, bits, 0)?,
    }
    attr::of_name(folder, name)
}

fn remove(place: &Place<'_>, how: AtFlags) -> Result<Answer, Errno> {
    unlinkat(&place.folder, place.name, how).map(|()| Answer::Done)
}

fn space(place: &Place<'_>) -> Result<Space, Errno> {
    let stat = fstatvfs(place.itself()?)?;
    let short = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    Ok(Space {
        block: short(stat.f_frsize),
        blocks: stat.f_blocks,
        free: stat.f_bfree,
        available: stat.f_bavail,
        files: stat.f_files,
        files_free: stat.f_ffree,
        name_max: short(stat.f_namemax),
    })
}

#[cfg(test)]
mod tests;
