//! Extended attributes of files and directories, including access control lists.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
use rustix::io::Errno;

/// The kernel's limit in bytes for a list of names, and for a value.
const MOST: usize = 64 << 10;

/// The size in bytes of a buffer for a short list of names.
const FEW: usize = 128;

/// Prefixes of the attributes that are copied: the user's, access control lists, capabilities, and
/// root's. All other attributes describe the machine.
const KEPT: [&[u8]; 4] = [b"user.", b"trusted.", b"system.posix_acl_", b"security.capability"];

/// Reads the attributes of an open file or directory; empty where the file system does not support
/// them.
///
/// # Errors
/// When they cannot be read.
pub fn read(fd: impl AsFd) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    // Most files have none, or few.
    if matches!(flistxattr(&fd, &mut [0_u8; FEW][..]), Ok(0)) {
        return Ok(Vec::new());
    }
    let mut names = vec![0; MOST];
    let length = match flistxattr(&fd, names.as_mut_slice()) {
        Ok(length) => length,
        Err(Errno::OPNOTSUPP) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let names = names[..length].split(|&byte| byte == 0);
    let mut value = vec![0; MOST];
    let mut found = Vec::new();
    for name in names.filter(|name| KEPT.iter().any(|kept| name.starts_with(kept))) {
        let length = fgetxattr(&fd, name, value.as_mut_slice())?;
        found.push((name.to_vec(), value[..length].to_vec()));
    }
    Ok(found)
}

/// Sets attributes of an open file or directory.
///
/// # Errors
/// When one cannot be set; the message names it.
pub fn write(fd: impl AsFd, attributes: &[(Vec<u8>, Vec<u8>)]) -> io::Result<()> {
    for (name, value) in attributes {
        fsetxattr(&fd, name.as_slice(), value, XattrFlags::empty()).map_err(|error| {
            let name = String::from_utf8_lossy(name);
            let reason = garland_sys::error::reason(&error.into());
            io::Error::other(format!("cannot set the extended attribute {name}: {reason}"))
        })?;
    }
    Ok(())
}
