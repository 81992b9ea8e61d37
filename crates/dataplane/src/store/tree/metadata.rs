//! Sets owner, extended attributes, mode and time of the files of a tree.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use garland_core::printable;
use garland_core::tree::Meta;
use garland_protocol::copy::{KeptStatus, StatusRule};
use garland_sys::process;
use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid, chownat, fchown, fstat, openat};
use rustix::io::Errno;

use crate::attributes;
use crate::store::access;
use crate::store::times::{self, TimeUnit};
use crate::store::unset::Unset;

const SET_USER: u32 = 0o4000;
const SET_GROUP: u32 = 0o2000;

/// The maximum number of file systems whose units of times are remembered.
const FILE_SYSTEMS_MAX: usize = 64;

/// The user and groups that this process has. They determine which owners it can give to files.
pub struct Identity {
    user: u32,
    groups: Vec<u32>,
    /// What counts as given.
    rule: StatusRule,
    /// The units of the times of file systems, by device number, as far as they are known.
    units: RefCell<BTreeMap<u64, TimeUnit>>,
}

impl Identity {
    /// Returns those of this process, which gives entries what `rule` says.
    pub fn new(rule: StatusRule) -> Self {
        let units = RefCell::default();
        Self { user: process::user_id(), groups: process::group_ids(), rule, units }
    }

    /// Returns whether a file with the status `stat` has what [`apply`] would give it of `meta`,
    /// except extended attributes, and the time of `meta` even if it would not get that: by its
    /// time it is known whether it is the same file.
    pub fn has_given(&self, stat: &Stat, meta: &Meta) -> bool {
        self.has_given_mode(stat, meta)
            && self.has_given_owner(stat, meta)
            && self.has_time(stat, meta)
    }

    /// Returns whether a directory has what [`apply`] would give it, except extended attributes.
    pub fn has_given_directory(&self, stat: &Stat, meta: &Meta) -> bool {
        self.has_given_mode(stat, meta) && self.has_given_link(stat, meta)
    }

    /// Returns the same of a symbolic link, which has no mode.
    pub fn has_given_link(&self, stat: &Stat, meta: &Meta) -> bool {
        let has_time = !self.rule.keeps.times || self.has_time(stat, meta);
        has_time && self.has_given_owner(stat, meta)
    }

    fn has_given_mode(&self, stat: &Stat, meta: &Meta) -> bool {
        let (user, group) = meta.owner;
        let denied = if stat.st_uid == user { 0 } else { SET_USER }
            | if stat.st_gid == group { 0 } else { SET_GROUP };
        let mode = meta.mode & 0o7777 & !denied;
        !self.rule.keeps.modes || stat.st_mode & 0o7777 == mode
    }

    fn has_given_owner(&self, stat: &Stat, meta: &Meta) -> bool {
        let (user, group) = meta.owner;
        let is_root = self.user == 0;
        if !self.rule.keeps.owners {
            return true;
        }
        let owned = stat.st_uid == user || !is_root && stat.st_uid == self.user;
        let grouped = stat.st_gid == group || !is_root && !self.groups.contains(&group);
        owned && grouped
    }

    /// Notes what is known of the times of the file system of an open directory, whose status is
    /// `stat`.
    pub fn learn(&self, folder: impl AsFd, stat: &Stat) {
        let mut units = self.units.borrow_mut();
        if units.len() < FILE_SYSTEMS_MAX && !units.contains_key(&stat.st_dev) {
            let unit = TimeUnit::of_file_system(folder).and(TimeUnit::from_stat(stat));
            units.insert(stat.st_dev, unit);
        }
    }

    /// Returns whether the modification time is what the file system keeps of that in `meta`, or
    /// counts as equal to it.
    fn has_time(&self, stat: &Stat, meta: &Meta) -> bool {
        let mut units = self.units.borrow_mut();
        let own = TimeUnit::from_stat(stat);
        let unit = match units.get_mut(&stat.st_dev) {
            Some(unit) => {
                *unit = unit.and(own);
                *unit
            }
            None => own,
        };
        let modified = attributes::modified_time(stat);
        let is_near = self.rule.window.covers(modified, meta.modified);
        is_near && !unit.forgets(meta.modified) || unit.keeps(modified, meta.modified)
    }
}

