//! A file of a tree without its final name. A small file has no name at all until then. A large
//! file, and every file on a file system without O_TMPFILE, has a hidden name.

use std::fs::File;
use std::io;
use std::sync::Arc;

use garland_core::tree::Meta;
use garland_protocol::{Checksum, Summing};
use garland_sys::storage;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use super::dir_entry::DirEntry;
use super::metadata::{OtherLists, apply, apply_time};
use crate::page_cache::WriteBack;
use crate::store::file::reserve;
use crate::store::left;
use crate::tree::WrittenFile;

/// Files of at least this length in bytes have a hidden name, and their disk space is reserved.
const LARGE: u64 = 1 << 20;

/// The unit of holes in bytes: they begin and end at multiples of it.
const PAGE: usize = 4096;

/// A file that is being written, under a hidden name or without a name.
pub struct PartialFile {
    /// The open file. As long as it is open, other copies leave its hidden name alone.
    file: Arc<File>,
    /// The final name of the file.
    pub name: Vec<u8>,
    meta: Meta,
    length: u64,
    written: u64,
    sparse: bool,
    /// Whether further hard links to the file follow in the stream.
    pub linked: bool,
    /// Whether the file has a hidden name.
    hidden: bool,
    /// Whether the file was created with its final owner and mode.
    final_mode: bool,
    /// The digest of the bytes so far, if the file is to be read back.
    summing: Option<Summing>,
    write_back: WriteBack,
}

impl PartialFile {
    /// Creates the file `name` of `length` bytes in the directory of `entry`. `sparse` tells
    /// whether pages of zeros become holes, `linked` whether further hard links to the file follow
    /// in the stream.
    pub fn create(
        entry: &DirEntry<'_>,
        name: &[u8],
        meta: Meta,
        length: u64,
        (sparse, linked): (bool, bool),
    ) -> io::Result<Self> {
        let small = length < LARGE;
        let initial = entry.initial_mode(&meta).filter(|_| small);
        let nameless = nameless(entry, Mode::from_raw_mode(initial.unwrap_or(0o600)))?;
        let final_mode = initial.is_some() && nameless.is_some();
        let hidden = !small || nameless.is_none();
        let file = if hidden {
            with_hidden_name(entry, nameless, if sparse { 0 } else { length })?
        } else {
            nameless.ok_or(io::ErrorKind::NotFound)?
        };
        entry.learn(&file);
        let write_back = WriteBack::of(&file, length, false);
        let (file, name, written, summing) = (Arc::new(file), name.to_vec(), 0, None);
        Ok(Self {
            file,
            name,
            meta,
            length,
            written,
            sparse,
            linked,
            hidden,
            final_mode,
            summing,
            write_back,
        })
    }

    /// Sets whether the file is synced before it gets its final name. Called before the first write.
    pub fn synced(self, synced: bool) -> Self {
        let write_back = WriteBack::of(&self.file, self.length, synced);
        Self { write_back, ..self }
    }

    /// Sets whether the digest is computed. Called before the first write.
    pub fn digested(self, digested: bool) -> Self {
        Self { summing: digested.then(|| Summing::new(Checksum::B3)), ..self }
    }

    /// Returns the length and the digest of the file, if the digest was computed; only once.
    pub fn digest(&mut self) -> Option<(u64, [u8; 32])> {
        self.summing.take().map(|summing| (self.length, summing.finish()))
    }

    /// Returns the file, of the record `number`, with the number of bytes that have been written.
    pub fn reader(&self, number: u32) -> WrittenFile {
        WrittenFile { number, file: Arc::clone(&self.file), length: self.written }
    }

    /// Returns the length of the complete file.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Writes the next bytes. In a sparse file pages of zeros are skipped. After an error the same
    /// bytes may be written again.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let (mut at, mut rest) = (self.written, bytes);
        while !rest.is_empty() {
            // Up to the next page boundary of the file.
            let inside = usize::try_from(at % PAGE as u64).unwrap_or(0);
            let most = if self.sparse { PAGE - inside } else { rest.len() };
            let (part, behind) = rest.split_at(rest.len().min(most));
            if !self.sparse || part.iter().any(|&byte| byte != 0) {
                storage::write_all_at(&self.file, part, at)?;
            }
            at += part.len() as u64;
            rest = behind;
        }
        self.write_back.wrote(&self.file, self.written, bytes.len())?;
        self.written = at;
        self.summing.iter_mut().for_each(|summing| summing.update(bytes));
        Ok(())
    }

    /// Leaves a hole of `length` bytes, if the file is sparse and its digest does not need the
    /// zeros. Returns whether it did.
    pub fn skip_zeros(&mut self, length: u64) -> bool {
        let skips = self.sparse && self.summing.is_none();
        self.written += if skips { length } else { 0 };
        skips
    }

    /// Sets the length of a sparse file after the last write, since it may end in a hole.
    pub fn end(&self) -> io::Result<()> {
        if self.sparse { self.file.set_len(self.length) } else { Ok(()) }
    }

    /// Sets owner, mode, extended attributes and time, except those that the file has had since its
    /// creation. `lists` tells what becomes of access control lists that the directory has given it.
    pub fn apply_metadata(&self, lists: OtherLists) -> io::Result<()> {
        if self.final_mode {
            apply_time(&self.file, &self.meta)
        } else {
            apply(&self.file, &self.meta, lists)
        }
    }

    /// Gives the file its final name, that of `entry`.
    pub fn show(&self, entry: &DirEntry<'_>) -> io::Result<()> {
        if self.hidden { entry.show() } else { entry.name(&self.file) }
    }

    /// Removes the hidden name, if there is one.
    pub fn remove(&self, entry: &DirEntry<'_>) {
        if self.hidden {
            entry.remove();
        }
    }
}

/// Creates a file without a name in the directory of `entry`; returns none if the file system does
/// not support that.
fn nameless(entry: &DirEntry<'_>, mode: Mode) -> io::Result<Option<File>> {
    if !entry.saved().takes_nameless() {
        return Ok(None);
    }
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
    match openat(entry.folder(), ".", flags, mode) {
        Ok(file) => Ok(Some(File::from(file))),
        // EISDIR: a kernel without O_TMPFILE.
        Err(Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS | Errno::ISDIR) => {
            entry.saved().refuses_nameless();
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Creates a file under its hidden name, or gives `nameless` that name, and reserves `length` bytes
/// for a large file. Locks the file: other copies remove unlocked files, which killed agents have
/// left.
fn with_hidden_name(entry: &DirEntry<'_>, nameless: Option<File>, length: u64) -> io::Result<File> {
    entry.check()?;
    let file = match nameless {
        Some(file) => {
            entry.hide(&file)?;
            file
        }
        None => left::create(entry.folder(), entry.hidden())?,
    };
    let reserved = if length >= LARGE { reserve(&file, length) } else { Ok(()) };
    if let Err(error) = reserved {
        entry.remove();
        return Err(error);
    }
    Ok(file)
}
