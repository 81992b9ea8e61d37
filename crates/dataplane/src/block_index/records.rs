//! Stores the digests of files, one record per file, in Garland's state directory on this host.
//!
//! Records are not stored with the files: a directory may be read-only, on a network file system
//! with many writers, or without extended attributes, and a record there would be copied along with
//! its file. Records are valid until the machine boots again, since a crash may lose data that was
//! not synced, and a boot may change device numbers. At most `COUNT` records are kept, of at most
//! `BYTES` bytes together. The oldest are removed first, and those that are more than `DAYS` days
//! older than the newest one. A lost record costs one reading of the file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use garland_core::plan::Layout;
use garland_protocol::copy::{FileStamp, Known, content_digest};
use garland_sys::process;
use garland_sys::writers::{self, Writers};

use super::stamp::{is_trusted, stamp, unsettled_ns};

/// Files with fewer bytes have no record: reading them takes no longer than reading a record.
const MIN_RECORDED_BYTES: u64 = 4 << 20;

/// The maximum size of a record in bytes, enough for a file of 2 TiB.
const RECORD_MAX: u64 = 17 << 20;

/// The most bytes of a record that are no digests of blocks.
const RECORD_REST: u64 = 1 << 10;

const COUNT: usize = 1000;
const BYTES: u64 = 256 << 20;
const DAYS: u64 = 30;

/// The records in one directory. Without a directory nothing is recorded.
#[derive(Clone, Debug, Default)]
pub struct Records {
    folder: Option<PathBuf>,
}

impl Records {
    /// Returns the records in `folder`, which only this user may write.
    pub fn at(folder: PathBuf) -> Self {
        Self { folder: Some(folder) }
    }

    /// Returns the digests of an open file's blocks, as far as they are known; none if the file has
    /// no valid record for this `layout`, or if its stamp has changed.
    pub fn recall(&self, file: &File, layout: Layout) -> Option<Vec<Option<[u8; 32]>>> {
        let now = stamp(file).ok()?;
        let path = self.path_of(&now)?;
        let mut bytes = Vec::new();
        File::open(path).ok()?.take(RECORD_MAX).read_to_end(&mut bytes).ok()?;
        let known = Known::parse(&bytes).ok()?;
        let same = known.stamp == now && known.layout == layout && Some(known.boot) == boot();
        (same && is_trusted(file)).then_some(known.digests)
    }

    /// Records the digests of an open file that is no longer written by its copy, and had the
    /// stamp `named` as soon as it got its name; unless somebody has changed it since. First waits
    /// until any further change would change the stamp.
    pub fn settle(
        &self,
        file: &File,
        named: &FileStamp,
        layout: Layout,
        digests: impl Iterator<Item = Option<[u8; 32]>>,
    ) {
        if !self.is_worth(file, named) {
            return;
        }
        let Some(wait) = unsettled_ns(named) else { return };
        garland_sys::threads::sleep(Duration::from_nanos(wait));
        if stamp(file).is_ok_and(|now| now == *named) {
            self.keep(*named, layout, digests);
        }
    }

    /// Records the digests of a file that was read after `opened` was taken, if the stamp is still
    /// that of `opened`, and nobody has the file open for writing: what is written through a
    /// mapping changes its times once only until the kernel writes it back.
    pub fn note(&self, file: &File, opened: &Opened, layout: Layout, digests: &[[u8; 32]]) {
        let is_settled = opened.settled && writers::of_file(file) != Writers::Present;
        let same = is_settled && stamp(file).is_ok_and(|now| now == opened.stamp);
        if same && self.is_worth(file, &opened.stamp) {
            self.keep(opened.stamp, layout, digests.iter().copied().map(Some));
        }
    }

    fn is_worth(&self, file: &File, stamp: &FileStamp) -> bool {
        self.folder.is_some() && stamp.length >= MIN_RECORDED_BYTES && is_trusted(file)
    }

