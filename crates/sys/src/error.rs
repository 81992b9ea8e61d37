//! Texts of system call errors.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::{fstat, fstatvfs};
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

/// Returns the error of a call that makes an entry in the directory `folder`. File systems that
/// refuse a name have different numbers for that, none of which says so: EINVAL is documented in
/// open(2) and mkdir(2), EILSEQ is that of those whose names are text, and exFAT's by FUSE has
/// ENOENT.
#[must_use]
pub fn of_new_entry(folder: impl AsFd, error: Errno) -> io::Error {
    let is_refused = match error {
        Errno::INVAL | Errno::ILSEQ => true,
        // Without names it is the directory that is gone.
        Errno::NOENT => fstat(folder).is_ok_and(|stat| stat.st_nlink > 0),
        _ => false,
    };
    match is_refused {
        true => io::Error::other("the file system does not take this name"),
        false => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    #[test]
    fn a_name_that_is_refused_is_told_from_a_directory_that_is_gone() {
        let dir = std::env::temp_dir().join(format!("garland-sys-refused-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let folder = File::open(&dir).unwrap();
        let told = |error| reason(&of_new_entry(&folder, error));
        for error in [Errno::INVAL, Errno::ILSEQ, Errno::NOENT] {
            assert_eq!(told(error), "the file system does not take this name");
        }
        assert_eq!(told(Errno::ACCESS), "permission denied");
        fs::remove_dir(&dir).unwrap();
        assert_eq!(told(Errno::NOENT), "no such file or directory");
    }
}
