//! Finds the entries of a tree that its destination has already, by their status, as rsync does: a
//! file of the same length and modification time counts as unchanged, and is not opened.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use garland_core::index_set::IndexSet;
use garland_core::tree::{GOOD, Meta, Parser, Record, Step};
use garland_protocol::copy::{StatusRule, SweptMounts, TreeOutline, content_digest};
use garland_sys::confine::find_itself;
use rustix::fs::{AtFlags, FileType, Stat, fstat, readlinkat, statat};

use super::exact_names::ExactNames;
use super::metadata::{Identity, same};
use super::surplus::Surplus;
use super::sweep::Sweeper;
use super::trouble::Troubles;
use crate::attributes;
use crate::block_index::trees::MEMORY;
use crate::tree::{open_directory, open_file, unpack};

/// The maximum number of files with several hard links that are compared; further ones count as
/// changed.
const LINKED: usize = 100_000;

/// The number of bytes by which a catalogue may get longer when it is compressed, besides a small
/// fraction of its length.
const LONGER: u64 = 1024;

/// A tree whose catalogue is being received, to be compared with the status of what is at its
/// destination.
pub struct StatusCheck {
    parcels: Vec<Vec<u8>>,
    /// The maximum number of further bytes in `parcels`.
    room: usize,
    records: u32,
    walk: Walk,
}

/// The state while records are compared.
struct Walk {
    /// The current directory and those above it, from the top down; none for one that is missing.
    levels: Vec<Option<Level>>,
    /// The names of the directories in `levels`, without the top.
    path: Vec<Vec<u8>>,
    /// Unchanged files with several hard links: their device and inode numbers, and the digests of
    /// their paths.
    linked: HashMap<(u64, u64), [u8; 32]>,
    identity: Identity,
    /// Whether extended attributes are compared.
    attributes: bool,
    /// Whether a sweeper is made if the tree has one.
    names: bool,
    swept: SweptMounts,
    /// Names what is not part of the tree.
    sweeper: Option<Sweeper>,
}

struct Level {
    folder: OwnedFd,
    names: ExactNames,
}

/// The result of a comparison by status.
pub struct Checked {
    /// The records whose entries are unchanged.
    pub unchanged: IndexSet,
    /// What is not part of the tree, if it was to be named.
    pub surplus: Surplus,
}

impl StatusCheck {
    /// Returns the memory in bytes that a check takes: the compressed catalogue, a bit for each
    /// record, and if the surplus is `named` its paths.
    pub fn memory(outline: &TreeOutline, named: bool) -> usize {
        let surplus = if named { Surplus::MEMORY } else { 0 };
        room(outline) + outline.records.div_ceil(8) as usize + surplus
    }

    /// Returns a check of the directory `top` by `rule`. `names` tells whether what the copy would
    /// remove is named.
    pub fn new(top: OwnedFd, outline: &TreeOutline, rule: StatusRule, names: bool) -> Self {
        let identity = Identity::new(rule);
        if let Ok(stat) = fstat(&top) {
            identity.learn(&top, &stat);
        }
        let level = Level { folder: top, names: ExactNames::default() };
        let walk = Walk {
            levels: vec![Some(level)],
            path: Vec::new(),
            linked: HashMap::new(),
            identity,
            attributes: rule.attributes,
            names,
            swept: rule.swept,
            sweeper: None,
        };
        Self { parcels: Vec::new(), room: room(outline), records: outline.records, walk }
    }

    /// Adds a parcel of the catalogue. Returns false if there is no room for it.
    pub fn take(&mut self, parcel: Vec<u8>) -> bool {
        let Some(room) = self.room.checked_sub(parcel.len()) else { return false };
        self.room = room;
        self.parcels.push(parcel);
        true
    }

    /// Compares all records, and finds those whose entries are unchanged. Records without an
    /// entry count as unchanged. Calls `progress` after every parcel. Returns none if the catalogue
    /// is invalid, or if `stop` is set.
    pub fn run(self, progress: impl Fn(), stop: &AtomicBool) -> Option<Checked> {
        let Self { parcels, records, mut walk, .. } = self;
        let mut parser = Parser::default();
        let mut unchanged = IndexSet::new(records.into());
        for parcel in parcels {
            let bytes = unpack(&parcel).filter(|_| !stop.load(Ordering::Relaxed))?;
            let mut rest = &bytes[..];
            while let Some(step) = parser.step(&mut rest).ok()? {
                let Step::Record(record) = step else { return None };
                if walk.compare(&record) {
                    unchanged.insert(u64::from(parser.records() - 1));
                }
                if let Record::File { length, .. } = record {
                    parser.pass(length);
                    parser.step(&mut &[GOOD][..]).ok()?;
                }
            }
            progress();
        }
        let surplus = walk.sweeper.map(Sweeper::into_named).unwrap_or_default();
        let is_whole = parser.is_over() && parser.records() == records;
        is_whole.then_some(Checked { unchanged, surplus })
    }
}