    fn keep(
        &self,
        stamp: FileStamp,
        layout: Layout,
        digests: impl Iterator<Item = Option<[u8; 32]>>,
    ) {
        let (Some(path), Some(folder), Some(boot)) = (self.path_of(&stamp), &self.folder, boot())
        else {
            return;
        };
        let count = layout.blocks();
        if count * 32 > RECORD_MAX - RECORD_REST {
            return;
        }
        tidy(folder);
        // If this fails the file is read again.
        let _ = write(&path, |file| Known::write(file, (stamp, boot, layout), count, digests));
    }

    fn path_of(&self, stamp: &FileStamp) -> Option<PathBuf> {
        let name = format!("{:x}-{:x}", stamp.device, stamp.inode);
        Some(self.folder.as_ref()?.join(name))
    }
}

/// The stamp of a file when it was opened, to detect later changes.
#[derive(Clone, Copy, Debug)]
pub struct Opened {
    /// The stamp of the file when it was opened.
    pub stamp: FileStamp,
    /// Whether any change after the file was opened changes the stamp. This is true unless the last
    /// change was very recent, or somebody has the file open for writing.
    settled: bool,
}

impl Opened {
    /// Returns the current stamp of an open file.
    ///
    /// # Errors
    /// When the status of the file cannot be read.
    pub fn now(file: &File) -> io::Result<Self> {
        let read = stamp(file)?;
        // Pages that a program has changed through a mapping already change no time once more.
        let is_written = writers::of_file(file) == Writers::Present;
        Ok(Self { stamp: read, settled: !is_written && unsettled_ns(&read) == Some(0) })
    }
}

/// Returns a digest of the boot ID, which changes with every boot; none if the ID is unknown.
fn boot() -> Option<[u8; 16]> {
    let id = process::boot_id();
    let [digest @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] =
        content_digest(id.as_bytes());
    (!id.is_empty()).then_some(digest)
}

