mod removal;
mod unkept;

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use garland_testkit::{HangingDisk, Modes, Oddities};
use rustix::fs::{XattrFlags, getxattr, lgetxattr, setxattr};

use super::*;
use crate::tests::Scratch;

fn extractor_in(path: &Path) -> TreeExtractor {
    TreeExtractor::new(File::open(path).unwrap().into(), "tag", None, false, None).unwrap()
}

/// An extractor whose files wait, in batches of `batch` steps.
fn waiting(path: &Path, batch: usize) -> TreeExtractor {
    let top = File::open(path).unwrap().into();
    TreeExtractor::new(top, "tag", None, false, Some(Waiting::new(batch, Arc::default()))).unwrap()
}

/// Brings a whole file of three bytes.
fn bring(extractor: &mut TreeExtractor, name: &[u8], linked: bool) {
    extractor.apply(file(name, linked)).unwrap();
    extractor.write(b"new").unwrap();
    extractor.finish(true).unwrap();
}

/// Applies records without bytes.
fn apply_all<const N: usize>(extractor: &mut TreeExtractor, records: [Record; N]) {
    records.into_iter().for_each(|record| extractor.apply(record).unwrap());
}

fn hard_link(name: &[u8], first: &[&[u8]]) -> Record {
    let first = first.iter().map(|name| name.to_vec()).collect();
    Record::Name { name: name.to_vec(), first }
}

fn meta_with(mode: u32) -> Meta {
    let owner = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    Meta { mode, owner, modified: (1_000_000_000, 5), attributes: Vec::new() }
}

fn file(name: &[u8], linked: bool) -> Record {
    let name = name.to_vec();
    let meta = meta_with(0o640);
    Record::File { name, meta, length: 3, sparse: false, linked }
}

fn enter(name: &[u8]) -> Record {
    Record::Enter { name: name.to_vec(), meta: meta_with(0o755) }
}

/// Brings a whole file with these three bytes.
fn bring_bytes(extractor: &mut TreeExtractor, name: &[u8], bytes: &[u8; 3]) {
    extractor.apply(file(name, false)).unwrap();
    extractor.write(bytes).unwrap();
    extractor.finish(true).unwrap();
}

/// Names of which some file system takes the second for the first.
const ALIKE: [(&str, &str); 13] = [
    ("README", "readme"),
    ("Read", "read"),
    ("rEAD2", "Read2"),
    ("A", "a"),
    ("x1.TXT", "X1.txt"),
    ("ß", "SS"),
    ("stra\u{df}e", "STRASSE"),
    ("\u{c9}", "\u{e9}"),
    ("Caf\u{e9}", "Cafe\u{301}"),
    ("I", "i"),
    ("\u{130}x", "ix"),
    ("dot", "dot."),
    ("7.", "7"),
];

type Fold = fn(&str) -> String;

fn folds_all(name: &str) -> String {
    name.to_uppercase().to_lowercase()
}

fn folds_ascii(name: &str) -> String {
    name.to_ascii_lowercase()
}

/// As a table for Turkish does: the capital of i has a dot.
fn folds_turkish(name: &str) -> String {
    name.replace('i', "\u{130}").replace('\u{131}', "I").to_uppercase()
}

/// Takes accents apart and leaves case as it is.
fn normalizes(name: &str) -> String {
    name.replace('\u{e9}', "e\u{301}").replace('\u{c9}', "E\u{301}")
}

fn strips_dots(name: &str) -> String {
    folds_all(name.trim_end_matches('.'))
}

fn lowers(name: &str) -> String {
    name.to_lowercase()
}

/// Brings each pair of `ALIKE` into the directory `top`, which is the current one, as files or as
/// directories.
fn bring_alike(extractor: &mut TreeExtractor, are_folders: bool) {
    for (first, second) in ALIKE {
        for (name, bytes) in [(first, b"one"), (second, b"two")] {
            if are_folders {
                apply_all(extractor, [enter(name.as_bytes())]);
                bring_bytes(extractor, b"f", bytes);
                apply_all(extractor, [Record::Leave]);
            } else {
                bring_bytes(extractor, name.as_bytes(), bytes);
            }
        }
    }
}