impl Walk {
    /// Returns whether the entry of a record is unchanged, and makes the record's directory the
    /// current one if it has one.
    fn compare(&mut self, record: &Record) -> bool {
        self.note_surplus(record);
        let compared = match record {
            Record::Enter { name, meta } => {
                let entered = self.enter(name);
                entered.iter().for_each(|(level, stat)| self.identity.learn(&level.folder, stat));
                let is_same = entered.as_ref().map(|(level, stat)| {
                    self.identity.has_given_directory(stat, meta)
                        && (!self.attributes || has(attributes::read(&level.folder), meta))
                });
                let folder = entered.as_ref().map(|(level, _)| &level.folder);
                self.sweeper.iter_mut().for_each(|sweeper| sweeper.enter(folder));
                self.levels.push(entered.map(|(level, _)| level));
                self.path.push(name.clone());
                is_same
            }
            Record::Leave => {
                self.levels.pop();
                self.path.pop();
                Some(true)
            }
            Record::File { name, meta, length, linked, .. } => {
                self.compare_file(name, meta, *length, *linked)
            }
            Record::Link { name, meta, target } => self.compare_link(name, meta, target),
            Record::Name { name, first } => self.compare_name(name, first),
            Record::Top(_) | Record::End | Record::Spare(_) => Some(true),
            Record::Sweep | Record::Kept { .. } => Some(true),
        };
        compared.unwrap_or(false)
    }

    /// Follows the tree to name what is not part of it: names the rest of a directory whose entries
    /// are complete. What cannot be read is not named.
    fn note_surplus(&mut self, record: &Record) {
        if let Record::Spare(spared) = record {
            let top = self.levels.first().and_then(Option::as_ref).map(|top| &top.folder);
            let sweeper = top.map(|top| Sweeper::naming(spared).sweeping(self.swept, top));
            self.sweeper = sweeper.filter(|_| self.names);
        }
        let Some(sweeper) = &mut self.sweeper else { return };
        let level = self.levels.last().and_then(Option::as_ref);
        match (record, level) {
            (Record::Sweep, Some(level)) => {
                let path: Vec<u8> =
                    self.path.iter().flat_map(|name| [&name[..], b"/"].concat()).collect();
                let own = sweeper.complete();
                let mut troubles = Troubles::default();
                let _ = sweeper.sweep(&own, false, &level.folder, &path, &mut troubles);
            }
            (Record::Leave, _) => sweeper.leave(),
            (record, level) => {
                // Nothing is removed from a directory that is missing.
                let name = record.name().filter(|_| level.is_some());
                name.into_iter().for_each(|name| sweeper.keep(name));
            }
        }
    }

