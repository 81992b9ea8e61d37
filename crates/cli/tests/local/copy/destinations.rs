//! Names and folders at the far end.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use garland_testkit::{Scratch, random_bytes};

use crate::copy::{assert_copied, garland_in, locals, names_in, source};

#[test]
fn a_folder_that_ends_in_a_slash_is_made() {
    let scratch = Scratch::new("folder-made");
    let from = source(&scratch, 10);
    let _ = garland_in(&scratch).cp(&["source.bin", "local[1-2]:/a/b/c/"]).with_code(0);
    assert_copied(&scratch, locals(2), "a/b/c/source.bin", &from);
}

#[test]
fn a_folder_that_is_there_takes_the_source_by_its_name() {
    let scratch = Scratch::new("folder-there");
    let from = source(&scratch, 10);
    for node in locals(2) {
        std::fs::create_dir_all(scratch.root(&node).join("d")).expect("it can be made");
    }
    let _ = garland_in(&scratch).cp(&["source.bin", "local[1-2]:/d"]).with_code(0);
    assert_copied(&scratch, locals(2), "d/source.bin", &from);
}

#[test]
fn names_may_hold_spaces_newlines_and_bytes_that_are_no_text() {
    let scratch = Scratch::new("names");
    let name: &OsStr = OsStr::from_bytes(b" a b\n\t'\"\\\xff\xe9:*");
    let bytes = random_bytes(70_000, 4);
    std::fs::write(scratch.path(name), &bytes).expect("Linux takes any name");
    let garland = garland_in(&scratch);
    let to =
        [OsStr::from_bytes(b"local[1-2]:/d \n\xfe/"), OsStr::from_bytes(b"local[1-2]:/\xff\n")];
    for destination in to {
        let source = scratch.path(name).into_os_string();
        let _ = garland.cp(&[source, OsString::from(destination)]).with_code(0);
    }
    for node in locals(2) {
        let root = scratch.root(&node);
        let in_folder = root.join(OsStr::from_bytes(b"d \n\xfe")).join(name);
        for path in [in_folder, root.join(OsStr::from_bytes(b"\xff\n"))] {
            assert!(std::fs::read(&path).is_ok_and(|got| got == bytes), "{path:?}");
        }
    }
    scratch.assert_nothing_left();
}

#[test]
fn the_longest_name_of_the_file_system_fits() {
    let scratch = Scratch::new("longest");
    let from = source(&scratch, 10);
    let name = "n".repeat(255);
    let _ = garland_in(&scratch).cp(&["source.bin", &format!("local1:/{name}")]).with_code(0);
    assert_copied(&scratch, locals(1), &name, &from);
}

#[test]
fn a_link_is_replaced_and_never_followed_out_of_the_root() {
    let scratch = Scratch::new("link");
    let from = source(&scratch, 10);
    let outside = scratch.path("outside");
    std::fs::create_dir(&outside).expect("it can be made");
    std::fs::write(outside.join("kept"), b"as it was").expect("it can be written");
    let root = scratch.root("local1");
    std::fs::create_dir_all(&root).expect("it can be made");
    symlink(outside.join("kept"), root.join("file")).expect("it can be made");
    symlink(&outside, root.join("folder")).expect("it can be made");
    let garland = garland_in(&scratch);
    let _ = garland.cp(&["source.bin", "local1:/file"]).with_code(0);
    assert_copied(&scratch, locals(1), "file", &from);
    assert!(!root.join("file").is_symlink());
    for path in ["local1:/folder/x", "local1:/../../outside/x", "local1:/folder/../kept"] {
        let _ = garland.cp(&["source.bin", path]);
    }
    assert_eq!(std::fs::read(outside.join("kept")).expect("the file exists"), b"as it was");
    let names: Vec<_> =
        std::fs::read_dir(&outside).expect("the directory exists").flatten().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    scratch.assert_nothing_left();
}

#[test]
fn what_a_killed_copy_left_is_removed_by_the_next_one() {
    let scratch = Scratch::new("stale");
    let _ = source(&scratch, 10);
    let root = scratch.root("local1");
    std::fs::create_dir_all(&root).expect("it can be made");
    for name in [".x.0123456789ab.garland-part", ".y.0123456789ab.garland-part"] {
        std::fs::write(root.join(name), b"left").expect("it can be written");
    }
    let _ = garland_in(&scratch).cp(&["source.bin", "local1:/x"]).with_code(0);
    assert_eq!(names_in(&scratch, "local1", ""), [".y.0123456789ab.garland-part", "x"]);
}