/// Returns the names of `ALIKE` in `top` that do not have their bytes. The second name of a pair
/// has none if the file system takes it for the first.
fn wrong_names(top: &Path, fold: Option<Fold>, are_folders: bool) -> Vec<String> {
    let read =
        |name: &str| fs::read(if are_folders { top.join(name).join("f") } else { top.join(name) });
    let mut wrong = Vec::new();
    for (first, second) in ALIKE {
        let is_one = fold.is_some_and(|fold| fold(first) == fold(second));
        for (name, bytes) in [(first, b"one"), (second, if is_one { b"one" } else { b"two" })] {
            let found = read(name).unwrap_or_default();
            if found != bytes {
                wrong.push(format!("{name} of {first}: {}", String::from_utf8_lossy(&found)));
            }
        }
    }
    wrong
}

#[test]
fn no_name_replaces_another_one_that_the_file_system_takes_for_it() {
    const NORMALIZES: usize = 3;
    let folds: [Option<Fold>; 7] = [
        Some(folds_all),
        Some(folds_ascii),
        Some(folds_turkish),
        Some(normalizes),
        Some(strips_dots),
        Some(lowers),
        None,
    ];
    let mut wrong = Vec::new();
    // A file system may number files, or the names under which it finds them, and list the names
    // that it was given, or others.
    for (kind, fold) in (0..).zip(folds) {
        for odd in 0..8 {
            let is_set = |bit: u32| odd & 1 << bit != 0;
            let [numbers_names, lists_folded, waits] = [0, 1, 2].map(is_set);
            // Where accents are taken apart, nothing shows in which form a name was given.
            if lists_folded && (fold.is_none() || kind == NORMALIZES) {
                continue;
            }
            // Hidden names that are one there are awaited for a second.
            if waits && numbers_names && kind == NORMALIZES {
                continue;
            }
            let dir = Scratch::new("tree-folds");
            let oddities =
                Oddities { folds: fold, lists_folded, numbers_names, ..Oddities::default() };
            let disk = HangingDisk::mount_odd(&dir, oddities);
            let mut extractor = if waits { waiting(&dir, 9) } else { extractor_in(&dir) };
            let kinds = [("files", false), ("folders", true)];
            for (folder, are_folders) in kinds {
                apply_all(&mut extractor, [enter(folder.as_bytes())]);
                bring_alike(&mut extractor, are_folders);
                apply_all(&mut extractor, [Record::Leave]);
            }
            extractor.settle().unwrap();
            let names = kinds.iter().flat_map(|(folder, are_folders)| {
                wrong_names(&dir.join(folder), fold, *are_folders)
            });
            let mut found: Vec<_> = names.collect();
            let same = |pair: &&(&str, &str)| fold.is_some_and(|fold| fold(pair.0) == fold(pair.1));
            let refused = 2 * ALIKE.iter().filter(same).count();
            let told = extractor.placer.troubles.absence().missed;
            if told != refused as u64 {
                let said = extractor.troubles();
                found.push(format!("{told} instead of {refused} refused: {said:?}"));
            }
            let lists = if lists_folded { "lists what it makes of names" } else { "" };
            wrong.extend(found.iter().map(|found| format!("{kind} {odd} {lists}: {found}")));
            drop(disk);
        }
    }
    assert!(wrong.is_empty(), "{} faults:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_name_that_is_there_in_another_case_stays_and_is_named() {
    for name in ["Read", "README"] {
        let dir = Scratch::new("tree-folds-again");
        let oddities = Oddities { folds: Some(folds_all), ..Oddities::default() };
        let disk = HangingDisk::mount_odd(&dir, oddities);
        fs::write(dir.join(name), b"old").unwrap();
        for _ in 0..2 {
            let mut extractor = extractor_in(&dir);
            bring_bytes(&mut extractor, b"read", b"two");
            bring_bytes(&mut extractor, b"readme", b"two");
            let lower = name.to_lowercase();
            let wanted = format!(
                "copied everything except 1 entry: {lower}: the file system ignores case, and \
                 {name} exists there"
            );
            assert_eq!(extractor.troubles(), Err(wanted));
            // The exact name may be replaced.
            bring_bytes(&mut extractor, name.as_bytes(), b"new");
            assert_eq!(fs::read(dir.join(name)).unwrap(), b"new");
        }
        drop(disk);
    }
}

#[test]
fn a_file_system_without_inodes_is_told_from_one_without_space() {
    let dir = Scratch::new("tree-inodes");
    let disk = HangingDisk::mount_odd(&dir, Oddities { inodes_max: 2, ..Oddities::default() });
    let mut extractor = extractor_in(&dir);
    bring_bytes(&mut extractor, b"f", b"one");
    let error = extractor.apply(file(b"g", false)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "g: no inodes left on the device, though it has space (see df -i)"
    );
    drop(disk);
}

#[test]
fn names_that_differ_in_case_are_two_where_names_are_numbered() {
    let dir = Scratch::new("tree-numbered");
    let oddities = Oddities { numbers_names: true, ..Oddities::default() };
    let disk = HangingDisk::mount_odd(&dir, oddities);
    for _ in 0..2 {
        let mut extractor = extractor_in(&dir);
        bring_bytes(&mut extractor, b"Read", b"one");
        bring_bytes(&mut extractor, b"read", b"two");
        assert_eq!(extractor.troubles(), Ok(()));
    }
    assert_eq!(fs::read(dir.join("Read")).unwrap(), b"one");
    drop(disk);
}

#[test]
fn files_arrive_without_what_a_file_system_refuses_to_set_and_that_is_named() {
    for (modes, refuses_times, reason) in [
        (Modes::FixedAndRefused, false, "mode cannot be set: operation not permitted"),
        (Modes::Refused, false, "mode cannot be set: operation not permitted"),
        (Modes::FixedAndIgnored, false, "mode cannot be set: the file system does not keep it"),
        (Modes::Kept, true, "time cannot be set: operation not permitted"),
    ] {
        let dir = Scratch::new("tree-unset");
        let oddities = Oddities { modes, refuses_times, ..Oddities::default() };
        let disk = HangingDisk::mount_odd(&dir, oddities);
        fs::create_dir(dir.join("d")).unwrap();
        fs::write(dir.join("d/old"), b"old").unwrap();
        let mut extractor = extractor_in(&dir);
        apply_all(&mut extractor, [Record::Spare(Vec::new()), enter(b"d")]);
        bring_bytes(&mut extractor, b"f", b"new");
        apply_all(&mut extractor, [Record::Sweep]);
        let wanted =
            format!("copied everything except 1 entry: d/f: it is there, but its {reason}");
        assert_eq!(extractor.troubles(), Err(wanted), "{modes:?}");
        assert_eq!(fs::read(dir.join("d/f")).unwrap(), b"new");
        let stat = fs::metadata(dir.join("d/f")).unwrap();
        let time = (stat.mtime(), stat.mtime_nsec());
        assert_eq!(time == (1_000_000_000, 5), !refuses_times, "the rest is set nevertheless");
        assert!(!dir.join("d/old").exists(), "the directory is complete, and swept");
        drop(disk);
    }
}

#[test]
fn links_are_there_without_what_a_file_system_refuses_to_set_and_that_is_named() {
    let refused = "operation not permitted";
    let lied = "the file system does not keep it";
    for (oddities, reason) in [
        (Oddities { refuses_times: true, ..Oddities::default() }, refused),
        (Oddities { ignores_times: true, ..Oddities::default() }, lied),
    ] {
        let dir = Scratch::new("tree-link-unset");
        let disk = HangingDisk::mount_odd(&dir, oddities);
        fs::create_dir(dir.join("d")).unwrap();
        fs::write(dir.join("d/old"), b"old").unwrap();
        let mut extractor = extractor_in(&dir);
        let link =
            Record::Link { name: b"l".to_vec(), meta: meta_with(0o777), target: b"x".to_vec() };
        let folder = Record::Enter { name: b"d".to_vec(), meta: fs_meta(&dir.join("d")) };
        apply_all(&mut extractor, [Record::Spare(Vec::new()), folder, link]);
        apply_all(&mut extractor, [Record::Sweep, Record::Leave]);
        let wanted = format!(
            "copied everything except 1 entry: d/l: it is there, but its time cannot be set: {reason}"
        );
        assert_eq!(extractor.troubles(), Err(wanted));
        assert_eq!(fs::read_link(dir.join("d/l")).unwrap(), Path::new("x"));
        assert!(!dir.join("d/old").exists(), "the directory is complete, and swept");
        drop(disk);
    }
}

#[test]
fn links_get_attributes_and_what_is_refused_is_named() {
    let dir = Scratch::new("tree-link-attributes");
    let mut extractor = extractor_in(&dir);
    for (name, attribute) in [(b"a", "trusted.a"), (b"u", "user.a")] {
        let attributes = vec![(attribute.as_bytes().to_vec(), b"1".to_vec())];
        let meta = Meta { attributes, ..meta_with(0o777) };
        let link = Record::Link { name: name.to_vec(), meta, target: b"x".to_vec() };
        apply_all(&mut extractor, [link]);
    }
    let told = extractor.troubles().unwrap_err();
    let unset = "u: it is there, but its extended attribute user.a cannot be set";
    assert!(told.contains(unset), "links have none of users: {told}");
    if process::user_id() == 0 {
        assert!(told.contains("except 1 entry"), "{told}");
        let length = lgetxattr(dir.join("a"), "trusted.a", &mut [0; 9][..]);
        assert_eq!(length, Ok(1));
    }
}

/// What the directory `path` has already.
fn fs_meta(path: &Path) -> Meta {
    let stat = fs::metadata(path).unwrap();
    let modified = (stat.mtime(), stat.mtime_nsec() as u32);
    Meta { modified, ..meta_with(stat.mode() & 0o7777) }
}

#[test]
fn the_time_of_a_link_is_set_where_single_times_are_ignored() {
    let dir = Scratch::new("tree-link-time");
    let disk = HangingDisk::mount_odd(
        &dir,
        Oddities { ignores_single_times: true, ..Oddities::default() },
    );
    let mut extractor = extractor_in(&dir);
    let link = Record::Link { name: b"l".to_vec(), meta: meta_with(0o777), target: b"x".to_vec() };
    apply_all(&mut extractor, [link]);
    assert_eq!(extractor.troubles(), Ok(()));
    let stat = fs::symlink_metadata(dir.join("l")).unwrap();
    assert_eq!((stat.mtime(), stat.mtime_nsec()), (1_000_000_000, 5));
    drop(disk);
}

#[test]
fn an_owner_that_a_file_system_refuses_is_named_if_root_copies() {
    let dir = Scratch::new("tree-owner");
    let disk =
        HangingDisk::mount_odd(&dir, Oddities { refuses_owners: true, ..Oddities::default() });
    let mut extractor = extractor_in(&dir);
    let other = Meta { owner: (1234, 1234), ..meta_with(0o640) };
    let link = Record::Link { name: b"l".to_vec(), meta: other.clone(), target: b"x".to_vec() };
    let folder = Record::Enter { name: b"d".to_vec(), meta: other.clone() };
    let name = b"f".to_vec();
    let length = 0;
    let file = Record::File { name, meta: other, length, sparse: false, linked: false };
    extractor.apply(file).unwrap();
    extractor.finish(true).unwrap();
    apply_all(&mut extractor, [link, folder, Record::Leave]);
    let reason = "it is there, but its owner cannot be set: operation not permitted";
    let named =
        format!("copied everything except 3 entries: d: {reason}; f: {reason}; l: {reason}");
    let wanted = if process::user_id() == 0 { Err(named) } else { Ok(()) };
    assert_eq!(extractor.troubles(), wanted);
    drop(disk);
}

/// An access control list that lets the user 1234 read, write and search.
fn list() -> Vec<u8> {
    let nobody = u32::MAX;
    let entries: [(u16, u32); 5] =
        [(0x01, nobody), (0x02, 1234), (0x04, nobody), (0x10, nobody), (0x20, nobody)];
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, id) in entries {
        list.extend(tag.to_le_bytes());
        list.extend(7_u16.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    list
}

#[test]
fn with_attributes_nobody_has_access_whom_the_source_does_not_let_in() {
    let access = "system.posix_acl_access";
    let default = "system.posix_acl_default";
    for (lists, has) in [(OtherLists::Go, false), (OtherLists::Stay, true)] {
        let dir = Scratch::new("tree-lists");
        fs::create_dir(dir.join("d")).unwrap();
        for name in [access, default] {
            setxattr(dir.join("d"), name, &list(), XattrFlags::empty()).unwrap();
        }
        let mut extractor = extractor_in(&dir).with_other_lists(lists);
        apply_all(&mut extractor, [enter(b"d"), enter(b"new"), Record::Leave]);
        bring(&mut extractor, b"f", false);
        apply_all(&mut extractor, [Record::Leave]);
        assert_eq!(extractor.troubles(), Ok(()));
        for (path, name) in
            [("d", access), ("d", default), ("d/new", access), ("d/new", default), ("d/f", access)]
        {
            let found = getxattr(dir.join(path), name, &mut [0_u8; 0][..]);
            assert_eq!(found.is_ok(), has, "{path} {name}");
        }
        let mode = |path: &str| fs::metadata(dir.join(path)).unwrap().mode() & 0o7777;
        assert_eq!([mode("d"), mode("d/new"), mode("d/f")], [0o755, 0o755, 0o640]);
    }
}

#[test]
fn hard_links_become_copies_where_there_are_none() {
    for waits in [false, true] {
        let dir = Scratch::new("tree-unlinked");
        let disk = HangingDisk::mount_odd(&dir, Oddities::default());
        let mut extractor = if waits { waiting(&dir, 9) } else { extractor_in(&dir) };
        apply_all(&mut extractor, [enter(b"d")]);
        bring(&mut extractor, b"f", true);
        apply_all(&mut extractor, [Record::Leave, hard_link(b"h", &[b"d", b"f"])]);
        extractor.settle().unwrap();
        let wanted = "copied everything except 1 entry: h: it is a copy, since the file system \
                      refuses a hard link";
        assert_eq!(extractor.troubles(), Err(wanted.to_owned()));
        assert_eq!(fs::read(dir.join("h")).unwrap(), b"new");
        let stat = fs::metadata(dir.join("h")).unwrap();
        assert_eq!(
            (stat.mode() & 0o7777, stat.mtime(), stat.mtime_nsec()),
            (0o640, 1_000_000_000, 5)
        );
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 2, "something hidden is left");
        drop(disk);
    }
}

#[test]
fn a_file_appears_when_it_is_whole_and_only_then() {
    let dir = Scratch::new("tree-whole");
    fs::write(dir.join("f"), b"old").unwrap();
    let mut extractor = extractor_in(&dir);
    for (whole, wanted) in [(false, &b"old"[..]), (true, b"new")] {
        extractor.apply(file(b"f", false)).unwrap();
        extractor.write(b"new").unwrap();
        assert_eq!(fs::read(dir.join("f")).unwrap(), b"old");
        extractor.finish(whole).unwrap();
        assert_eq!(fs::read(dir.join("f")).unwrap(), wanted);
    }
    let stat = fs::metadata(dir.join("f")).unwrap();
    assert_eq!((stat.mode() & 0o7777, stat.mtime(), stat.mtime_nsec()), (0o640, 1_000_000_000, 5));
    extractor.apply(file(b"g", false)).unwrap();
    extractor.abandon();
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 1, "something hidden is left");
    assert_eq!(extractor.troubles(), Ok(()));
}