fn write(
    path: &Path,
    contents: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_extension(format!("tmp{}-{number}", std::process::id()));
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    let mut file = BufWriter::new(file);
    let written = contents(&mut file).and_then(|()| file.flush());
    let written = written.and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Removes records that are more than [`DAYS`] days older than the newest one, and the oldest ones
/// if there are too many or they are too large together.
fn tidy(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all: Vec<(SystemTime, u64, PathBuf)> = entries
        .filter_map(|entry| {
            let stat = entry.metadata().ok()?;
            Some((stat.modified().ok()?, stat.len(), entry.path()))
        })
        .collect();
    all.sort_by(|one, two| two.cmp(one));
    let newest = all.first().map_or(SystemTime::UNIX_EPOCH, |(time, ..)| *time);
    let oldest = newest.checked_sub(Duration::from_secs(DAYS * 24 * 3600));
    let mut bytes = 0;
    for (place, (time, length, path)) in all.into_iter().enumerate() {
        bytes += length;
        if place >= COUNT || bytes > BYTES || oldest.is_some_and(|oldest| time < oldest) {
            // A record that cannot be removed does no harm.
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::tests::Scratch;

    /// Returns a directory on a disk with room for records, the records, and a file. The system's
    /// temporary directory may be in memory, where files have no records.
    fn place(name: &str) -> (Scratch, Records, File) {
        let program = std::env::current_exe().unwrap();
        place_in(program.parent().unwrap(), name)
    }

    fn place_in(folder: &Path, name: &str) -> (Scratch, Records, File) {
        let scratch = Scratch::new_in(folder, name);
        fs::create_dir(scratch.join("records")).unwrap();
        let records = Records::at(scratch.join("records"));
        let path = scratch.join("file");
        fs::write(&path, vec![7; MIN_RECORDED_BYTES as usize]).unwrap();
        let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
        (scratch, records, file)
    }

    fn layout() -> Layout {
        Layout::fitting(MIN_RECORDED_BYTES)
    }

    fn digests() -> Vec<Option<[u8; 32]>> {
        let mut digests = vec![Some([3; 32]); layout().blocks() as usize];
        digests[1] = None;
        digests
    }

    #[test]
    fn a_file_is_known_until_it_changes() {
        let (_scratch, records, file) = place("records-changes");
        records.settle(&file, &stamp(&file).unwrap(), layout(), digests().into_iter());
        assert_eq!(records.recall(&file, layout()), Some(digests()));
        let other = Layout { block_size: 8192, ..layout() };
        assert_eq!(records.recall(&file, other), None, "its blocks have another size");
        let before = stamp(&file).unwrap();
        file.write_at(b"x", 5).unwrap();
        let modified =
            SystemTime::UNIX_EPOCH + Duration::new(before.modified.0 as u64, before.modified.1);
        file.set_modified(modified).unwrap();
        assert_eq!(stamp(&file).unwrap().modified, before.modified);
        assert_eq!(records.recall(&file, layout()), None, "the change time cannot be set back");
    }

    #[test]
    fn a_file_that_somebody_may_write_to_has_no_record() {
        let (scratch, records, writer) = place("records-writers");
        let reader = File::open(scratch.join("file")).unwrap();
        // Until a change would show.
        while unsettled_ns(&stamp(&reader).unwrap()) != Some(0) {
            garland_sys::threads::sleep(Duration::from_millis(5));
        }
        let known = vec![[3; 32]; layout().blocks() as usize];
        let is_known = |opened: &Opened| {
            records.note(&reader, opened, layout(), &known);
            records.recall(&reader, layout()).is_some()
        };
        let beside_writer = Opened::now(&reader).unwrap();
        assert!(!is_known(&beside_writer));
        drop(writer);
        assert!(!is_known(&beside_writer), "it may have written behind what was read");
        let alone = Opened::now(&reader).unwrap();
        let next_writer = OpenOptions::new().write(true).open(scratch.join("file")).unwrap();
        assert!(!is_known(&alone));
        drop(next_writer);
        assert!(is_known(&alone));
    }

    #[test]
    fn a_file_in_memory_has_no_record_for_a_mapping_changes_no_time_there() {
        let (_scratch, records, file) = place_in(Path::new("/dev/shm"), "records-memory");
        assert!(garland_sys::storage::is_in_memory(&file).unwrap());
        records.settle(&file, &stamp(&file).unwrap(), layout(), digests().into_iter());
        assert_eq!(records.recall(&file, layout()), None);
    }

    #[test]
    fn what_is_written_to_a_file_as_soon_as_it_has_its_name_is_not_taken_for_what_was_copied() {
        let (_scratch, records, file) = place("records-named");
        let time = file.metadata().unwrap().modified().unwrap();
        let named = stamp(&file).unwrap();
        garland_sys::threads::sleep(Duration::from_millis(30));
        file.write_at(b"x", 5).unwrap();
        // As rsync -t and others do.
        file.set_modified(time).unwrap();
        records.settle(&file, &named, layout(), digests().into_iter());
        assert_eq!(records.recall(&file, layout()), None);
        let named = stamp(&file).unwrap();
        records.settle(&file, &named, layout(), digests().into_iter());
        assert_eq!(records.recall(&file, layout()), Some(digests()));
    }

    #[test]
    fn an_invalid_record_is_ignored() {
        let (_scratch, records, file) = place("records-broken");
        records.settle(&file, &stamp(&file).unwrap(), layout(), digests().into_iter());
        let path = records.path_of(&stamp(&file).unwrap()).unwrap();
        let whole = fs::read(&path).unwrap();
        let mut broken = whole.clone();
        broken[40] ^= 1;
        for bytes in [&[][..], &whole[..whole.len() - 1], &broken, b"GLKNOWN0 of another version"] {
            fs::write(&path, bytes).unwrap();
            assert_eq!(records.recall(&file, layout()), None);
        }
        let mut known = Known::parse(&whole).unwrap();
        known.boot = [0; 16];
        fs::write(&path, known.to_bytes()).unwrap();
        assert_eq!(records.recall(&file, layout()), None, "from another boot");
        assert_eq!(Records::default().recall(&file, layout()), None);
    }

    #[test]
    fn old_and_surplus_records_are_removed() {
        let (scratch, ..) = place("records-many");
        let folder = scratch.join("records");
        for number in 0..COUNT + 5 {
            fs::write(folder.join(number.to_string()), b"x").unwrap();
        }
        tidy(&folder);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), COUNT);
        let old = OpenOptions::new()
            .write(true)
            .open(fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path());
        old.unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        tidy(&folder);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), COUNT - 1);
    }
}
