//! Who may read and write a single file at its destination: what cp(1) would leave.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use garland_sys::confine;
use garland_sys::process;
use rustix::fs::{
    FileType, Mode, Stat, XattrFlags, fchmod, fgetxattr, fremovexattr, fsetxattr, fstat, getxattr,
};

use super::unset::NOT_KEPT;

/// The permission bits that a file may take over from the one that it replaces.
pub const PERMISSIONS: u32 = 0o777;

/// The permission bits that the owner needs to create files in a directory.
pub const OWNER: u32 = 0o700;

/// The bit that a new directory inherits, with the group, from the one that it is in.
pub const SET_GROUP_ID: u32 = 0o2000;

/// The access control list of a file, and that of new files in a directory (acl(5)).
const ACCESS: &str = "system.posix_acl_access";
const DEFAULT: &str = "system.posix_acl_default";

/// The size in bytes from which on lists are not read. Each entry takes 8.
const LIST_MAX: usize = 64 << 10;

/// Gives `file`, which is to be called `name` in `folder`, the mode and the access control list
/// that it has after a cp(1) without `-p`: those of the file of its owner that it replaces, or else
/// `mode` as far as the default list of the directory or the umask allow it.
///
/// # Errors
/// When they cannot be set.
pub fn give(file: &File, folder: &OwnedFd, name: &OsStr, mode: u32) -> io::Result<()> {
    let new = mode & PERMISSIONS & new_file_mask(folder);
    let Ok(old) = confine::find_itself(folder, name.as_ref()) else { return set(file, new) };
    let stat = fstat(&old)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return set(file, new);
    }
    let there = stat.st_mode & PERMISSIONS;
    if stat.st_uid != fstat(file)?.st_uid || stat.st_nlink > 1 {
        // Another user could have made it, or this name of it, for all to write.
        return set(file, new & there);
    }
    if let Some(list) = read(|list| getxattr(confine::by_descriptor(&old), ACCESS, list)) {
        return Ok(fsetxattr(file, ACCESS, &list, XattrFlags::empty())?);
    }
    if read(|list| fgetxattr(file, ACCESS, list)).is_some() {
        // The file was made with the directory's default list, which the old one does not have.
        fremovexattr(file, ACCESS)?;
    }
    set(file, there)
}

/// Sets the mode of an open file or directory, unless it already has that mode, and checks the
/// result: some file systems have one mode for all files, and report no error.
///
/// # Errors
/// When the mode cannot be set, or the file has another one afterwards.
pub fn set(file: impl AsFd, mode: u32) -> io::Result<()> {
    if has(&fstat(&file)?, mode) {
        return Ok(());
    }
    fchmod(&file, Mode::from_raw_mode(mode))?;
    look(&fstat(&file)?, mode)
}

/// Fails if the file with this status does not have the mode that it was given. A directory may
/// have all permissions of its owner besides: another node that shares the file system, or another
/// copy, adds them to make files in it.
///
/// # Errors
/// When the file has another mode.
pub fn look(stat: &Stat, mode: u32) -> io::Result<()> {
    let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    if has(stat, mode) || is_directory && has(stat, mode | OWNER) {
        return Ok(());
    }
    Err(io::Error::other(NOT_KEPT))
}

fn has(stat: &Stat, mode: u32) -> bool {
    stat.st_mode & 0o7777 == mode
}

/// Returns the permission bits that new files in a directory may have. Its default list takes the
/// place of the umask.
pub fn new_file_mask(folder: &OwnedFd) -> u32 {
    let list = read(|list| fgetxattr(folder, DEFAULT, list));
    list.and_then(|list| mode_of(&list)).unwrap_or(!process::umask())
}

/// Returns the permission bits that an access control list stands for: the mask counts for the
/// group.
fn mode_of(list: &[u8]) -> Option<u32> {
    const VERSION: usize = 4;
    const ENTRY: usize = 8;
    const USER: u16 = 0x01;
    const GROUP: u16 = 0x04;
    const MASK: u16 = 0x10;
    const OTHER: u16 = 0x20;
    let entries = list.get(VERSION..)?.chunks_exact(ENTRY);
    let entries = entries.map(|entry| {
        let number = |at: usize| u16::from_le_bytes([entry[at], entry[at + 1]]);
        Entry { tag: number(0), may: u32::from(number(2)) & 0o7 }
    });
    let entries: Vec<Entry> = entries.collect();
    let may = |tag| entries.iter().find(|entry| entry.tag == tag).map(|entry| entry.may);
    let group = may(MASK).or(may(GROUP))?;
    Some(may(USER)? << 6 | group << 3 | may(OTHER)?)
}