#[test]
fn the_medium_is_compared_with_what_was_received() {
    let dir = Scratch::new("tree-proofs");
    let top = File::open(&dir).unwrap().into();
    let mut extractor = TreeExtractor::new(top, "tag", None, true, None).unwrap();
    extractor.apply(enter(b"d")).unwrap();
    for name in [&b"good"[..], b"rotten", b"short", b"twice", b"twice"] {
        extractor.apply(file(name, false)).unwrap();
        let bytes = if fs::exists(dir.join("d/twice")).unwrap() { b"two" } else { b"new" };
        extractor.write(bytes).unwrap();
        extractor.finish(true).unwrap();
    }
    extractor.apply(Record::Leave).unwrap();
    fs::write(dir.join("d/rotten"), b"nEw").unwrap();
    fs::write(dir.join("d/short"), b"ne").unwrap();
    extractor.prove(&|| false).unwrap();
    let wanted = "copied everything except 2 entries: d/rotten: its content on the disk differs \
                  from what was written; check the disk; d/short: its type or length differs from \
                  what was written";
    assert_eq!(extractor.troubles(), Err(wanted.to_owned()));
    assert!(extractor.prove(&|| true).is_err(), "the copy is over");
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 1, "something hidden is left");
}

#[test]
fn links_are_not_followed_and_no_directory_is_replaced() {
    let dir = Scratch::new("tree-through");
    let outside = Scratch::new("tree-outside");
    symlink(&outside, dir.join("out")).unwrap();
    fs::create_dir(dir.join("d")).unwrap();
    fs::write(dir.join("f"), b"kept").unwrap();
    let mut extractor = extractor_in(&dir);
    for name in [&b"out"[..], b"f"] {
        extractor.apply(enter(name)).unwrap();
        extractor.apply(enter(b"deeper")).unwrap();
        extractor.apply(file(b"x", false)).unwrap();
        extractor.write(b"new").unwrap();
        extractor.finish(true).unwrap();
        extractor.apply(Record::Leave).unwrap();
        extractor.apply(Record::Leave).unwrap();
    }
    extractor.apply(file(b"d", true)).unwrap();
    extractor.write(b"new").unwrap();
    extractor.finish(true).unwrap();
    extractor.apply(Record::Name { name: b"e".to_vec(), first: vec![b"d".to_vec()] }).unwrap();
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    assert_eq!(fs::read(dir.join("f")).unwrap(), b"kept");
    assert!(dir.join("d").is_dir() && !dir.join("e").exists());
    let said = extractor.troubles().unwrap_err();
    let wanted = "copied everything except 4 entries: \
                  d: it is a directory and is not replaced; \
                  e: cannot create the hard link: its target is missing; \
                  f: it is not a directory and is not replaced by one; \
                  out: it is not a directory and is not replaced by one";
    assert_eq!(said, wanted);
}

