//! What POSIX says of files, checked on a mount.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};

use garland_testkit::Scratch;

use crate::mount::stage::{Stage, shell};

#[test]
fn names_are_made_moved_replaced_and_removed() {
    let scratch = Scratch::new("mount-names");
    let stage = Stage::new(&scratch, 2);
    let at = |name: &str| stage.path("local1").join(name);
    fs::write(at("a"), "a").unwrap();
    fs::write(at("b"), "b").unwrap();
    let held = File::open(at("b")).unwrap();
    fs::rename(at("a"), at("b")).unwrap();
    assert_eq!(fs::read_to_string(at("b")).unwrap(), "a");
    let mut text = String::new();
    (&held).read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), held.metadata().unwrap().len()), ("b", 1), "replaced while open");
    fs::remove_file(at("b")).unwrap();
    assert_eq!(fs::metadata(at("b")).unwrap_err().kind(), ErrorKind::NotFound);

    let mut open =
        OpenOptions::new().read(true).write(true).create_new(true).open(at("gone")).unwrap();
    fs::remove_file(at("gone")).unwrap();
    open.write_all(b"still here").unwrap();
    open.seek(SeekFrom::Start(6)).unwrap();
    text.clear();
    open.read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), open.metadata().unwrap().nlink()), ("here", 0));

    fs::create_dir(at("d")).unwrap();
    fs::write(at("d/x"), "x").unwrap();
    assert_eq!(fs::remove_dir(at("d")).unwrap_err().kind(), ErrorKind::DirectoryNotEmpty);
    assert_eq!(fs::create_dir(at("d")).unwrap_err().kind(), ErrorKind::AlreadyExists);
    let inside = File::open(at("d/x")).unwrap();
    fs::rename(at("d"), at("e")).unwrap();
    assert_eq!(inside.metadata().unwrap().len(), 1);
    assert_eq!(fs::read_to_string(at("e/x")).unwrap(), "x");
    let across = fs::rename(at("e"), stage.path("local2/e")).unwrap_err();
    assert_eq!(across.kind(), ErrorKind::CrossesDevices);
    drop((held, open, inside));
    stage.end();
}

#[test]
fn a_change_by_one_name_reaches_no_other_file_that_has_got_the_other_name() {
    let scratch = Scratch::new("mount-names");
    let stage = Stage::new(&scratch, 1);
    let at = |name: &str| stage.path("local1").join(name);
    let there = |name: &str| stage.at_node("local1").join(name);
    let names = |number: usize| [format!("f{number}"), format!("g{number}")];
    let changes =
        ["truncate(sys.argv[1], 2)", "chmod(sys.argv[1], 0o600)", "utime(sys.argv[1], (0, 0))"];
    for (number, change) in changes.into_iter().enumerate() {
        let [first, second] = names(number);
        fs::write(at(&first), "long").unwrap();
        fs::hard_link(at(&first), at(&second)).unwrap();
        // The name that the mount has seen last is another file's on the node.
        fs::write(there("other"), "other").unwrap();
        let before = fs::metadata(there("other")).unwrap();
        fs::rename(there("other"), there(&second)).unwrap();
        let script = format!("python3 -c 'import os, sys; os.{change}' {first}");
        let _ = shell(&stage.path("local1"), &script);
        let after = fs::metadata(there(&second)).unwrap();
        let shown = |it: &fs::Metadata| (it.len(), it.mode(), it.mtime(), it.mtime_nsec());
        assert_eq!(shown(&after), shown(&before), "change {number}");
        assert_ne!(shown(&fs::metadata(there(&first)).unwrap()), shown(&before));
    }
    assert_eq!(fs::metadata(there("f0")).unwrap().len(), 2);
    assert_eq!(fs::metadata(there("f1")).unwrap().mode() & 0o777, 0o600);
    // One that is gone hides no other name.
    fs::write(at("h"), "h").unwrap();
    fs::hard_link(at("h"), at("i")).unwrap();
    fs::remove_file(there("i")).unwrap();
    assert_eq!(fs::read_to_string(at("h")).unwrap(), "h");
    stage.end();
}

