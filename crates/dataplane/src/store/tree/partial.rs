//! A file that isn't whole yet. A small one has no name at all until it is; a large one has a hidden
//! one, and so has every file where the file system knows no files without names.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use garland_core::tree::Meta;
use garland_protocol::{Checksum, Summing};
use garland_sys::lock;
use rustix::fs::{Mode, OFlags, fstat, openat};
use rustix::io::Errno;

use crate::store::file::reserve;
use crate::store::tree::dir_entry::DirEntry;
use crate::store::tree::metadata::{dress, dress_born};

/// From so many bytes on, room for a file is reserved before it comes.
const LARGE: u64 = 1 << 20;

/// Holes begin and end at multiples of this, in bytes.
const PAGE: usize = 4096;

/// A file under its hidden name, or without any.
pub struct PartialFile {
    file: File,
    /// Its final name.
    pub name: Vec<u8>,
    meta: Meta,
    length: u64,
    written: u64,
    sparse: bool,
    /// Whether it has other names, which follow.
    pub linked: bool,
    /// Whether it has a hidden name.
    hidden: bool,
    /// Whether it was made with the owner and mode that it is to have.
    born_so: bool,
    /// The digest of what has come of it, if it is to be read back.
    summing: Option<Summing>,
}

impl PartialFile {
    /// Creates the file `name` of `length` bytes where it is to appear.
    pub fn create(
        spot: &DirEntry<'_>,
        name: &[u8],
        meta: Meta,
        length: u64,
        (sparse, linked): (bool, bool),
    ) -> io::Result<Self> {
        let small = length < LARGE;
        let born = spot.mode_at_birth(&meta).filter(|_| small);
        let nameless = nameless(spot, Mode::from_raw_mode(born.unwrap_or(0o600)))?;
        let born_so = born.is_some() && nameless.is_some();
        let hidden = !small || nameless.is_none();
        let file = if hidden {
            with_hidden_name(spot, nameless, if sparse { 0 } else { length })?
        } else {
            nameless.ok_or(io::ErrorKind::NotFound)?
        };
        spot.learn(&file);
        let (name, written, summing) = (name.to_vec(), 0, None);
        Ok(Self { file, name, meta, length, written, sparse, linked, hidden, born_so, summing })
    }

    /// Digests what comes of it.
    pub fn digested(self) -> Self {
        Self { summing: Some(Summing::new(Checksum::B3)), ..self }
    }

    /// Its length, and its digest where that was wanted.
    pub fn digest(&mut self) -> Option<(u64, [u8; 32])> {
        self.summing.take().map(|summing| (self.length, summing.finish()))
    }

    /// The file, and how many bytes of it have come.
    ///
    /// # Errors
    /// When the process has no descriptors left.
    pub fn reader(&self) -> io::Result<(File, u64)> {
        Ok((self.file.try_clone()?, self.written))
    }

    /// Writes what comes next of it.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.summing.iter_mut().for_each(|summing| summing.update(bytes));
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
        if self.born_so {
            dress_born(&self.file, &self.meta)
        } else {
            dress(&self.file, &self.meta)
        }
    }

    /// Gives it its name.
    pub fn show(&self, spot: &DirEntry<'_>) -> io::Result<()> {
        if self.hidden { spot.show() } else { spot.name(&self.file) }
    }

    /// Removes what isn't to appear.
    pub fn remove(&self, spot: &DirEntry<'_>) {
        if self.hidden {
            spot.remove();
        }
    }
}

/// A new file without a name; none where files must have one.
fn nameless(spot: &DirEntry<'_>, mode: Mode) -> io::Result<Option<File>> {
    if !spot.nature().takes_nameless() {
        return Ok(None);
    }
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
    match openat(spot.folder(), ".", flags, mode) {
        Ok(file) => Ok(Some(File::from(file))),
        // The last of them on kernels that have never heard of it.
        Err(Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS | Errno::ISDIR) => {
            spot.nature().refuses_nameless();
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// A new file under its hidden name, with room for so many bytes. A lock says that the copy is alive:
/// what nobody holds is what a killed agent left. A file that had no name yet is locked when it gets
/// one, so that no other copy can take it for such a thing.
fn with_hidden_name(spot: &DirEntry<'_>, nameless: Option<File>, length: u64) -> io::Result<File> {
    spot.look()?;
    let file = match nameless {
        Some(file) => {
            spot.hide(&file)?;
            file
        }
        None => locked(spot)?,
    };
    let reserved = if length >= LARGE { reserve(&file, length) } else { Ok(()) };
    if let Err(error) = reserved {
        spot.remove();
        return Err(error);
    }
    Ok(file)
}

/// A new file under its hidden name, locked. Another copy may look for what killed agents left just
/// before it is: then it is made anew.
fn locked(spot: &DirEntry<'_>) -> io::Result<File> {
    const TRIES: usize = 10;
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for _ in 0..TRIES {
        let file =
            File::from(openat(spot.folder(), spot.hidden(), flags, Mode::from_raw_mode(0o600))?);
        match lock::try_lock(&file) {
            Ok(_) if fstat(&file)?.st_nlink > 0 => return Ok(file),
            Ok(_) => spot.remove(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => spot.remove(),
            Err(error) => {
                spot.remove();
                return Err(error);
            }
        }
    }
    Err(io::Error::other("another copy removes it again and again"))
}