#[test]
fn hard_links_may_be_repeated() {
    let dir = Scratch::new("tree-names");
    for _ in 0..2 {
        let mut extractor = extractor_in(&dir);
        extractor.apply(enter(b"d")).unwrap();
        extractor.apply(file(b"f", true)).unwrap();
        extractor.write(b"new").unwrap();
        extractor.finish(true).unwrap();
        extractor.apply(Record::Leave).unwrap();
        let first = vec![b"d".to_vec(), b"f".to_vec()];
        for _ in 0..2 {
            let name = Record::Name { name: b"h".to_vec(), first: first.clone() };
            extractor.apply(name).unwrap();
        }
        extractor.troubles().unwrap();
        assert_eq!(fs::metadata(dir.join("h")).unwrap().nlink(), 2);
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 2, "something hidden is left");
    }
}

#[test]
fn holes_stay_holes() {
    let dir = Scratch::new("tree-holes");
    let mut extractor = extractor_in(&dir);
    let length = 1 << 20;
    let name = b"s".to_vec();
    let meta = meta_with(0o644);
    extractor.apply(Record::File { name, meta, length, sparse: true, linked: false }).unwrap();
    let mut bytes = vec![0; length as usize];
    bytes[500_000] = 1;
    bytes.chunks(999).for_each(|part| extractor.write(part).unwrap());
    extractor.finish(true).unwrap();
    assert!(fs::read(dir.join("s")).unwrap() == bytes);
    assert!(fs::metadata(dir.join("s")).unwrap().blocks() <= 16);
}