struct Entry {
    tag: u16,
    may: u32,
}

/// Returns the attribute that `get` reads; none if there is none, or the file system has none.
fn read(get: impl FnOnce(&mut [u8]) -> rustix::io::Result<usize>) -> Option<Vec<u8>> {
    let mut list = vec![0; LIST_MAX];
    let length = get(&mut list).ok()?;
    list.truncate(length);
    Some(list)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;
    use crate::tests::Scratch;

    /// A list of the owner, the group 4002, the owning group, the mask and the others.
    fn list(others: u16) -> Vec<u8> {
        let entries: [(u16, u16, u32); 4] =
            [(1, 7, u32::MAX), (4, 5, u32::MAX), (8, 7, 4002), (16, 7, u32::MAX)];
        let mut list = 2_u32.to_le_bytes().to_vec();
        for (tag, may, id) in entries.into_iter().chain([(32, others, u32::MAX)]) {
            list.extend([&tag.to_le_bytes()[..], &may.to_le_bytes(), &id.to_le_bytes()].concat());
        }
        list
    }

    /// The mode and the list of `name` in `dir` after a new file with the mode 0644 has replaced
    /// it.
    fn given(dir: &Scratch, name: &str) -> (u32, Option<Vec<u8>>) {
        let folder = OwnedFd::from(File::open(dir).unwrap());
        let part = dir.join("part");
        let file = File::options().write(true).create_new(true).open(&part).unwrap();
        fs::set_permissions(&part, fs::Permissions::from_mode(0o600)).unwrap();
        give(&file, &folder, OsStr::new(name), 0o644).unwrap();
        let found =
            (file.metadata().unwrap().mode() & 0o7777, read(|to| fgetxattr(&file, ACCESS, to)));
        fs::remove_file(part).unwrap();
        found
    }

    #[test]
    fn an_existing_file_keeps_its_mode_and_its_list() {
        let dir = Scratch::new("access-existing");
        fs::write(dir.join("private"), "secret").unwrap();
        fs::set_permissions(dir.join("private"), fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(given(&dir, "private"), (0o600, None));
        assert_eq!(given(&dir, "new"), (0o644 & !process::umask(), None));
        // Also in a directory that gives new files a list.
        let folder = File::open(&dir).unwrap();
        fsetxattr(&folder, DEFAULT, &list(0), XattrFlags::empty()).unwrap();
        assert_eq!(given(&dir, "private"), (0o600, None));
        fs::write(dir.join("listed"), "").unwrap();
        let there = File::open(dir.join("listed")).unwrap();
        fsetxattr(&there, ACCESS, &list(1), XattrFlags::empty()).unwrap();
        assert_eq!(given(&dir, "listed"), (0o771, Some(list(1))));
    }

    #[test]
    fn the_default_list_of_a_directory_takes_the_place_of_the_umask() {
        let dir = Scratch::new("access-default");
        let folder = File::open(&dir).unwrap();
        fsetxattr(&folder, DEFAULT, &list(0), XattrFlags::empty()).unwrap();
        // What open(2) with the mode 0644 makes there, as cp does.
        fs::write(dir.join("by-cp"), "").unwrap();
        let by_cp = fs::metadata(dir.join("by-cp")).unwrap().mode() & 0o7777;
        let there = File::open(dir.join("by-cp")).unwrap();
        let its = read(|to| fgetxattr(&there, ACCESS, to));
        fs::remove_file(dir.join("by-cp")).unwrap();
        // 0666 for std, of which the mask keeps what 0644 has.
        assert_eq!(by_cp & 0o604, 0o600);
        let (mode, own) = given(&dir, "new");
        assert_eq!(mode, 0o640);
        assert_eq!(own.map(|own| own.len()), its.map(|its| its.len()));
    }

    #[test]
    fn what_another_user_laid_there_gives_nobody_more() {
        let dir = Scratch::new("access-other");
        fs::write(dir.join("x"), "").unwrap();
        fs::set_permissions(dir.join("x"), fs::Permissions::from_mode(0o666)).unwrap();
        // Only root can give files away.
        if process::user_id() == 0 {
            std::os::unix::fs::chown(dir.join("x"), Some(65_534), None).unwrap();
            assert_eq!(given(&dir, "x"), (0o644 & !process::umask(), None));
        }
    }
}
