//! The file that a copy replaces.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;

use garland_sys::storage;
use rustix::fs::{Mode, OFlags, fstat, openat};

use super::freeing;

/// The length in bytes from which a replaced file is kept open.
const LARGE: i64 = 4 << 20;

/// Keeps a large file open that is about to lose its name. The kernel frees its space when the last
/// name is gone and nobody has it open, which takes 0.1 s or more for each GiB: another thread
/// waits for that, and not the rename that commits a copy.
#[derive(Debug)]
pub struct Replaced(Option<Held>);

#[derive(Debug)]
struct Held {
    file: OwnedFd,
    device: u64,
}

impl Replaced {
    /// Opens the file that is called `name` in `folder`, if there is one, it is large, and it is in
    /// memory or on a disk: a network file system would give a file that is open another name
    /// instead of removing it.
    pub fn hold(folder: &OwnedFd, name: &OsStr) -> Self {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = openat(folder, name, flags, Mode::empty()).ok().and_then(|file| {
            let stat = fstat(&file).ok()?;
            let is_slow = stat.st_size >= LARGE && storage::frees_itself(&file).unwrap_or(false);
            is_slow.then_some(Held { file, device: stat.st_dev })
        });
        Self(held)
    }
}

impl Drop for Replaced {
    fn drop(&mut self) {
        if let Some(Held { file, device }) = self.0.take() {
            freeing::free(device, Box::new(file));
        }
    }
}
