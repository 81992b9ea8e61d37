//! Attributes of files and directories: times, and extended attributes including access control
//! lists.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use garland_sys::confine::by_descriptor;
use garland_sys::error::reason;
use rustix::fs::{
    Stat, XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr, getxattr, listxattr, setxattr,
};
use rustix::io::Errno;

/// The size in bytes of the buffers for the list of names and for one value: the kernel's limit
/// (`XATTR_LIST_MAX`, `XATTR_SIZE_MAX`).
const MAX_ATTRIBUTE_BYTES: usize = 64 << 10;

/// The size in bytes of the buffer for a first, cheap check whether there are any names.
const FEW: usize = 128;

/// Prefixes of the attributes that are copied: those of users and of root, access control lists,
/// and file capabilities. All other attributes, such as SELinux labels, describe the machine.
const COPIED_PREFIXES: [&[u8]; 4] =
    [b"user.", b"trusted.", b"system.posix_acl_", b"security.capability"];

/// The access control list of a file or directory, and that of new entries of a directory (acl(5)).
const LISTS: [&[u8]; 2] = [b"system.posix_acl_access", b"system.posix_acl_default"];

/// Returns the modification time of a file in seconds and nanoseconds.
pub fn modified_time(stat: &Stat) -> (i64, u32) {
    (stat.st_mtime, u32::try_from(stat.st_mtime_nsec).unwrap_or(0))
}

/// Returns the extended attributes of an open file or directory that begin with a prefix in
/// `COPIED_PREFIXES`, as pairs of name and value. The list is empty if the file system does not
/// support extended attributes.
///
/// # Errors
/// When the attributes cannot be read.
pub fn read(fd: impl AsFd) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    read_by(|names| flistxattr(&fd, names), |name, value| fgetxattr(&fd, name, value))
}

/// Returns those of a symbolic link, whose descriptor is one of `O_PATH`, as [`read`] does. Links
/// have those of root.
///
/// # Errors
/// When the attributes cannot be read.
pub fn read_of_link(link: &OwnedFd) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    // Leads to the link, and no further.
    let path = by_descriptor(link);
    read_by(|names| listxattr(&path, names), |name, value| getxattr(&path, name, value))
}

/// Reads attributes by calls that list their names, and get the value of a name.
fn read_by(
    list: impl Fn(&mut [u8]) -> rustix::io::Result<usize>,
    get: impl Fn(&[u8], &mut [u8]) -> rustix::io::Result<usize>,
) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    // Most files have none, or few.
    if matches!(list(&mut [0_u8; FEW]), Ok(0)) {
        return Ok(Vec::new());
    }
    let mut names = vec![0; MAX_ATTRIBUTE_BYTES];
    let length = match list(names.as_mut_slice()) {
        Ok(length) => length,
        Err(Errno::OPNOTSUPP) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let names = names[..length].split(|&byte| byte == 0);
    let mut value = vec![0; MAX_ATTRIBUTE_BYTES];
    let mut found = Vec::new();
    for name in names.filter(|name| COPIED_PREFIXES.iter().any(|kept| name.starts_with(kept))) {
        let length = get(name, value.as_mut_slice())?;
        found.push((name.to_vec(), value[..length].to_vec()));
    }
    Ok(found)
}

/// Sets an extended attribute of an open file or directory.
///
/// # Errors
/// When it cannot be set. The error has no number: a file system that has no room for an attribute
/// is not full.
pub fn set(fd: impl AsFd, name: &[u8], value: &[u8]) -> io::Result<()> {
    told(fsetxattr(fd, name, value, XattrFlags::empty()))
}

/// Sets an extended attribute of a symbolic link, whose descriptor is one of `O_PATH`.
///
/// # Errors
/// Those of [`set`].
pub fn set_of_link(link: &OwnedFd, name: &[u8], value: &[u8]) -> io::Result<()> {
    told(setxattr(by_descriptor(link), name, value, XattrFlags::empty()))
}

fn told(set: rustix::io::Result<()>) -> io::Result<()> {
    set.map_err(|error| io::Error::other(reason(&error.into())))
}

/// Removes the access control lists of an open file or directory that are not in `attributes`, such
/// as those that it inherits from its directory.
///
/// # Errors
/// When a list cannot be removed.
pub fn remove_other_lists(fd: impl AsFd, attributes: &[(Vec<u8>, Vec<u8>)]) -> io::Result<()> {
    let is_wanted = |list: &[u8]| attributes.iter().any(|(name, _)| name == list);
    for list in LISTS.into_iter().filter(|list| !is_wanted(list)) {
        if fgetxattr(&fd, list, &mut [0_u8; 0][..]).is_ok() {
            fremovexattr(&fd, list)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use garland_sys::confine::find_itself;
    use garland_sys::process;
    use rustix::fs::CWD;

    use super::*;
    use crate::tests::Scratch;

    #[test]
    fn a_link_has_attributes_of_its_own() {
        let dir = Scratch::new("link-attributes");
        let file = dir.join("file");
        std::fs::write(&file, b"").unwrap();
        symlink("file", dir.join("link")).unwrap();
        let link = find_itself(CWD, &dir.join("link")).unwrap();
        assert_eq!(read_of_link(&link).unwrap(), []);
        // Links have no attributes of users.
        let refused = set_of_link(&link, b"user.a", b"1").unwrap_err();
        assert_eq!(refused.to_string(), "operation not permitted");
        // Others are given by root alone.
        if process::user_id() != 0 {
            return;
        }
        set_of_link(&link, b"trusted.a", b"1").unwrap();
        assert_eq!(read_of_link(&link).unwrap(), [(b"trusted.a".to_vec(), b"1".to_vec())]);
        let file = find_itself(CWD, Path::new(&file)).unwrap();
        assert_eq!(read_of_link(&file).unwrap(), []);
    }
}