/// What becomes of the access control lists that a file or directory has and its source has not,
/// such as those that it inherits from its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherLists {
    /// They stay: attributes are not copied.
    Stay,
    /// They go, as they would let others in whom the source does not.
    Go,
}

/// What a copy sets of the metadata of its entries.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// What becomes of access control lists that only destinations have.
    pub lists: OtherLists,
    /// What entries keep of the status of their sources.
    pub keeps: KeptStatus,
}

impl From<OtherLists> for Manner {
    /// Returns the manner of a copy that sets all but these lists.
    fn from(lists: OtherLists) -> Self {
        Self { lists, keeps: KeptStatus::default() }
    }
}

/// Applies `meta` to an open file or directory. If the agent may not change the owner, the file
/// keeps the agent's user as its owner, and gets no set-user-ID or set-group-ID bit.
///
/// # Errors
/// When some of the metadata cannot be set; the others are set nevertheless, unless the disk is
/// broken or full.
pub fn apply(fd: impl AsFd, meta: &Meta, manner: Manner) -> io::Result<()> {
    let fd = fd.as_fd();
    let mut unset = Unset::default();
    // The order matters: chown(2) clears capabilities and bits of the mode.
    let allowed = set_owner_in(manner, fd, meta.owner, &mut unset)?;
    set_attributes(meta, &mut unset, |name, value| attributes::set(fd, name, value))?;
    unset.note("access control list", remove_others(fd, meta, manner.lists))?;
    if manner.keeps.modes {
        unset.note("mode", access::set(fd, meta.mode & 0o7777 & allowed))?;
    }
    if manner.keeps.times {
        unset.note("time", set_time(fd, meta))?;
    }
    unset.none()
}

/// Applies `meta` to a file that was in place before. Sets only what differs, so that an unchanged
/// file keeps its change time.
///
/// # Errors
/// Those of [`apply`].
pub fn apply_changes(fd: impl AsFd, meta: &Meta, manner: Manner) -> io::Result<()> {
    let fd = fd.as_fd();
    let mut unset = Unset::default();
    let allowed = set_owner_in(manner, fd, meta.owner, &mut unset)?;
    let has = || attributes::read(fd).is_ok_and(|has| same(&has, &meta.attributes));
    if !meta.attributes.is_empty() && !has() {
        set_attributes(meta, &mut unset, |name, value| attributes::set(fd, name, value))?;
    }
    unset.note("access control list", remove_others(fd, meta, manner.lists))?;
    let now = fstat(fd)?;
    if manner.keeps.modes {
        unset.note("mode", access::set(fd, meta.mode & 0o7777 & allowed))?;
    }
    if manner.keeps.times && !times::has(&now, fd, meta.modified) {
        unset.note("time", set_time(fd, meta))?;
    }
    unset.none()
}

fn remove_others(fd: BorrowedFd<'_>, meta: &Meta, lists: OtherLists) -> io::Result<()> {
    match lists {
        OtherLists::Stay => Ok(()),
        OtherLists::Go => attributes::remove_other_lists(fd, &meta.attributes),
    }
}

