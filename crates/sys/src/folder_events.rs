//! Reports new files in a directory by inotify(7). If the user has no inotify instance left, the
//! caller must poll.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::inotify::{self, ReadFlags, WatchFlags};

/// The most events that are taken at once: those who cause more than are read keep nobody.
const EVENTS_MAX: usize = 16_384;

/// The most names of closed files that are kept. Beyond it all are forgotten.
const CLOSED_MAX: usize = 100_000;

/// The bytes of a read of events, of which each has at most 272.
const ROOM: usize = 16 << 10;

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
    pub fn watch_arrivals(folder: &Path) -> io::Result<Self> {
        Self::watch(folder, WatchFlags::MOVED_TO)
    }

    fn watch(folder: &Path, events: WatchFlags) -> io::Result<Self> {
        let fd = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        inotify::add_watch(&fd, folder, events | WatchFlags::ONLYDIR)?;
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

/// A watch on one directory that also knows which files in it were closed by who wrote them. Its
/// descriptor becomes readable when that happens, and when a file is moved.
#[derive(Debug)]
pub struct ClosedFiles {
    events: FolderEvents,
    closed: BTreeSet<OsString>,
    /// Former names of closed files that were moved, by the number that the event of the new name
    /// has.
    moving: BTreeMap<u32, OsString>,
}

impl ClosedFiles {
    /// Watches the directory `folder` from now on.
    ///
    /// # Errors
    /// When the user has no inotify instance left, or the directory cannot be read.
    pub fn watch(folder: &Path) -> io::Result<Self> {
        let moved = WatchFlags::MOVED_FROM | WatchFlags::MOVED_TO;
        let events = moved | WatchFlags::CLOSE_WRITE | WatchFlags::DELETE;
        let events = FolderEvents::watch(folder, events)?;
        Ok(Self { events, closed: BTreeSet::new(), moving: BTreeMap::new() })
    }

    /// Takes the pending events, at most [`EVENTS_MAX`]. Returns the names of the files that were
    /// closed by who wrote them; `None` if there were no events. Call this before reading the
    /// directory: a file that appears later then causes a new event.
    pub fn take(&mut self) -> Option<Vec<OsString>> {
        let mut taken: Option<Vec<OsString>> = None;
        let mut room = [MaybeUninit::uninit(); ROOM];
        let fd = self.events.fd.as_fd();
        let mut reader = inotify::Reader::new(fd, &mut room);
        for _ in 0..EVENTS_MAX {
            let Ok(event) = reader.next() else { break };
            let closed = taken.get_or_insert_default();
            let flags = event.events();
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
            let Some(name) = name else {
                // Events were lost.
                self.closed.clear();
                continue;
            };
            // The file that gets a name may have other writers than the one that had it.
            let known = self.closed.take(name);
            if flags.contains(ReadFlags::MOVED_FROM) {
                self.moving.extend(known.map(|name| (event.cookie(), name)));
            } else if flags.contains(ReadFlags::CLOSE_WRITE)
                || self.moving.remove(&event.cookie()).is_some()
            {
                self.closed.insert(name.to_owned());
                closed.push(name.to_owned());
            }
            if self.closed.len() > CLOSED_MAX {
                self.closed.clear();
            }
        }
        // Both events of a rename in this directory come together.
        self.moving.clear();
        taken
    }

    /// Returns whether the file `name` was closed by a process that wrote it, since the last time
    /// that this was asked.
    pub fn was_closed(&mut self, name: &OsStr) -> bool {
        self.closed.remove(name)
    }
}

impl AsFd for ClosedFiles {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
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
        let events = FolderEvents::watch_arrivals(&folder).unwrap();
        let come = || wait_readable(&[events.as_fd()], Some(Duration::ZERO)).unwrap() == [true];
        std::fs::write(folder.join("a"), "").unwrap();
        assert!(!come(), "a file that is being written is no event");
        std::fs::rename(folder.join("a"), folder.join("b")).unwrap();
        assert!(come());
        events.clear();
        assert!(!come());
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(FolderEvents::watch_arrivals(&folder).is_err());
    }

    #[test]
    fn a_file_that_its_writer_closed_is_known_under_its_new_name_too() {
        let folder = std::env::temp_dir().join(format!("garland-closed-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let mut closed = ClosedFiles::watch(&folder).unwrap();
        let [hidden, shown] = [".a", "a"].map(OsStr::new);
        let writer = std::fs::File::create(folder.join(hidden)).unwrap();
        assert_eq!(closed.take(), None);
        drop(writer);
        std::fs::rename(folder.join(hidden), folder.join(shown)).unwrap();
        assert_eq!(closed.take(), Some(vec![hidden.to_owned(), shown.to_owned()]));
        assert!(!closed.was_closed(hidden));
        assert!(closed.was_closed(shown));
        assert!(!closed.was_closed(shown), "the next writer may have it open");
        // One that was closed elsewhere, and takes the name of one that was closed here.
        let elsewhere = folder.with_extension("elsewhere");
        std::fs::write(folder.join("a"), "").unwrap();
        std::fs::write(&elsewhere, "").unwrap();
        std::fs::rename(&elsewhere, folder.join("a")).unwrap();
        assert!(closed.take().is_some());
        assert!(!closed.was_closed(shown));
        std::fs::write(folder.join("b"), "").unwrap();
        std::fs::remove_file(folder.join("b")).unwrap();
        assert!(closed.take().is_some());
        assert!(!closed.was_closed(OsStr::new("b")));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