#[test]
fn a_file_waits_for_its_batch_and_is_shown_with_it() {
    let dir = Scratch::new("tree-batch");
    fs::write(dir.join("0"), b"old").unwrap();
    let mut extractor = waiting(&dir, 2);
    let shown = |name: &str| fs::read(dir.join(name)).is_ok_and(|bytes| bytes == b"new");
    for number in 0..6 {
        extractor.set_record(number);
        bring(&mut extractor, number.to_string().as_bytes(), false);
        let first = (0..6).take_while(|number| shown(&number.to_string())).count();
        let entries = fs::read_dir(&dir).unwrap().count();
        // The old file keeps its name until the new one takes it.
        assert_eq!(entries, first.max(1), "after {number}");
        // The last complete batch is shown when its sync ends, the one before it is shown by then.
        let steps = number as usize + 1;
        let complete = steps - steps % 2;
        let last = [complete.saturating_sub(2), complete];
        assert!(last.contains(&first), "{first} after {number}");
        assert_eq!(extractor.written(&(0..=9)).len(), steps - first, "after {number}");
    }
    let written = extractor.written(&(4..=4));
    assert_eq!((written.len(), written[0].number, written[0].length), (1, 4, 3));
    extractor.settle().unwrap();
    assert!((0..6).all(|number| shown(&number.to_string())));
    assert_eq!(extractor.troubles(), Ok(()));
}