    /// Returns the status of the entry `name` of the current directory; none if there is no entry
    /// with exactly this name, or if it is not of this kind.
    fn stat(&self, name: &[u8], kind: FileType) -> Option<(&Level, Stat)> {
        let level = self.levels.last()?.as_ref()?;
        let stat = statat(&level.folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let is_exact = matches!(level.names.folded(&level.folder, name), Ok(None));
        (is_exact && FileType::from_raw_mode(stat.st_mode) == kind).then_some((level, stat))
    }

    fn enter(&self, name: &[u8]) -> Option<(Level, Stat)> {
        let (above, _) = self.stat(name, FileType::Directory)?;
        let folder = open_directory(&above.folder, name).ok()?;
        let stat = fstat(&folder).ok()?;
        Some((Level { folder, names: ExactNames::default() }, stat))
    }

    fn compare_file(
        &mut self,
        name: &[u8],
        meta: &Meta,
        length: u64,
        linked: bool,
    ) -> Option<bool> {
        let (level, stat) = self.stat(name, FileType::RegularFile)?;
        let is_same = u64::try_from(stat.st_size) == Ok(length)
            && self.identity.has_given(&stat, meta)
            && (!self.attributes
                || has(attributes::read(open_file(&level.folder, name).ok()?), meta));
        if !is_same || stat.st_nlink == 1 {
            return Some(is_same);
        }
        // Other names of the file must belong to the tree, and none may be that of another file.
        let id = (stat.st_dev, stat.st_ino);
        let is_first = linked && self.linked.len() < LINKED && !self.linked.contains_key(&id);
        if is_first {
            self.linked.insert(id, self.digest_of_path(name));
        }
        Some(is_first)
    }

    fn compare_link(&self, name: &[u8], meta: &Meta, target: &[u8]) -> Option<bool> {
        let (level, stat) = self.stat(name, FileType::Symlink)?;
        let own = readlinkat(&level.folder, name, Vec::new()).ok()?;
        let has_attributes = || {
            let link = find_itself(&level.folder, Path::new(OsStr::from_bytes(name)));
            has(link.and_then(|link| attributes::read_of_link(&link)), meta)
        };
        let is_same = own.to_bytes() == target && self.identity.has_given_link(&stat, meta);
        Some(is_same && (!self.attributes || has_attributes()))
    }

    /// Returns whether `name` is a hard link to the file with the path `first`, which is unchanged.
    fn compare_name(&self, name: &[u8], first: &[Vec<u8>]) -> Option<bool> {
        let (_, stat) = self.stat(name, FileType::RegularFile)?;
        let known = self.linked.get(&(stat.st_dev, stat.st_ino))?;
        Some(*known == content_digest(&first.join(&b'/')))
    }

    /// Returns the digest of the path of `name` in the current directory.
    fn digest_of_path(&self, name: &[u8]) -> [u8; 32] {
        let names: Vec<&[u8]> = self.path.iter().map(Vec::as_slice).chain([name]).collect();
        content_digest(&names.join(&b'/'))
    }
}

/// Returns the maximum number of bytes of the compressed catalogue.
fn room(outline: &TreeOutline) -> usize {
    // Parcels that cannot be compressed get slightly longer.
    let bytes = outline.bytes.saturating_add(outline.bytes / 64 + LONGER);
    usize::try_from(bytes.min(MEMORY)).unwrap_or(usize::MAX)
}

/// Returns whether the extended attributes `read` are those of `meta`.
fn has(read: std::io::Result<Vec<(Vec<u8>, Vec<u8>)>>, meta: &Meta) -> bool {
    read.is_ok_and(|own| same(&own, &meta.attributes))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;
    use std::process::Command;
    use std::time::{Duration, SystemTime};

    use garland_protocol::copy::{KeptStatus, TimeWindow};
    use garland_sys::confine::Root;
    use garland_sys::process;
    use garland_testkit::{HangingDisk, Oddities};
    use rustix::fs::CWD;

    use super::*;
    use crate::tests::Scratch;
    use crate::tree::{ScanOptions, TreeSource};

    /// The name of a change, the change, and the number of entries that differ then.
    type Change = (&'static str, fn(&Path), usize);

    fn options() -> ScanOptions<'static> {
        ScanOptions {
            excludes: Vec::new(),
            attributes: false,
            sweep: false,
            one_file_system: false,
            root: &Root::Free,
            stop: &|| false,
        }
    }

    fn source(folder: &Path) -> TreeSource {
        TreeSource::open(&[folder.join("from")], &options()).unwrap()
    }

    #[test]
    fn the_attributes_of_a_link_are_compared() {
        // Only root gives links some.
        if process::user_id() != 0 {
            return;
        }
        let top = both("link-attributes");
        let give = |side: &str, value: &[u8]| {
            let link = find_itself(CWD, &top.join(side).join("link")).unwrap();
            attributes::set_of_link(&link, b"trusted.a", value).unwrap();
        };
        give("from", b"1");
        let options = ScanOptions { attributes: true, ..options() };
        let tree = TreeSource::open(&[top.join("from")], &options).unwrap();
        let changed = || {
            let outline = tree.outline().unwrap();
            let there = OwnedFd::from(File::open(top.join("to")).unwrap());
            let rule = StatusRule { attributes: true, ..StatusRule::default() };
            let mut check = StatusCheck::new(there, &outline, rule, false);
            assert!(tree.catalogue().unwrap().into_iter().all(|parcel| check.take(parcel)));
            let unchanged = check.run(|| (), &AtomicBool::new(false)).unwrap().unchanged;
            (0..outline.records).filter(|number| !unchanged.contains((*number).into())).count()
        };
        assert_eq!(changed(), 1);
        give("to/from", b"1");
        assert_eq!(changed(), 0);
        give("to/from", b"2");
        assert_eq!(changed(), 1);
    }

    /// The number of entries of `from` that are not unchanged in `to`; none if the check failed.
    fn changed(folder: &Path) -> Option<usize> {
        changed_by(folder, StatusRule::default())
    }

    /// Returns how many entries of the tree have changed, if this rule says which have not.
    fn changed_by(folder: &Path, rule: StatusRule) -> Option<usize> {
        let tree = source(folder);
        let outline = tree.outline().unwrap();
        let top = OwnedFd::from(File::open(folder.join("to")).unwrap());
        let mut check = StatusCheck::new(top, &outline, rule, false);
        assert!(tree.catalogue().unwrap().into_iter().all(|parcel| check.take(parcel)));
        let unchanged = check.run(|| (), &AtomicBool::new(false))?.unchanged;
        Some((0..u64::from(outline.records)).filter(|number| !unchanged.contains(*number)).count())
    }

    /// A tree in `from`, and its copy in `to`.
    fn both(test: &str) -> Scratch {
        let top = Scratch::new(&format!("status-{test}"));
        fs::create_dir_all(top.join("from/d/e")).unwrap();
        fs::create_dir(top.join("to")).unwrap();
        for (name, bytes) in [("d/a", "a"), ("d/e/b", "bb"), ("c", "c")] {
            fs::write(top.join("from").join(name), bytes).unwrap();
        }
        symlink("d/a", top.join("from/link")).unwrap();
        fs::hard_link(top.join("from/c"), top.join("from/d/hard")).unwrap();
        let copy = Command::new("cp").arg("-a").args([top.join("from"), top.join("to")]).status();
        assert!(copy.unwrap().success());
        top
    }

    #[test]
    fn each_difference_counts_for_the_entry_that_has_it() {
        let changes: [Change; 9] = [
            ("none", |_| (), 0),
            // A file that is gone changes its directory.
            ("gone", |to| fs::remove_file(to.join("d/a")).unwrap(), 2),
            ("longer", |to| fs::write(to.join("d/e/b"), "bbb").unwrap(), 1),
            ("mode", |to| set_mode(&to.join("d/a"), 0o7), 1),
            ("mode of a directory", |to| set_mode(&to.join("d/e"), 0o777), 1),
            ("time", |to| set_time(&to.join("d/e/b")), 1),
            // The other name, too: it is that of another file then.
            ("time of a file with two names", |to| set_time(&to.join("c")), 2),
            ("target", |to| replace(&to.join("link"), |link| symlink("d/b", link).unwrap()), 2),
            ("kind", |to| replace(&to.join("c"), |path| symlink("d/hard", path).unwrap()), 3),
        ];
        for (name, change, count) in changes {
            let top = both(name);
            change(&top.join("to/from"));
            assert_eq!(changed(&top), Some(count), "{name}");
        }
    }

    #[test]
    fn what_a_copy_does_not_set_is_not_compared_except_the_times_of_files() {
        let [all, modes, times] =
            [(true, true), (true, false), (false, true)].map(|(modes, times)| StatusRule {
                keeps: KeptStatus { modes, times, owners: true },
                ..StatusRule::default()
            });
        let window = StatusRule { window: TimeWindow(Some(3600)), ..StatusRule::default() };
        type ByRule = (&'static str, fn(&Path), [usize; 4]);
        let changes: [ByRule; 4] = [
            ("mode", |to| set_mode(&to.join("d/a"), 0o7), [1, 1, 0, 1]),
            ("mode of a directory", |to| set_mode(&to.join("d/e"), 0o777), [1, 1, 0, 1]),
            ("time", |to| set_time(&to.join("d/e/b")), [1, 1, 1, 1]),
            ("time of a directory", |to| fs::write(to.join("d/e/new"), "").unwrap(), [1, 0, 1, 0]),
        ];
        for (name, change, counts) in changes {
            let top = both(name);
            change(&top.join("to/from"));
            let found = [all, modes, times, window].map(|rule| changed_by(&top, rule));
            assert_eq!(found, counts.map(Some), "{name}");
        }
    }

    #[test]
    fn what_a_file_system_keeps_of_a_time_is_unchanged() {
        let top = Scratch::new("status-coarse");
        fs::create_dir_all(top.join("from/d")).unwrap();
        fs::create_dir(top.join("to")).unwrap();
        let time = |nanos| SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, nanos);
        let unit = Oddities { time_unit_ns: 1_000_000_000, ..Oddities::default() };
        let disk = HangingDisk::mount_odd(&top.join("to"), unit);
        for (name, nanos) in [("from/d/a", 123_456_789), ("from/b", 999_999_999)] {
            fs::write(top.join(name), name).unwrap();
            set_time_to(&top.join(name), time(nanos));
        }
        for folder in ["from/d", "from"] {
            File::open(top.join(folder)).unwrap().set_modified(time(5)).unwrap();
        }
        let copy = Command::new("cp").arg("-a").args([top.join("from"), top.join("to")]).status();
        assert!(copy.unwrap().success());
        assert_eq!(changed(&top), Some(0));
        // Another second is another time.
        set_time_to(&top.join("from/b"), time(1_000_000_000));
        assert_eq!(changed(&top), Some(1));
        drop(disk);
    }

    fn set_time_to(path: &Path, time: SystemTime) {
        File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn set_time(path: &Path) {
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }

    fn replace(path: &Path, by: fn(&Path)) {
        fs::remove_file(path).unwrap();
        by(path);
    }

    #[test]
    fn what_a_copy_would_remove_is_named_and_stays() {
        let top = both("surplus");
        let to = top.join("to/from");
        fs::create_dir_all(to.join("d/old/deep")).unwrap();
        for name in ["z", "d/old/deep/f", "d/y.o"] {
            fs::write(to.join(name), name).unwrap();
        }
        symlink("nowhere", to.join("d/e/s")).unwrap();
        fs::set_permissions(to.join("d/old"), fs::Permissions::from_mode(0o500)).unwrap();
        let excludes = vec![garland_core::tree::Pattern::parse(b"*.o").unwrap()];
        let swept = ScanOptions { excludes, sweep: true, ..options() };
        let named = |options: &ScanOptions<'_>| {
            let tree = TreeSource::open(&[top.join("from")], options).unwrap();
            let folder = OwnedFd::from(File::open(top.join("to")).unwrap());
            let mut check =
                StatusCheck::new(folder, &tree.outline().unwrap(), StatusRule::default(), true);
            assert!(tree.catalogue().unwrap().into_iter().all(|parcel| check.take(parcel)));
            let checked = check.run(|| (), &AtomicBool::new(false)).unwrap();
            let (mut paths, unnamed) = checked.surplus.into_parts();
            paths.sort();
            assert_eq!(unnamed, 0);
            paths.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect::<Vec<_>>()
        };
        let all = ["from/d/e/s", "from/d/old/", "from/d/old/deep/", "from/d/old/deep/f", "from/z"];
        assert_eq!(named(&swept), all);
        assert!(to.join("d/old/deep/f").exists() && to.join("z").exists());
        let mode = fs::metadata(to.join("d/old")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o500);
        assert!(named(&options()).is_empty(), "nothing is removed without --delete");
    }

    #[test]
    fn two_names_of_one_file_are_not_two_files() {
        let top = both("merged");
        // The same time and length, and in the source they are different files.
        fs::remove_file(top.join("to/from/d/hard")).unwrap();
        let other = top.join("from/d/other");
        let copied = Command::new("cp").arg("-a").args([&top.join("from/c"), &other]).status();
        assert!(copied.unwrap().success());
        fs::hard_link(top.join("to/from/c"), top.join("to/from/d/other")).unwrap();
        fs::hard_link(top.join("to/from/c"), top.join("to/from/d/hard")).unwrap();
        // `other` and the directory that it is in.
        assert_eq!(changed(&top), Some(2));
    }

    #[test]
    fn a_catalogue_without_an_end_or_without_room_is_refused() {
        let top = both("invalid");
        let tree = source(&top);
        let outline = tree.outline().unwrap();
        let folder = || OwnedFd::from(File::open(top.join("to")).unwrap());
        let parcels = tree.catalogue().unwrap();
        let long = vec![0; StatusCheck::memory(&outline, false)];
        let check = |outline: &TreeOutline| {
            StatusCheck::new(folder(), outline, StatusRule::default(), false)
        };
        assert!(!check(&outline).take(long));
        let run = |check: StatusCheck, stop| check.run(|| (), &AtomicBool::new(stop));
        let begun = |outline: &TreeOutline| {
            let mut begun = check(outline);
            assert!(begun.take(parcels[0].clone()));
            begun
        };
        assert!(run(begun(&outline), false).is_some());
        assert!(run(begun(&outline), true).is_none());
        let fewer = TreeOutline { records: outline.records - 1, ..outline.clone() };
        assert!(run(begun(&fewer), false).is_none());
        assert!(run(check(&outline), false).is_none());
        let mut check = begun(&outline);
        assert!(check.take(b"no parcel".to_vec()) && run(check, false).is_none());
    }
}
