//! Lists a directory in portions. Each entry includes the file's attributes, since they are usually
//! requested next.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use garland_protocol::files::Entry;
use rustix::fs::Dir;
use rustix::io::Errno;

use super::attr;

/// The total size of entries in bytes from which on an answer is full.
const FULL_ANSWER_BYTES: usize = 48 << 10;

/// The approximate size of an entry's attributes in bytes.
const ATTR: usize = 70;

/// A directory that is being listed.
pub struct Listing(Dir);

impl Listing {
    pub fn new(folder: OwnedFd) -> Result<Self, Errno> {
        Dir::new(folder).map(Self)
    }

    /// Returns the next entries, and whether there are more.
    pub fn go_on(&mut self) -> Result<(Vec<Entry>, bool), Errno> {
        let mut entries = Vec::new();
        let mut bytes = 0;
        while bytes < FULL_ANSWER_BYTES {
            let Some(entry) = self.0.read() else { return Ok((entries, false)) };
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            match attr::of_name(self.0.fd()?, OsStr::from_bytes(name)) {
                Ok(attr) => {
                    bytes += name.len() + ATTR;
                    entries.push(Entry { name: name.to_vec(), attr });
                }
                // The file was removed meanwhile.
                Err(Errno::NOENT) => {}
                Err(error) => return Err(error),
            }
        }
        Ok((entries, true))
    }
}
