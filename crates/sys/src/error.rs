//! Texts of system call errors.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::fstatvfs;
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// Returns the text of an error without the trailing `(os error N)`, in lower case. A file that is
/// too large may be so for a limit of this process, which is named then.
#[must_use]
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let Some(end) = text.find(" (os error") else { return text };
    let text = text[..end].to_lowercase();
    let is_limited = || getrlimit(Resource::Fsize).current.is_some();
    match Errno::from_io_error(error) == Some(Errno::FBIG) && is_limited() {
        true => format!("{text} for the limit of its process (ulimit -f)"),
        false => text,
    }
}

/// Returns the text of an error of a call on the file system of `place`, as [`reason`] does. The
/// kernel has one error for a file system without free bytes and for one without free inodes.
#[must_use]
pub fn reason_in(place: impl AsFd, error: &io::Error) -> String {
    let is_full = Errno::from_io_error(error) == Some(Errno::NOSPC);
    let lacks_inodes = || {
        let stat = fstatvfs(place).ok();
        stat.is_some_and(|stat| stat.f_files > 0 && stat.f_favail == 0 && stat.f_bavail > 0)
    };
    match is_full && lacks_inodes() {
        true => "no inodes left on the device, though it has space (see df -i)".to_owned(),
        false => reason(error),
    }
}
