use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use super::*;
use crate::tests::Scratch;

fn extractor(path: &Path) -> TreeExtractor {
    TreeExtractor::new(File::open(path).unwrap().into(), "tag", None, false).unwrap()
}

fn meta(mode: u32) -> Meta {
    let owner = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    Meta { mode, owner, modified: (1_000_000_000, 5), attributes: Vec::new() }
}

fn file(name: &[u8], linked: bool) -> Record {
    let (name, meta) = (name.to_vec(), meta(0o640));
    Record::File { name, meta, length: 3, sparse: false, linked }
}

fn enter(name: &[u8]) -> Record {
    Record::Enter { name: name.to_vec(), meta: meta(0o755) }
}

#[test]
fn a_file_appears_when_it_is_whole_and_only_then() {
    let dir = Scratch::new("tree-whole");
    fs::write(dir.join("f"), b"old").unwrap();
    let mut extractor = extractor(&dir);
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
    let mut extractor = TreeExtractor::new(top, "tag", None, true).unwrap();
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
    let (dir, outside) = (Scratch::new("tree-through"), Scratch::new("tree-outside"));
    symlink(&outside, dir.join("out")).unwrap();
    fs::create_dir(dir.join("d")).unwrap();
    fs::write(dir.join("f"), b"kept").unwrap();
    let mut extractor = extractor(&dir);
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
                  out: it is not a directory and is not replaced by one; \
                  f: it is not a directory and is not replaced by one; \
                  d: it is a directory and is not replaced; \
                  e: cannot create the hard link: its target is missing";
    assert_eq!(said, wanted);
}

#[test]
fn hard_links_may_be_repeated() {
    let dir = Scratch::new("tree-names");
    for _ in 0..2 {
        let mut extractor = extractor(&dir);
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
    let mut extractor = extractor(&dir);
    let length = 1 << 20;
    let (name, meta) = (b"s".to_vec(), meta(0o644));
    extractor.apply(Record::File { name, meta, length, sparse: true, linked: false }).unwrap();
    let mut bytes = vec![0; length as usize];
    bytes[500_000] = 1;
    bytes.chunks(999).for_each(|part| extractor.write(part).unwrap());
    extractor.finish(true).unwrap();
    assert!(fs::read(dir.join("s")).unwrap() == bytes);
    assert!(fs::metadata(dir.join("s")).unwrap().blocks() <= 16);
}