#[test]
fn what_waits_is_kept_at_an_orderly_end_and_vanishes_otherwise() {
    for orderly in [true, false] {
        let dir = Scratch::new("tree-early");
        let mut extractor = waiting(&dir, 9);
        bring(&mut extractor, b"small", false);
        let name = b"large".to_vec();
        let meta = meta_with(0o640);
        let length = 1 << 20;
        extractor.apply(Record::File { name, meta, length, sparse: false, linked: false }).unwrap();
        extractor.write(&vec![1; length as usize]).unwrap();
        extractor.finish(true).unwrap();
        extractor.apply(file(b"partial", false)).unwrap();
        if orderly {
            extractor.abandon()
        } else {
            extractor.discard()
        }
        let left = fs::read_dir(&dir).unwrap().count();
        assert_eq!(left, if orderly { 2 } else { 0 }, "orderly: {orderly}");
        assert!(!orderly || fs::metadata(dir.join("large")).unwrap().len() == length);
    }
}

#[test]
fn hard_links_and_read_only_directories_follow_the_files_that_wait() {
    for batch in [1, 2, 9] {
        let dir = Scratch::new("tree-follow");
        let mut extractor = waiting(&dir, batch);
        let closed = Record::Enter { name: b"closed".to_vec(), meta: meta_with(0o555) };
        apply_all(&mut extractor, [closed]);
        bring(&mut extractor, b"f", true);
        let link =
            Record::Link { name: b"s".to_vec(), meta: meta_with(0o777), target: b"f".to_vec() };
        apply_all(&mut extractor, [link, Record::Leave, enter(b"other")]);
        apply_all(&mut extractor, [hard_link(b"h", &[b"closed", b"f"]), Record::Leave]);
        extractor.settle().unwrap();
        assert_eq!(extractor.troubles(), Ok(()));
        for name in ["closed/f", "closed/s", "other/h"] {
            assert_eq!(fs::read(dir.join(name)).unwrap(), b"new", "{name}");
        }
        assert_eq!(fs::metadata(dir.join("other/h")).unwrap().nlink(), 2);
        for (name, mode) in [("closed", 0o555), ("other", 0o755)] {
            let stat = fs::metadata(dir.join(name)).unwrap();
            let is = (stat.mode() & 0o7777, stat.mtime(), stat.mtime_nsec());
            assert_eq!(is, (mode, 1_000_000_000, 5), "{name}");
        }
    }
}

