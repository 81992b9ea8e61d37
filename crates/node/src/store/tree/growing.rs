//! A file that isn't whole yet.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use garland_core::tree::Meta;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, openat};

use super::dress::dress;
use super::spot::Spot;
use crate::store::file::reserve;

/// From so many bytes on, room for a file is reserved before it comes.
const LARGE: u64 = 1 << 20;

/// Holes begin and end at multiples of this, in bytes.
const PAGE: usize = 4096;

/// A file under its hidden name.
pub struct Growing {
    file: File,
    /// Its final name.
    pub name: Vec<u8>,
    meta: Meta,
    length: u64,
    written: u64,
    sparse: bool,
    /// Whether it has other names, which follow.
    pub linked: bool,
}

impl Growing {
    /// Creates the file `name` of `length` bytes under its hidden name.
    pub fn create(
        spot: &Spot<'_>,
        name: &[u8],
        meta: Meta,
        length: u64,
        (sparse, linked): (bool, bool),
    ) -> io::Result<Self> {
        spot.look()?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let own = Mode::from_raw_mode(0o600);
        let fd = openat(spot.folder(), spot.hidden(), flags | OFlags::CLOEXEC, own)?;
        let file = File::from(fd);
        // A lock says that the copy is alive: what nobody holds is what a killed agent left.
        let prepared = flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(io::Error::from)
            .and_then(
                |()| if length >= LARGE && !sparse { reserve(&file, length) } else { Ok(()) },
            );
        if let Err(error) = prepared {
            spot.remove();
            return Err(error);
        }
        Ok(Self { file, name: name.to_vec(), meta, length, written: 0, sparse, linked })
    }

    /// Writes what comes next of it.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.sparse {
            self.file.write_all_at(bytes, self.written)?;
            self.written += bytes.len() as u64;
            return Ok(());
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            // Up to where the next page of the file begins.
            let inside = usize::try_from(self.written % PAGE as u64).unwrap_or(0);
            let (page, behind) = rest.split_at(rest.len().min(PAGE - inside));
            if page.iter().any(|&byte| byte != 0) {
                self.file.write_all_at(page, self.written)?;
            }
            self.written += page.len() as u64;
            rest = behind;
        }
        Ok(())
    }

    /// Gives it its length, if its end is a hole.
    pub fn end(&self) -> io::Result<()> {
        if self.sparse { self.file.set_len(self.length) } else { Ok(()) }
    }

    /// Gives it all that it is to have besides its bytes.
    pub fn dress(&self) -> io::Result<()> {
        dress(&self.file, &self.meta)
    }
}
