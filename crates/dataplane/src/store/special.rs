//! Opens existing destinations that are not regular files: devices and pipes.

use std::os::fd::OwnedFd;
use std::path::Path;

use garland_core::printable;
use garland_sys::confine::Root;
use garland_sys::error::reason;
use garland_sys::process;
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;

use super::device::DeviceStore;
use super::fifo::FifoStore;
use super::{Store, StoreError, on_disk};

/// Paths of the agent's own standard streams.
const OWN: [&str; 4] = ["/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd"];

/// Opens `path` if it is a block device or a named pipe; returns none for a regular file, a
/// directory, or a path that does not exist. `length` is the number of bytes to be written, if
/// known. `force` allows a device that is in use.
///
/// # Errors
/// When it is a character device, a socket, or a standard stream of the agent, when another user
/// may have laid it there to get the data or to have a device overwritten, or when the device or
/// pipe cannot be opened.
pub fn open(
    root: &Root,
    path: &Path,
    length: Option<u64>,
    force: bool,
    fsync: bool,
) -> Result<Option<Box<dyn Store>>, StoreError> {
    let refused =
        |reason: &str| Err(StoreError::refused("write to", printable::path(path), reason));
    if matches!(root, Root::Free) && OWN.iter().any(|own| path.starts_with(own)) {
        return refused(
            "it is a standard stream of the agent; write NODE:- for the agent's output",
        );
    }
    let Ok(stat) = root.look(path) else { return Ok(None) };
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::BlockDevice => {
            let found = find(root, path)?;
            Some(on_disk(None, DeviceStore::open(&found, path, length, force, fsync)?))
        }
        FileType::Fifo => Some(Box::new(FifoStore::new(find(root, path)?, path))),
        FileType::CharacterDevice => {
            return refused("it is a character device; only /dev/null is supported");
        }
        FileType::Socket => return refused("it is a socket"),
        _ => None,
    })
}

/// Finds the device or pipe `path` without opening it. What others can make in a directory to which
/// all may write is refused: their pipe, and their link to a device. cp(1) would write to both.
fn find(root: &Root, path: &Path) -> Result<OwnedFd, StoreError> {
    let refused = |reason: String| StoreError::refused("write to", printable::path(path), reason);
    let command = format!("|cat >{}", printable::word(path));
    let command = format!("write to the command {} if that is meant", printable::word(command));
    let found = root.find_by_own_links(path).map_err(|error| match error {
        Errno::PERM => refused(format!("a symbolic link of another user leads there; {command}")),
        error => refused(reason(&error.into())),
    })?;
    let stat = fstat(&found).map_err(|error| refused(reason(&error.into())))?;
    let is_own = [0, process::user_id()].contains(&stat.st_uid);
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::BlockDevice => Ok(found),
        FileType::Fifo if is_own => Ok(found),
        FileType::Fifo => Err(refused(format!("it is a pipe of user {}; {command}", stat.st_uid))),
        _ => Err(refused("it was replaced meanwhile".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{lchown, symlink};

    use rustix::fs::{CWD, Mode, mknodat};

    use super::*;
    use crate::tests::Scratch;

    /// A user that is neither root nor that of this process.
    const OTHER: u32 = 65_534;

    #[test]
    fn pipes_and_links_to_devices_of_others_are_refused() {
        let dir = Scratch::new("special-others");
        let opened = |name: &str| {
            let store = open(&Root::Free, &dir.join(name), None, false, false);
            store.map(|store| store.is_some()).map_err(|error| error.to_string())
        };
        let pipe = dir.join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
        symlink("pipe", dir.join("link")).unwrap();
        assert_eq!((opened("pipe"), opened("link")), (Ok(true), Ok(true)));
        // Only root can give files away.
        if process::user_id() != 0 {
            return;
        }
        let shown = dir.display();
        lchown(dir.join("link"), Some(OTHER), None).unwrap();
        let wanted = format!(
            "cannot write to {shown}/link: a symbolic link of another user leads there; write to \
             the command '|cat >{shown}/link' if that is meant"
        );
        assert_eq!((opened("pipe"), opened("link")), (Ok(true), Err(wanted)));
        lchown(&pipe, Some(OTHER), None).unwrap();
        let wanted = format!(
            "cannot write to {shown}/pipe: it is a pipe of user {OTHER}; write to the command \
             '|cat >{shown}/pipe' if that is meant"
        );
        assert_eq!(opened("pipe"), Err(wanted));
    }
}
