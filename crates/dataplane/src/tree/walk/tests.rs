//! Tests of the walk through the sources of a tree.

use std::os::unix::fs::PermissionsExt;

use garland_sys::confine::Root;
use garland_sys::fuse;
use garland_sys::mounts::MOUNTED;
use garland_testkit::{HangingDisk, Oddities};

use super::super::place::record_of;
use super::super::scan::Tally;
use super::*;
use crate::tests::{Scratch, without_rights_of_root};

#[test]
fn the_directory_of_a_source_need_not_be_listed() {
    let dir = Scratch::new("searched-only");
    std::fs::create_dir_all(dir.join("home/tree")).unwrap();
    std::fs::write(dir.join("home/tree/leaf"), "leaf").unwrap();
    let set = |mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(dir.join("home"), mode).unwrap();
    };
    set(0o111);
    without_rights_of_root(|| {
        let options = ScanOptions {
            excludes: Vec::new(),
            attributes: true,
            sweep: true,
            one_file_system: true,
            root: &Root::Free,
            stop: &|| false,
        };
        let found = scan(&[dir.join("home/tree")], &options).unwrap();
        assert_eq!((found.tally.files, found.left_out), (1, Vec::new()));
        assert!(scan(&[dir.join("home/")], &options).is_err(), "its content is listed");
    });
    set(0o755);
}

#[test]
fn what_is_mounted_in_a_tree_can_be_left_out_without_asking_it() {
    let dir = Scratch::new("mounted-tree");
    let inner = dir.join("tree/inner");
    std::fs::create_dir_all(&inner).unwrap();
    std::fs::write(dir.join("tree/leaf"), "leaf").unwrap();
    // Nobody answers: whoever asks waits until the device is closed.
    let device = fuse::mount(&inner).unwrap();
    let options = ScanOptions {
        excludes: Vec::new(),
        attributes: false,
        sweep: false,
        one_file_system: false,
        root: &Root::Free,
        stop: &|| false,
    };
    let scanned = scan_entry(folder(&dir.join("")), &dir.join("tree"), &options);
    let refused = scan_entry(folder(&dir.join("tree")), &inner, &options);
    drop(device);
    fuse::unmount(&inner, true).unwrap();
    let scan = scanned.unwrap();
    assert_eq!((scan.tally.files, scan.tally.folders), (1, 1));
    let [left_out] = &scan.left_out[..] else { panic!("{:?}", scan.left_out) };
    assert!(left_out.path.ends_with("tree/inner"));
    assert!(left_out.reason.ends_with(MOUNTED), "{}", left_out.reason);
    assert!(refused.unwrap_err().to_string().ends_with(MOUNTED));
}

#[test]
fn another_file_system_is_copied_as_a_directory_of_which_nothing_is_known() {
    let dir = Scratch::new("one-file-system");
    let inner = dir.join("tree/inner");
    std::fs::create_dir_all(&inner).unwrap();
    std::fs::create_dir(dir.join("tree/own")).unwrap();
    std::fs::write(dir.join("tree/own/leaf"), "leaf").unwrap();
    let disk = HangingDisk::mount_odd(&inner, Oddities::default());
    std::fs::write(inner.join("other"), "other").unwrap();
    let options = |one_file_system| ScanOptions {
        excludes: Vec::new(),
        attributes: false,
        sweep: true,
        one_file_system,
        root: &Root::Free,
        stop: &|| false,
    };
    let sources = [dir.join("tree")];
    let counts = |scan: &Scan| {
        let records = (0..scan.index.len()).filter_map(|at| record_of(&scan.index, at));
        let sweeps = records.filter(|record| matches!(record, Record::Sweep)).count();
        (scan.tally.files, scan.tally.folders, sweeps)
    };
    let all = scan(&sources, &options(false)).unwrap();
    assert_eq!(counts(&all), (2, 3, 3));
    let one = scan(&sources, &options(true)).unwrap();
    // Nodes keep what they have in the place of `inner`.
    assert_eq!(counts(&one), (1, 3, 2));
    let [left_out] = &one.left_out[..] else { panic!("{:?}", one.left_out) };
    assert!(left_out.path.ends_with("tree/inner") && !left_out.failed, "{left_out}");
    // A source that is itself mounted is copied, and so is what a list names.
    let inside = scan(&[inner.join("")], &options(true)).unwrap();
    assert_eq!(inside.tally.files, 1);
    let mut chosen = Chosen::default();
    assert!(chosen.add(b"inner"));
    let listed = scan_chosen(&dir.join("tree"), &chosen, &options(true)).unwrap();
    assert_eq!(listed.tally.files, 1);
    drop(disk);
}