#[test]
fn links_modes_times_and_kinds_are_kept() {
    let scratch = Scratch::new("mount-kinds");
    let stage = Stage::new(&scratch, 1);
    let at = |name: &str| stage.path("local1").join(name);
    fs::write(at("f"), "12345").unwrap();
    fs::hard_link(at("f"), at("g")).unwrap();
    let one = fs::metadata(at("f")).unwrap();
    let two = fs::metadata(at("g")).unwrap();
    assert_eq!((one.ino(), two.nlink()), (two.ino(), 2));
    std::os::unix::fs::symlink("../nowhere/f", at("l")).unwrap();
    assert_eq!(fs::read_link(at("l")).unwrap().to_str(), Some("../nowhere/f"));
    assert_eq!(fs::metadata(at("l")).unwrap_err().kind(), ErrorKind::NotFound);
    fs::set_permissions(at("f"), fs::Permissions::from_mode(0o2750)).unwrap();
    let there = fs::metadata(stage.at_node("local1/f")).unwrap();
    assert_eq!(there.mode() & 0o7777, 0o2750);
    shell(
        &stage.path("local1"),
        "touch -d '1969-12-31 23:00:00.5 UTC' f; touch -h -d @7 l; mkfifo p
         umask 027; mkdir d; : >n; chown 12:34 n",
    );
    let there = |name: &str| fs::symlink_metadata(stage.at_node("local1").join(name)).unwrap();
    assert_eq!((there("f").mtime(), there("f").mtime_nsec()), (-3600, 500_000_000));
    assert_eq!(fs::metadata(at("f")).unwrap().mtime(), -3600);
    assert_eq!(there("l").mtime(), 7);
    assert!(there("p").file_type().is_fifo());
    assert_eq!((there("d").mode() & 0o777, there("n").mode() & 0o777), (0o750, 0o640));
    assert_eq!((there("n").uid(), there("n").gid()), (12, 34));
    let space = shell(&stage.path("local1"), "stat -f -c '%b %s' .");
    assert!(!space.starts_with("0 "), "{space}");
    stage.end();
}

#[test]
fn writes_land_where_they_belong() {
    let scratch = Scratch::new("mount-writes");
    let stage = Stage::new(&scratch, 1);
    let path = stage.path("local1/w");
    let there = stage.at_node("local1/w");
    let file =
        OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
    file.write_all_at(b"behind a hole", 3 << 20).unwrap();
    assert_eq!(file.metadata().unwrap().len(), (3 << 20) + 13);
    let mut zeros = [1; 9];
    file.read_exact_at(&mut zeros, 1 << 20).unwrap();
    assert_eq!(zeros, [0; 9]);
    file.set_len(10).unwrap();
    file.write_all_at(b"x", 20).unwrap();
    file.sync_all().unwrap();
    let expected = [&[0; 20][..], b"x"].concat();
    assert_eq!(fs::read(&there).unwrap(), expected);
    drop(file);
    let appends: Vec<File> =
        (0..2).map(|_| OpenOptions::new().append(true).open(&path).unwrap()).collect();
    for round in 0..50 {
        (&appends[round % 2]).write_all(b"ab").unwrap();
    }
    drop(appends);
    assert_eq!(fs::read(&there).unwrap().len(), 21 + 100);
    let cut = OpenOptions::new().write(true).truncate(true).open(&path).unwrap();
    assert_eq!(cut.metadata().unwrap().len(), 0);
    let exclusive = OpenOptions::new().write(true).create_new(true).open(&path).unwrap_err();
    assert_eq!(exclusive.kind(), ErrorKind::AlreadyExists);
    let folder = OpenOptions::new().write(true).open(stage.path("local1")).unwrap_err();
    assert_eq!(folder.kind(), ErrorKind::IsADirectory);
    let direct = OpenOptions::new().write(true).custom_flags(0o40_000).open(&path).unwrap();
    direct.write_all_at(&[7; 4096], 0).unwrap();
    assert_eq!(direct.metadata().unwrap().len(), 4096);
    drop((cut, direct));
    stage.end();
}

#[test]
fn a_folder_of_many_names_is_listed_whole() {
    let scratch = Scratch::new("mount-many");
    let stage = Stage::new(&scratch, 1);
    let count = if std::env::var_os("GARLAND_SOAK").is_some() { 100_000 } else { 12_000 };
    let folder = stage.at_node("local1/many");
    fs::create_dir(&folder).unwrap();
    for number in 0..count {
        File::create(folder.join(format!("entry {number}"))).unwrap();
    }
    for round in 0..2 {
        let listed = fs::read_dir(stage.path("local1/many")).unwrap();
        let mut names: Vec<_> = listed.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count, "round {round}");
    }
    let said = shell(&stage.path("local1"), "ls -lU many | wc -l; find many -name '*7' | wc -l");
    assert_eq!(said, format!("{}\n{}\n", count + 1, count / 10));
    stage.end();
}
