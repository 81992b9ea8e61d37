//! The file that a copy replaces.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;

use garland_sys::sync::{Condvar, Mutex};
use garland_sys::{storage, threads};
use rustix::fs::{Mode, OFlags, fstat, openat};

/// The length in bytes from which a replaced file is kept open.
const LARGE: i64 = 4 << 20;

/// The number of replaced files whose space is being freed.
static FREED: Mutex<usize> = Mutex::new(0);

/// One of them is freed.
static IS_FREED: Condvar = Condvar::new();

/// Keeps a large file open that is about to lose its name. The kernel frees its space when the last name is
/// gone and nobody has it open, which takes 0.1 s or more for each GiB: a thread of its own waits for that, and
/// not the rename that commits a copy.
#[derive(Debug)]
pub struct Replaced(Option<OwnedFd>);

impl Replaced {
    /// Opens the file that is called `name` in `folder`, if there is one, it is large, and it is in memory or
    /// on a disk: a network file system would give a file that is open another name instead of removing it.
    pub fn hold(folder: &OwnedFd, name: &OsStr) -> Self {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(folder, name, flags, Mode::empty()).ok();
        let is_held = |file: &OwnedFd| {
            let is = |place: io::Result<bool>| place.unwrap_or(false);
            fstat(file).is_ok_and(|stat| stat.st_size >= LARGE)
                && (is(storage::is_on_block_device(file)) || is(storage::is_in_memory(file)))
        };
        Self(file.filter(is_held))
    }

    /// Waits until the space of all replaced files that are closed is free.
    pub fn await_space() {
        IS_FREED.wait_while(&mut FREED.lock(), |freed| *freed > 0);
    }
}

impl Drop for Replaced {
    fn drop(&mut self) {
        let Some(file) = self.0.take() else { return };
        *FREED.lock() += 1;
        let free = move || {
            drop(file);
            end();
        };
        if threads::spawn("free", free).is_err() {
            // The file was closed together with the function that no thread was left for.
            end();
        }
    }
}

fn end() {
    *FREED.lock() -= 1;
    IS_FREED.notify_all();
}