#[test]
fn each_chosen_path_is_copied_or_left_out_by_its_own_name_and_nothing_else_is() {
    let dir = Scratch::new("chosen-tree");
    let tree = dir.join("tree");
    std::fs::create_dir_all(tree.join("own")).unwrap();
    std::fs::write(tree.join("own/o"), "o").unwrap();
    std::fs::write(tree.join("own/p"), "p").unwrap();
    std::os::unix::fs::symlink("own", tree.join("ln")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(tree.join("own/s")).unwrap();
    let mut chosen = Chosen::default();
    for path in ["ln/o", "own/o/x", "own/o/y/z", "own/p", "own/s/x", "nope/a", "nope/b/c"] {
        assert!(chosen.add(path.as_bytes()), "{path}");
    }
    let options = ScanOptions {
        excludes: Vec::new(),
        attributes: false,
        sweep: false,
        one_file_system: false,
        root: &Root::Free,
        stop: &|| false,
    };
    let scan = scan_chosen(&tree, &chosen, &options).unwrap();
    let top = tree.display();
    let left_out = scan.left_out.iter().map(|left| format!("{} {left}", left.failed));
    let through =
        |path, way, why| format!("true {top}/{path}: cannot reach it through {top}/{way}: {why}");
    let missing = "no such file or directory";
    let is_link = "it is a symbolic link, which is not followed";
    let wanted = [
        through("ln/o", "ln", is_link),
        through("nope/a", "nope", missing),
        through("nope/b/c", "nope", missing),
        through("own/o/x", "own/o", "it is a file"),
        through("own/o/y/z", "own/o", "it is a file"),
        through("own/s/x", "own/s", "it is a socket"),
    ];
    assert_eq!(left_out.collect::<Vec<_>>(), wanted);
    let Tally { files, folders, links } = scan.tally;
    assert_eq!([files, folders, links], [1, 1, 0], "own/p in own");
}

fn folder(path: &Path) -> OwnedFd {
    Root::Free.open_dir(path, false).unwrap()
}

#[test]
fn an_entry_is_that_of_the_open_directory_whatever_has_its_path_now() {
    let dir = Scratch::new("replaced-tree");
    let tree = dir.join("spool/tree");
    std::fs::create_dir_all(&tree).unwrap();
    std::fs::write(tree.join("own"), "own").unwrap();
    let opened = folder(&dir.join("spool"));
    std::fs::rename(dir.join("spool"), dir.join("away")).unwrap();
    std::fs::create_dir_all(&tree).unwrap();
    std::fs::write(tree.join("foreign"), "foreign").unwrap();
    let options = ScanOptions {
        excludes: Vec::new(),
        attributes: false,
        sweep: false,
        one_file_system: false,
        root: &Root::Free,
        stop: &|| false,
    };
    let scan = scan_entry(opened, &tree, &options).unwrap();
    let names = (0..scan.index.len()).map(|number| names_to(&scan.index, number).join(&b'/'));
    let names: Vec<Vec<u8>> = names.filter(|name| name.ends_with(b"n")).collect();
    assert_eq!(names, [b"tree/own"]);
    assert_eq!(scan.places[0].path, with_slash(&dir.join("spool")));
}

/// Whoever waits for a scan is told that it goes on as often as it asks, and a disk may take long
/// for each entry.
#[test]
fn a_scan_asks_at_each_entry_whether_it_is_to_stop() {
    let dir = Scratch::new("asked-often");
    std::fs::create_dir(dir.join("flat")).unwrap();
    (0..50).for_each(|number| std::fs::write(dir.join(format!("flat/{number}")), "x").unwrap());
    let asked = std::cell::Cell::new(0);
    let stops_after = std::cell::Cell::new(u32::MAX);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > stops_after.get()
    };
    let options = ScanOptions {
        excludes: Vec::new(),
        attributes: false,
        sweep: false,
        one_file_system: false,
        root: &Root::Free,
        stop: &stop,
    };
    let found = scan(&[dir.join("flat")], &options).unwrap();
    assert_eq!(found.tally.files, 50);
    assert!(asked.get() >= 50, "{}", asked.get());
    // It never takes a part of a directory for all of it.
    for after in 0..asked.get() {
        asked.set(0);
        stops_after.set(after);
        let stopped = scan(&[dir.join("flat")], &options);
        assert!(matches!(stopped, Err(ScanError::Interrupted)), "after {after}");
    }
}
