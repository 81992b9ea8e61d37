//! A file for a disk test: it has no name, or is unlinked right after its creation. Its space is
//! reserved, and part of the file system stays free.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use garland_core::printable;
use garland_core::units::bytes;
use garland_sys::confine::Root;
use garland_sys::{lock, random};
use rustix::fs::{
    AtFlags, FallocateFlags, Mode, OFlags, fallocate, fcntl_getfl, fcntl_setfl, fstatvfs, openat,
    unlinkat,
};
use rustix::io::Errno;

use super::left::{partial_name, remove_stale};
use super::{StoreError, lack_of_room};

/// The beginning of the hidden name, after a dot. Only some file systems need a name.
const NAME: &str = "garland-disk";

/// The space that must stay free: the size of the file system divided by `RESERVE_PART`, but at
/// most [`RESERVE_MAX`] bytes.
const RESERVE_PART: u64 = 20;
const RESERVE_MAX: u64 = 4 << 30;

/// A file of up to this part of the free space does no harm, however little that is.
const HARMLESS_PART: u64 = 100;

/// A file for a test. It vanishes when it is dropped or the process exits.
#[derive(Debug)]
pub struct TestFile {
    file: File,
    free: u64,
}

impl TestFile {
    /// Creates a file of `size` bytes in the directory `path` below `root`.
    ///
    /// # Errors
    /// When there is no such directory, the file cannot be created there, or too little space would
    /// stay free.
    pub fn create(root: &Root, path: &[u8], size: u64) -> Result<Self, StoreError> {
        let path = Path::new(OsStr::from_bytes(path));
        let failed =
            |operation| move |error| StoreError::path(operation, printable::path(path), &error);
        let folder = root.open_dir(path, false).map_err(failed("open the directory"))?;
        let unknown = failed("determine the free space on");
        let (free, reserve) = room(&folder).map_err(unknown)?;
        refuse_to_fill(&printable::path(path), size, free, reserve)?;
        let file = unnamed(&folder).map_err(failed("create a file in"))?;
        // Other tests may reserve space at the same time: give up if too little is left.
        allocate(&file, size).map_err(|error| {
            let space = format!("{} on {}", bytes::format(size), printable::path(path));
            StoreError::path("reserve", space, &error)
        })?;
        let (left, _) = room(&folder).unwrap_or((reserve, reserve));
        refuse_to_fill(&printable::path(path), size, left.saturating_add(size), reserve)?;
        Ok(Self { file, free })
    }

    /// Returns the open file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns the number of bytes that were free before the file was created.
    pub fn free(&self) -> u64 {
        self.free
    }

    /// Switches between direct I/O and the page cache.
    ///
    /// # Errors
    /// When the file system does not support it.
    pub fn set_direct(&self, direct: bool) -> io::Result<()> {
        let mut flags = fcntl_getfl(&self.file)?;
        flags.set(OFlags::DIRECT, direct);
        Ok(fcntl_setfl(&self.file, flags)?)
    }
}

/// Returns the number of bytes that are free for this user, and the number that must stay free.
fn room(folder: &OwnedFd) -> io::Result<(u64, u64)> {
    let stat = fstatvfs(folder)?;
    let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
    if stat.f_blocks == 0 {
        // For example a tmpfs without a limit.
        return Ok((u64::MAX, 0));
    }
    Ok((bytes(stat.f_bavail), (bytes(stat.f_blocks) / RESERVE_PART).min(RESERVE_MAX)))
}

fn refuse_to_fill(
    path: &impl fmt::Display,
    size: u64,
    free: u64,
    reserve: u64,
) -> Result<(), StoreError> {
    let harmless = free / HARMLESS_PART;
    if size <= harmless || size.checked_add(reserve).is_some_and(|needed| needed <= free) {
        return Ok(());
    }
    let most = bytes::format(harmless.max(free.saturating_sub(reserve)));
    let [size, free, reserve] = [size, free, reserve].map(bytes::format);
    Err(StoreError::Failed(format!(
        "not enough space on {path}: the test needs {size} and leaves {reserve} free, but only \
         {free} are free; use a file of up to {most}"
    )))
}

fn unnamed(folder: &OwnedFd) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o600);
    match openat(folder, ".", flags | OFlags::TMPFILE, mode) {
        Ok(fd) => Ok(File::from(fd)),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {
            named_and_forgotten(folder, flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW)
        }
        Err(error) => Err(error.into()),
    }
}

/// Creates a file and unlinks it at once. A process that is killed in between leaves an empty file
/// under a hidden name, which the next test removes.
fn named_and_forgotten(folder: &OwnedFd, flags: OFlags) -> io::Result<File> {
    remove_stale(folder, OsStr::new(NAME));
    let tag = random::bytes::<8>().map(|byte| format!("{byte:02x}")).concat();
    let name = partial_name(OsStr::new(NAME), &tag);
    let fd = openat(folder, &name, flags, Mode::from_raw_mode(0o600))?;
    // Locked, so that no other test removes it as stale.
    let locked = lock::try_lock(&fd);
    unlinkat(folder, &name, AtFlags::empty())?;
    locked?;
    Ok(File::from(fd))
}

/// Reserves `size` bytes of disk space for a file. Succeeds if the file system does not support
/// that.
fn allocate(file: &File, size: u64) -> io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), 0, size) {
        // Not all file systems support this; a full disk is then detected during the test.
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(error) => Err(lack_of_room(error).unwrap_or_else(|| error.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Scratch;

    #[test]
    fn the_file_has_no_name_in_either_way() {
        let path = Scratch::new("test-file");
        let root = Root::confined(&path).unwrap();
        let test = TestFile::create(&root, b"/", 1 << 20).unwrap();
        assert_eq!(test.file().metadata().unwrap().len(), 1 << 20);
        std::fs::write(path.join(".garland-disk.0123.garland-part"), b"left").unwrap();
        let folder = root.open_dir(Path::new("/"), false).unwrap();
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        let file = named_and_forgotten(&folder, flags).unwrap();
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0, "the stale one is gone, too");
        drop((test, file));
    }

    #[test]
    fn the_disk_is_not_filled() {
        let path = std::env::temp_dir();
        let root = Root::confined(&path).unwrap();
        let error = TestFile::create(&root, b"/", 1 << 45).unwrap_err().to_string();
        let start = "not enough space on /: the test needs 32.00 TiB and leaves ";
        assert!(error.starts_with(start), "{error}");
        let error = TestFile::create(&root, b"/no-such-directory", 1 << 20).unwrap_err();
        let error = error.to_string();
        assert_eq!(
            error,
            "cannot open the directory /no-such-directory: no such file or directory"
        );
        assert!(refuse_to_fill(&"/", 90, 100, 10).is_ok());
        assert!(refuse_to_fill(&"/", 91, 100, 10).is_err());
        assert!(refuse_to_fill(&"/", u64::MAX, 100, 10).is_err());
    }

    #[test]
    fn a_full_disk_takes_a_small_file() {
        assert!(refuse_to_fill(&"/", 40 << 10, 4 << 20, 8 << 20).is_ok());
        let error = refuse_to_fill(&"/", 8 << 20, 400 << 20, 800 << 20).unwrap_err();
        assert!(error.to_string().ends_with("use a file of up to 4.00 MiB"), "{error}");
    }
}