#[test]
fn a_directory_whose_file_cannot_be_shown_is_not_swept() {
    let dir = Scratch::new("tree-unshown");
    for name in ["bad/d/x", "bad/old", "good/old"] {
        fs::create_dir_all(dir.join(name).parent().unwrap()).unwrap();
        fs::write(dir.join(name), b"old").unwrap();
    }
    let mut extractor = waiting(&dir, 9);
    apply_all(&mut extractor, [Record::Spare(Vec::new()), enter(b"bad")]);
    bring(&mut extractor, b"d", true);
    apply_all(&mut extractor, [Record::Sweep, Record::Leave, enter(b"good")]);
    bring(&mut extractor, b"f", false);
    let lost = hard_link(b"h", &[b"bad", b"d"]);
    apply_all(&mut extractor, [Record::Sweep, Record::Leave, lost]);
    assert!(dir.join("good/old").exists(), "it is swept before its files have their names");
    extractor.settle().unwrap();
    assert!(dir.join("bad/d/x").exists() && dir.join("bad/old").exists());
    assert!(!dir.join("good/old").exists() && dir.join("good/f").exists());
    let wanted = "copied everything except 2 entries: bad/d: it is a directory and is not \
                  replaced; h: cannot create the hard link: its target is missing";
    assert_eq!(extractor.troubles(), Err(wanted.to_owned()));
}

