//! A node whose disk loses its power during a copy: a real ext4 on a loop device, whose image logs
//! what is written and what is stable. The power is cut at many moments, and each time the file
//! system is mounted again.

mod logged_disk;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use garland_testkit::{Garland, Scratch, Wire, random_bytes};

use logged_disk::{Entry, LoggedDisk, write_left};

/// The size of the disk in bytes.
const SIZE: usize = 24 << 20;

/// The number of moments at which the power fails, besides those around each sync.
const CUTS: usize = 30;

/// Returns the contents of the file `number` of the tree, or of the only file.
fn contents(number: u64, is_newer: bool) -> Vec<u8> {
    random_bytes(30_000 + 9_000 * number as usize, 2 * number + u64::from(is_newer))
}

/// Writes the source of a copy: a directory `d` with `files` files.
fn write_source(scratch: &Scratch, files: u64, is_newer: bool) {
    let _ = fs::create_dir(scratch.path("d"));
    for number in 0..files {
        fs::write(scratch.path(format!("d/f{number}")), contents(number, is_newer)).expect("room");
    }
}

/// Returns the arguments of a copy of the source.
fn words(files: u64) -> &'static [&'static str] {
    if files == 1 { &["d/f0", "local1:/d/"] } else { &["-r", "d", "local1:/"] }
}

/// Copies older files to a disk, then newer ones, and checks what is left if the power fails
/// meanwhile.
fn cut(files: u64) {
    let scratch = Scratch::in_memory("power");
    let disk = LoggedDisk::mount(scratch.path("disk"), SIZE);
    let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(disk.image()).status();
    assert!(made.expect("e2fsprogs").success());
    let root = scratch.root("local1");
    fs::create_dir_all(&root).expect("a directory");
    let mount = format!("mount -o loop '{}' '{}'", disk.image().display(), root.display());
    let binary = env!("CARGO_BIN_EXE_garland");
    let garland = Garland::new(binary, &scratch).over(Wire::quick().and(&mount));
    write_source(&scratch, files, false);
    let _ = garland.cp(words(files)).with_code(0);
    let image = disk.begin();
    write_source(&scratch, files, true);
    let _ = garland.cp(&[&["--whole"], words(files)].concat()).with_code(0);
    let log = disk.log();
    let syncs = log.iter().filter(|entry| matches!(entry, Entry::Sync)).count();
    assert!(syncs >= 3, "{} writes, and {syncs} syncs", log.len() - syncs);
    let mut seen = BTreeSet::new();
    for count in moments(&log) {
        for survivors in [0, 50, 100] {
            let chances = random_bytes(log.len(), count as u64);
            let mut chances = chances.into_iter().map(|byte| u64::from(byte) * 100 / 256);
            let left = scratch.path("left");
            write_left(&left, &image, &log, count, || chances.next().unwrap_or(0) < survivors);
            let folder = mounted(&scratch);
            for number in 0..files {
                let found = fs::read(folder.join(format!("f{number}"))).unwrap_or_default();
                let is_newer = found == contents(number, true);
                let story =
                    format!("f{number} after {count} of {} calls, {survivors} %", log.len());
                let is_older = found == contents(number, false);
                assert!(is_newer || is_older, "{} bytes of {story}", found.len());
                seen.insert(is_newer);
            }
        }
    }
    assert_eq!(seen.len(), 2, "the power failed before the commit and after it");
}

/// Returns the numbers of calls after which the power fails.
fn moments(log: &[Entry]) -> BTreeSet<usize> {
    let syncs = (0..log.len()).filter(|at| matches!(log[*at], Entry::Sync));
    let around = syncs.flat_map(|at| [at, at + 1]);
    let even = (0..=CUTS).map(|part| log.len() * part / CUTS);
    around.chain(even).collect()
}

/// Mounts what is left of the disk. Returns a copy of its directory.
fn mounted(scratch: &Scratch) -> PathBuf {
    let folder = scratch.path("mounted");
    let copy = scratch.path("copy");
    let _ = fs::create_dir(&folder);
    let _ = fs::remove_dir_all(&copy);
    let script = "mount -o loop \"$0\" \"$1\" && cp -r \"$1/d\" \"$2\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-ec", script]);
    let read = command.arg(scratch.path("left")).arg(&folder).arg(&copy).output();
    let read = read.expect("util-linux");
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    copy
}

#[test]
fn a_disk_without_power_has_the_old_file_or_the_new_one() {
    cut(1);
}

#[test]
fn a_disk_without_power_has_each_file_of_a_tree_as_it_was_or_as_it_will_be() {
    cut(12);
}
