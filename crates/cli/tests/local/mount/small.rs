//! New small files, whose bytes and attributes go to the node together.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

use garland_testkit::{Scratch, until};

use crate::mount::stage::{Stage, shell};

/// The number of requests to the node so far.
fn asked(stage: &Stage<'_>) -> u64 {
    let text = fs::read_to_string(stage.path(".garland-status")).unwrap();
    let (_, rest) = text.split_once("\"asked\":").unwrap();
    rest.split(',').next().unwrap().parse().unwrap()
}

#[test]
fn a_copied_file_costs_four_requests_and_is_complete() {
    let scratch = Scratch::new("mount-small");
    let stage = Stage::new(&scratch, 1);
    let make = "mkdir s; for i in {1..200}; do echo $i > s/$i; done
        chmod 640 s/1*; touch -d 2001-02-03T04:05:06.789 s/*";
    let _ = shell(scratch.folder(), make);
    let before = asked(&stage);
    let _ = shell(scratch.folder(), "cp -a s m/local1/t");
    let each = (asked(&stage) - before) as f64 / 200.0;
    assert!(each < 4.5, "{each} requests a file; it was 6");
    let list = "find . -type f -printf '%p %m %T@ %s\\n' | sort; cat *";
    let same = shell(&scratch.path("s"), list);
    assert_eq!(shell(&stage.at_node("local1/t"), list), same);
    assert_eq!(shell(&stage.path("local1/t"), list), same);
    stage.end();
}

#[test]
fn a_new_file_is_seen_as_its_writer_left_it() {
    let scratch = Scratch::new("mount-new");
    let stage = Stage::new(&scratch, 1);
    let other = stage.mount("o", &[]);
    for round in 0..40 {
        let name = format!("local1/x{round}");
        let mut file = File::create_new(stage.path(&name)).unwrap();
        file.write_all(b"held").unwrap();
        file.set_permissions(fs::Permissions::from_mode(0o751)).unwrap();
        let seen = fs::metadata(stage.path(&name)).unwrap();
        assert_eq!((seen.len(), seen.permissions().mode() & 0o777), (4, 0o751));
        assert_eq!(fs::read(stage.path(&name)).unwrap(), b"held", "by another open file");
        file.write_all(b" on").unwrap();
        drop(file);
        assert_eq!(fs::read(scratch.path("o").join(&name)).unwrap(), b"held on");
        let old = stage.path(&name);
        let new = format!("local1/y{round}");
        File::create_new(stage.path("local1/tmp")).unwrap().write_all(b"moved").unwrap();
        fs::rename(stage.path("local1/tmp"), old).unwrap();
        assert_eq!(fs::read(scratch.path("o").join(&name)).unwrap(), b"moved");
        let script = format!("cp /bin/true m/{new}; m/{new}");
        assert_eq!(shell(scratch.folder(), &script), "", "what was just written runs");
    }
    let _ = stage.garland.run(&["mount", "-u", "o"]).with_code(0);
    let _ = other.end().with_code(0);
    stage.end();
}

#[test]
fn bytes_go_and_attributes_come_back_in_one_request() {
    let scratch = Scratch::new("mount-fstat");
    let stage = Stage::new(&scratch, 1);
    let mut file = File::create_new(stage.path("local1/x")).unwrap();
    file.write_all(b"indexed").unwrap();
    let before = asked(&stage);
    let seen = file.metadata().unwrap();
    assert_eq!(asked(&stage) - before, 1);
    drop(file);
    let there = fs::metadata(stage.at_node("local1/x")).unwrap();
    assert_eq!((seen.len(), seen.mtime_nsec()), (7, there.mtime_nsec()));
    assert_eq!(seen.ctime_nsec(), there.ctime_nsec(), "as git's index keeps it");
    stage.end();
}

#[test]
fn what_stays_open_reaches_the_node_all_the_same() {
    let scratch = Scratch::new("mount-open");
    let stage = Stage::new(&scratch, 1);
    let mut file = File::create_new(stage.path("local1/log")).unwrap();
    file.write_all(b"first").unwrap();
    until("the bytes", || fs::read(stage.at_node("local1/log")).unwrap() == b"first");
    drop(file);
    stage.end();
}

#[test]
fn what_a_node_cannot_keep_is_told_at_the_close() {
    let scratch = Scratch::new("mount-small-full");
    let stage = Stage::new(&scratch, 1);
    let small = stage.at_node("local1/small");
    fs::create_dir(&small).unwrap();
    let _ = shell(&small, "mount -t tmpfs -o size=64k none .");
    fs::write(stage.path("local1/small/fill"), [1; 60_000]).unwrap();
    fs::write(scratch.path("source"), [2; 40_000]).unwrap();
    let from = scratch.path("source");
    let to = stage.path("local1/small/x");
    let said = Command::new("cp").arg("-p").args([from, to]).output().unwrap();
    let err = String::from_utf8_lossy(&said.stderr);
    assert!(!said.status.success() && err.contains("No space left on device"), "{err}");
    let mut file = File::create_new(stage.path("local1/small/y")).unwrap();
    let written = file.write_all(&[3; 40_000]).and_then(|()| file.sync_all());
    assert_eq!(written.unwrap_err().kind(), ErrorKind::StorageFull);
    drop(file);
    let _ = shell(scratch.folder(), "umount -l roots/local1/small");
    // A node that dies with held bytes.
    let mut file = File::create_new(stage.path("local1/z")).unwrap();
    file.write_all(b"lost").unwrap();
    stage.agent("local1").kill();
    assert_eq!(file.sync_all().unwrap_err().raw_os_error(), Some(5));
    drop(file);
    stage.up();
    until("the node", || fs::read(stage.path("local1/z")).is_ok());
    let seen = fs::read(stage.path("local1/z")).unwrap();
    assert_eq!(seen, fs::read(stage.at_node("local1/z")).unwrap(), "what is lost is not shown");
    stage.end();
}