fn set_attributes(
    meta: &Meta,
    unset: &mut Unset,
    set: impl Fn(&[u8], &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    for (name, value) in &meta.attributes {
        let outcome = set(name, value);
        if outcome.is_err() {
            let shown = printable::name(name);
            unset.note(&format!("extended attribute {shown}"), outcome)?;
        }
    }
    Ok(())
}

fn set_time(fd: BorrowedFd<'_>, meta: &Meta) -> io::Result<()> {
    times::set_modified(fd, meta.modified)?;
    Ok(())
}

/// Returns whether two lists of extended attributes contain the same ones, in any order.
pub fn same(one: &[(Vec<u8>, Vec<u8>)], other: &[(Vec<u8>, Vec<u8>)]) -> bool {
    one.len() == other.len() && one.iter().all(|attribute| other.contains(attribute))
}

/// Sets the modification time of a file that was created with its owner and mode and needs no
/// extended attributes.
///
/// # Errors
/// When the time cannot be set, or the file system has not kept the mode.
pub fn apply_time(fd: impl AsFd, meta: &Meta) -> io::Result<()> {
    let timed = times::set_modified(&fd, meta.modified);
    // Of most files this is all that is asked.
    let stat = match &timed {
        Ok(stat) => *stat,
        Err(_) => fstat(fd)?,
    };
    let mut unset = Unset::default();
    unset.note("mode", access::look(&stat, meta.mode & 0o7777))?;
    unset.note("time", timed.map(|_| ()))?;
    unset.none()
}

/// Applies owner, extended attributes and modification time to a symbolic link, which has no mode.
/// Returns what could not be set. Whoever can write to the directory may give the name to another
/// file meanwhile, which must not get the owner: what is changed is what was looked at.
///
/// # Errors
/// When the disk is broken or full, or the name is not that of a link any more.
pub fn apply_to_link(
    folder: &OwnedFd,
    name: &OsStr,
    meta: &Meta,
    keeps: KeptStatus,
) -> io::Result<Unset> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let link = openat(folder, name, flags, Mode::empty())?;
    let mut unset = Unset::default();
    let stat = fstat(&link)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink || stat.st_nlink > 1 {
        return Err(io::Error::other("another process has given its name to another file"));
    }
    if (stat.st_uid, stat.st_gid) != meta.owner {
        let (user, group) = ids(meta.owner);
        match chownat(&link, "", Some(user), Some(group), AtFlags::EMPTY_PATH) {
            Ok(()) => {}
            Err(error) if is_refused(error) => unset.note_owner(error),
            Err(error) => return Err(error.into()),
        }
    }
    set_attributes(meta, &mut unset, |name, value| attributes::set_of_link(&link, name, value))?;
    if keeps.times {
        unset.note("time", times::set_modified_of_link(&link, meta.modified))?;
    }
    Ok(unset)
}

/// Returns whether only this owner is refused: only root may change owners, some file systems have
/// the same one for all files, and EINVAL says that the number is not mapped in this user
/// namespace.
fn is_refused(error: Errno) -> bool {
    matches!(error, Errno::PERM | Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS)
}

/// Sets owner and group if this is the manner. Returns a mask of the mode bits that the file may
/// get.
fn set_owner_in(
    manner: Manner,
    fd: BorrowedFd<'_>,
    owner: (u32, u32),
    unset: &mut Unset,
) -> io::Result<u32> {
    match manner.keeps.owners {
        true => set_owner(fd, owner, unset),
        false => Ok(!(SET_USER | SET_GROUP)),
    }
}

/// Sets owner and group, as far as permitted. Returns a mask of the mode bits that the file may
/// get: no set-user-ID or set-group-ID bit if the file has another user or group than requested.
fn set_owner(fd: BorrowedFd<'_>, owner: (u32, u32), unset: &mut Unset) -> io::Result<u32> {
    let stat = fstat(fd)?;
    if (stat.st_uid, stat.st_gid) == owner {
        return Ok(u32::MAX);
    }
    let (user, group) = ids(owner);
    match fchown(fd, Some(user), Some(group)) {
        Ok(()) => Ok(u32::MAX),
        Err(error) if is_refused(error) => {
            unset.note_owner(error);
            let same_group = stat.st_gid == owner.1 || fchown(fd, None, Some(group)).is_ok();
            let user = if stat.st_uid == owner.0 { 0 } else { SET_USER };
            let group = if same_group { 0 } else { SET_GROUP };
            Ok(!(user | group))
        }
        Err(error) => Err(error.into()),
    }
}

fn ids(owner: (u32, u32)) -> (Uid, Gid) {
    (Uid::from_raw(owner.0), Gid::from_raw(owner.1))
}
