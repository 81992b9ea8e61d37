//! Reports new files in a directory by inotify(7). If the user has no inotify instance left, the
//! caller must poll.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::inotify;

/// A watch on one directory. Its descriptor becomes readable when a file is moved into the
/// directory by rename(2).
#[derive(Debug)]
pub struct FolderEvents {
    fd: OwnedFd,
}

impl FolderEvents {
    /// Watches the directory `folder` from now on.
    ///
    /// # Errors
    /// When the user has no inotify instance left, or the directory cannot be read.
    pub fn of(folder: &Path) -> io::Result<Self> {
        let fd = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        let events = inotify::WatchFlags::MOVED_TO | inotify::WatchFlags::ONLYDIR;
        inotify::add_watch(&fd, folder, events)?;
        Ok(Self { fd })
    }

    /// Discards all pending events. Call this before reading the directory: a file that appears
    /// later then causes a new event.
    pub fn clear(&self) {
        let mut room = [0; 4096];
        while rustix::io::read(&self.fd, &mut room).is_ok_and(|read| read > 0) {}
    }
}

impl AsFd for FolderEvents {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::event::wait_readable;

    #[test]
    fn a_file_that_appears_is_an_event_until_it_is_cleared() {
        let folder = std::env::temp_dir().join(format!("garland-events-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let events = FolderEvents::of(&folder).unwrap();
        let come = || wait_readable(&[events.as_fd()], Some(Duration::ZERO)).unwrap() == [true];
        std::fs::write(folder.join("a"), "").unwrap();
        assert!(!come(), "a file that is being written is no event");
        std::fs::rename(folder.join("a"), folder.join("b")).unwrap();
        assert!(come());
        events.clear();
        assert!(!come());
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(FolderEvents::of(&folder).is_err());
    }
}
