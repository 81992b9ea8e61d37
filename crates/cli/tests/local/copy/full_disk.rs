//! Disks that are full, or become so.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use garland_testkit::{Scratch, Wire, await_some, random_file};

use crate::copy::{assert_copied, await_middle, garland_in, locals, source, verdict};

/// A wire behind which the folder of `local2` is a file system of its own of `mib` MiB.
pub fn small_disk(scratch: &Scratch, wire: Wire, mib: u32) -> Wire {
    let root = scratch.root("local2");
    std::fs::create_dir_all(&root).expect("it can be made");
    wire.and(&format!("mount -t tmpfs -o size={mib}m none '{}'", root.display()))
}

#[test]
fn a_disk_without_room_is_found_before_the_copy() {
    let scratch = Scratch::new("full");
    let from = source(&scratch, 3 << 20);
    let garland = garland_in(&scratch).over(small_disk(&scratch, Wire::quick(), 1));
    let result = garland.cp(&["--json", "source.bin", "local[1-3]:/x"]).with_code(1).json();
    let (said, reason) = verdict(&result, "local2");
    assert_eq!(said, "failed");
    insta::assert_snapshot!(reason, @"no space left on /: 3145728 bytes needed, 1048576 free");
    assert_copied(&scratch, ["local1", "local3"].map(str::to_owned).into_iter(), "x", &from);
    scratch.assert_nothing_left();
}

#[test]
fn a_disk_that_fills_up_during_the_copy_fails_its_node_alone() {
    const LENGTH: u64 = 24 << 20;
    let scratch = Scratch::new("fills");
    let from = source(&scratch, LENGTH);
    let wire = small_disk(&scratch, Wire::slow(300), 32);
    let garland = garland_in(&scratch).over(wire);
    let copy = garland.start_cp(&["--json", "source.bin", "local[1-3]:/x"]);
    await_middle(&scratch, "local3", &from, 0);
    // The same folder in the copy's view of the file system.
    let inside = Path::new("/proc").join(copy.process().pid.to_string()).join("root");
    let root = scratch.root("local2");
    let disk = inside.join(root.strip_prefix("/").expect("it is absolute"));
    let disk = await_some("the small disk", || File::open(&disk).ok());
    let disk = PathBuf::from(format!("/proc/self/fd/{}", disk.as_raw_fd()));
    let filled = std::panic::catch_unwind(|| random_file(&disk.join("filler"), 64 << 20, 1));
    assert!(filled.is_err(), "the disk has no end");
    let result = copy.end().with_code(1).json();
    let reason = "cannot write /x: no space left on device";
    assert_eq!(verdict(&result, "local2"), ("failed", reason));
    assert_copied(&scratch, ["local1", "local3"].map(str::to_owned).into_iter(), "x", &from);
    assert_eq!(locals(3).filter(|node| verdict(&result, node).0 == "ok").count(), 2);
    scratch.assert_nothing_left();
}
