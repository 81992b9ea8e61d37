//! A file of a tree without its final name. A small file has no name at all until then. A large
//! file has a hidden name; so has every file where there are no files without a name, or none that
//! can get one.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use garland_core::tree::Meta;
use garland_protocol::copy::{Checksum, Summing};
use garland_sys::storage;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use super::dir_entry::DirEntry;
use super::metadata::{apply, apply_time};
use crate::page_cache::WriteBack;
use crate::store::file::{give_access, reserve};
use crate::store::unset::is_refusal;
use crate::store::{freeing, left};
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
    /// Whether the file is synced before it gets its final name.
    synced: bool,
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
        sparse: bool,
        linked: bool,
    ) -> io::Result<Self> {
        let small = length < LARGE;
        let initial = entry.initial_mode(&meta).filter(|_| small);
        let unnamed = nameless(entry, Mode::from_raw_mode(initial.unwrap_or(0o600)))?;
        let final_mode = initial.is_some() && unnamed.is_some();
        let hidden = !small || unnamed.is_none();
        let file = if hidden {
            with_hidden_name(entry, unnamed, if sparse { 0 } else { length })?
        } else {
            unnamed.ok_or(io::ErrorKind::NotFound)?
        };
        entry.learn(&file);
        let write_back = WriteBack::for_file(&file, length, false);
        Ok(Self {
            file: Arc::new(file),
            name: name.to_vec(),
            meta,
            length,
            written: 0,
            sparse,
            linked,
            hidden,
            final_mode,
            synced: false,
            summing: None,
            write_back,
        })
    }

    /// Sets whether the file is synced before it gets its final name. Called before the first
    /// write.
    pub fn synced(self, synced: bool) -> Self {
        let write_back = WriteBack::for_file(&self.file, self.length, synced);
        Self { write_back, synced, ..self }
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
        let mut at = self.written;
        let mut rest = bytes;
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

    /// Sets owner, mode, extended attributes and time, in the manner of `entry` and except those
    /// that the file has had since its creation.
    pub fn apply_metadata(&self, entry: &DirEntry<'_>) -> io::Result<()> {
        let manner = entry.manner();
        if self.final_mode {
            return apply_time(&self.file, &self.meta);
        }
        let applied = apply(&self.file, &self.meta, manner);
        if manner.keeps.modes {
            return applied;
        }
        let given = give_access(&self.file, entry.folder(), entry.final_name(), self.meta.mode)?;
        applied.and_then(|()| given.none())
    }

    /// Gives the file its final name, that of `entry`.
    pub fn show(&self, entry: &DirEntry<'_>) -> io::Result<()> {
        if self.hidden {
            return entry.show();
        }
        if entry.name(&self.file)? {
            return Ok(());
        }
        entry.saved().refuses_nameless();
        let copied = freeing::with_room(entry.disk(), || self.copy_to_hidden_name(entry));
        // Locked until it has its final name.
        let _file = copied?;
        entry.show().inspect_err(|_| entry.remove())
    }

    /// Copies the file, which has no name and can get none, to one with the hidden name.
    fn copy_to_hidden_name(&self, entry: &DirEntry<'_>) -> io::Result<Arc<File>> {
        let file = Arc::new(left::create(entry.folder(), entry.hidden())?);
        let copied = self.copy_to(&file, entry);
        copied.map(|()| file).inspect_err(|_| entry.remove())
    }

    fn copy_to(&self, file: &Arc<File>, entry: &DirEntry<'_>) -> io::Result<()> {
        // Only files below `LARGE` have no name.
        let mut bytes = vec![0; usize::try_from(self.length).unwrap_or(usize::MAX)];
        self.file.read_exact_at(&mut bytes, 0)?;
        let mut copy = Self {
            file: Arc::clone(file),
            name: self.name.clone(),
            meta: self.meta.clone(),
            length: self.length,
            written: 0,
            sparse: self.sparse,
            linked: self.linked,
            hidden: true,
            final_mode: false,
            synced: self.synced,
            summing: None,
            write_back: WriteBack::for_file(file, self.length, self.synced),
        };
        copy.write(&bytes)?;
        copy.end()?;
        match copy.apply_metadata(entry) {
            // The same of the file without a name is told.
            Err(error) if !is_refusal(&error) => return Err(error),
            _ => {}
        }
        if self.synced { storage::sync(file) } else { Ok(()) }
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
/// for a large file unless it grows. Locks the file: other copies remove unlocked files, which
/// killed agents have left.
fn with_hidden_name(entry: &DirEntry<'_>, nameless: Option<File>, length: u64) -> io::Result<File> {
    entry.check()?;
    let file = match nameless {
        Some(file) if entry.hide(&file)? => file,
        nameless => {
            if nameless.is_some() {
                entry.saved().refuses_nameless();
            }
            left::create(entry.folder(), entry.hidden())?
        }
    };
    let is_reserved = length >= LARGE && !entry.grows();
    let reserved = if is_reserved { reserve(&file, length) } else { Ok(()) };
    if let Err(error) = reserved {
        entry.remove();
        return Err(error);
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::OwnedFd;
    use std::os::unix::fs::MetadataExt;

    use garland_testkit::{HangingDisk, Oddities};
    use rustix::fs::fstat;

    use super::super::dir_entry::Maker;
    use super::super::directory::Directory;
    use super::super::metadata::OtherLists;
    use super::*;
    use crate::tests::Scratch;

    fn open_directory(dir: &Scratch) -> Directory {
        let folder = OwnedFd::from(File::open(dir).unwrap());
        let stat = fstat(&folder).unwrap();
        Directory::new(folder, &stat, b"", None)
    }

    fn new_maker() -> Maker {
        Maker { tag: "tag".to_owned(), umask: 0o022, manner: OtherLists::Stay.into(), grows: false }
    }

    fn meta() -> Meta {
        let owner = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        Meta { mode: 0o640, owner, modified: (1_000_000_000, 5), attributes: Vec::new() }
    }

    /// A file without a name that can get none: linkat(2) refuses it, as on file systems that have
    /// such files and no links to them.
    fn unlinkable(directory: &Directory) -> File {
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::EXCL | OFlags::CLOEXEC;
        openat(&directory.folder, ".", flags, Mode::from_raw_mode(0o600)).unwrap().into()
    }

    #[test]
    fn a_file_without_a_name_that_can_get_none_is_copied_to_one_that_has_one() {
        for (sparse, syncs) in [(false, false), (true, true)] {
            let dir = Scratch::new("partial-unlinkable");
            let directory = open_directory(&dir);
            let maker = new_maker();
            let entry = DirEntry::new(&directory, b"f", &maker);
            let bytes = [vec![1; 5000], vec![0; 200_000], vec![2; 10]].concat();
            let length = bytes.len() as u64;
            let partial = PartialFile::create(&entry, b"f", meta(), length, sparse, false);
            let mut partial = partial.unwrap().synced(syncs);
            assert!(!partial.hidden, "this file system has files without names");
            partial.file = Arc::new(unlinkable(&directory));
            partial.write(&bytes).unwrap();
            partial.end().unwrap();
            partial.apply_metadata(&entry).unwrap();
            fs::write(dir.join("f"), b"old").unwrap();
            partial.show(&entry).unwrap();
            assert!(fs::read(dir.join("f")).unwrap() == bytes);
            let stat = fs::metadata(dir.join("f")).unwrap();
            let its = (stat.mode() & 0o7777, stat.mtime(), stat.mtime_nsec());
            assert_eq!(its, (0o640, 1_000_000_000, 5));
            assert!(!sparse || stat.blocks() * 512 < length, "its holes stay");
            assert_eq!(fs::read_dir(&dir).unwrap().count(), 1, "no hidden name stays");
            assert!(!entry.saved().takes_nameless(), "the next file has a name from the start");
        }
    }

    #[test]
    fn a_large_file_that_can_get_no_hidden_name_is_created_with_one() {
        let dir = Scratch::new("partial-unhidden");
        let directory = open_directory(&dir);
        let maker = new_maker();
        let entry = DirEntry::new(&directory, b"f", &maker);
        let nameless = unlinkable(&directory);
        let file = with_hidden_name(&entry, Some(nameless), LARGE).unwrap();
        assert!(file.metadata().unwrap().nlink() == 1 && !entry.saved().takes_nameless());
        assert!(dir.join(entry.hidden()).exists());
    }

    #[test]
    fn a_large_file_that_grows_takes_no_space_before_its_bytes_come() {
        let dir = Scratch::new("partial-grows");
        let directory = open_directory(&dir);
        let maker = Maker { grows: true, ..new_maker() };
        let entry = DirEntry::new(&directory, b"f", &maker);
        let file = with_hidden_name(&entry, None, 64 * LARGE).unwrap();
        assert_eq!(file.metadata().unwrap().blocks(), 0);
    }

    #[test]
    fn what_cannot_be_set_is_named_also_of_a_file_that_was_created_with_its_mode() {
        let dir = Scratch::new("partial-unset");
        let disk =
            HangingDisk::mount_odd(&dir, Oddities { refuses_times: true, ..Oddities::default() });
        let directory = open_directory(&dir);
        let maker = new_maker();
        let entry = DirEntry::new(&directory, b"f", &maker);
        for (final_mode, wanted) in [
            (false, "it is there, but its time cannot be set: operation not permitted"),
            (
                true,
                "it is there, but its mode cannot be set: the file system does not keep it, and \
                 its time cannot be set: operation not permitted",
            ),
        ] {
            let partial = PartialFile::create(&entry, b"f", meta(), 3, false, false);
            let mut partial = partial.unwrap();
            // It has the mode of hidden files, as if the file system had not kept its own.
            partial.final_mode = final_mode;
            let said = partial.apply_metadata(&entry).unwrap_err().to_string();
            assert_eq!(said, wanted);
            partial.remove(&entry);
        }
        drop(disk);
    }
}