#[test]
fn what_waits_makes_way_for_another_entry_of_its_name() {
    let dir = Scratch::new("tree-way");
    let mut extractor = waiting(&dir, 99);
    // Of two sources with the same names: a read-only directory, a file twice, and a directory with
    // the name of a file.
    for _ in 0..2 {
        apply_all(&mut extractor, [Record::Enter { name: b"d".to_vec(), meta: meta_with(0o500) }]);
        bring(&mut extractor, b"f", false);
        apply_all(&mut extractor, [Record::Leave]);
    }
    bring(&mut extractor, b"x", false);
    apply_all(&mut extractor, [enter(b"x"), Record::Leave]);
    // Two long names with the same hidden name.
    for end in ["1", "2"] {
        let name = ["n".repeat(240).as_str(), end].concat();
        let meta = meta_with(0o640);
        let length = 1 << 20;
        let name = name.into_bytes();
        let sparse = false;
        extractor.apply(Record::File { name, meta, length, sparse, linked: false }).unwrap();
        extractor.write(&vec![1; length as usize]).unwrap();
        extractor.finish(true).unwrap();
    }
    extractor.settle().unwrap();
    let wanted = "copied everything except 1 entry: x: it is not a directory and is not replaced \
                  by one";
    assert_eq!(extractor.troubles(), Err(wanted.to_owned()));
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 4);
    assert_eq!(fs::metadata(dir.join("d")).unwrap().mode() & 0o7777, 0o500);
}

#[test]
fn the_stream_is_read_from_files_that_wait() {
    // Beside heavy load the sync of the first files may end before the last file has begun.
    let waited = (0..20).any(|attempt| {
        let dir = Scratch::new(&format!("tree-waiting-read-{attempt}"));
        reads_stream_of_present_files(&dir)
    });
    assert!(waited, "no file has waited");
}

/// Brings files to the directory `dir`, of which the last one remains unfinished, and reads their
/// stream back. Returns whether the first file waited during that.
fn reads_stream_of_present_files(dir: &Path) -> bool {
    use crate::tree::{Body, Index, Mounts, Opener, Place, Reading, Stamp, make};

    let records = [enter(b"d"), file(b"f", false), file(b"g", false), file(b"h", false)];
    let mut index = Index::default();
    let mut wanted = Vec::new();
    let mut extractor = waiting(dir, 2);
    fs::create_dir(dir.join("d")).unwrap();
    fs::write(dir.join("d/f"), b"old").unwrap();
    for (number, record) in (0..).zip(&records) {
        let is_file = number > 0;
        let body = if is_file { Body::File(Stamp::unseen(3)) } else { Body::None };
        index.push(if is_file { 0 } else { u32::MAX }, record, body);
        wanted.extend(record.to_bytes());
        extractor.set_record(number);
        extractor.apply(record.clone()).unwrap();
        if is_file {
            extractor.write(b"new").unwrap();
            // The last file is still being written.
            if number < 3 {
                extractor.finish(true).unwrap();
            }
            wanted.extend(b"new");
            wanted.push(garland_core::tree::GOOD);
        }
    }
    let places = [Place {
        folder: File::open(dir).unwrap().into(),
        path: Vec::new(),
        first: 0,
        is_file: false,
        mounts: Mounts::Entered,
    }];
    let written = extractor.written(&(0..=3));
    let mut reading = Reading::new(&index, &places, Opener::default());
    reading.written = &written;
    let mut bytes = vec![0; wanted.len()];
    make(&index, &mut reading, 0, &mut bytes).unwrap();
    assert_eq!(bytes, wanted);
    fs::read(dir.join("d/f")).unwrap() == b"old"
}
