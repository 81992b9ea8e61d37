//! Trees whose copy ends in the middle: nodes that die, disks that fill up, users who give up.

use std::fs;
use std::path::Path;
use std::process::Command;

use garland_testkit::{Scratch, Wire, random_bytes, random_file, until};

use crate::trees::compare::assert_equal;
use crate::trees::{await_partial, garland_in, locals, paths, verdict, write};

/// A tree of small files with a large one in their midst.
fn make(scratch: &Scratch, large: u64) {
    for number in 0..1000 {
        let bytes = random_bytes(number, number as u64);
        write(scratch, &format!("t/{}/{number}", number % 10), bytes);
    }
    write(scratch, "t/5/large", b"");
    random_file(&scratch.path("t/5/large"), large, 1);
}

/// Every file of `copy` is in `source`, whole.
#[track_caller]
fn assert_part(source: &Path, copy: &Path) {
    for path in paths(copy).iter().filter(|path| !path.ends_with('/')) {
        let same = fs::read(source.join(path)).ok() == fs::read(copy.join(path)).ok();
        assert!(same, "{path}");
    }
}

#[test]
fn nodes_that_die_in_the_middle_keep_no_other_from_the_tree() {
    for victim in ["local1", "local3", "local5"] {
        let scratch = Scratch::new("tree-dies");
        make(&scratch, 24 << 20);
        let garland = garland_in(&scratch).over(Wire::slow(400));
        let copy = garland.start_cp(&["--json", "-r", "t", "local[1-5]:/"]);
        await_partial(&scratch.root("local5").join("t/5"));
        garland.agent(victim).kill();
        let result = copy.end().with_code(1).json();
        for node in locals(5) {
            let copied = scratch.root(&node).join("t");
            if node == victim {
                assert_eq!(verdict(&result, &node).0, "dead");
                continue;
            }
            assert_eq!(verdict(&result, &node), ("ok", ""));
            assert_equal(&scratch.path("t"), &copied);
        }
        // The dead couldn't remove its own; the next copy does.
        drop(garland);
        let _ = garland_in(&scratch).cp(&["-r", "t", "local[1-5]:/"]).with_code(0);
        scratch.assert_nothing_left();
        locals(5).for_each(|node| assert_equal(&scratch.path("t"), &scratch.root(&node).join("t")));
    }
}

#[test]
fn a_user_who_gives_up_leaves_whole_files_only() {
    let scratch = Scratch::new("tree-interrupt");
    make(&scratch, 40 << 20);
    let garland = garland_in(&scratch).over(Wire::slow(200));
    let copy = garland.start_cp(&["--json", "-r", "t", "local[1-3]:/"]);
    await_partial(&scratch.root("local3").join("t/5"));
    // Small files are written by other threads than a large one, and other nodes may be later.
    let before = scratch.root("local3").join("t/4/994");
    until("what came before", || before.exists());
    copy.process().interrupt();
    let result = copy.end().with_code(130).json();
    assert_eq!(verdict(&result, "local3"), ("failed", "interrupted"));
    for node in locals(3) {
        let copied = scratch.root(&node).join("t");
        // The copies share a wire: on a busy machine one may be done when another one has begun.
        match verdict(&result, &node) {
            ("ok", "") => assert_equal(&scratch.path("t"), &copied),
            told => {
                assert_eq!(told, ("failed", "interrupted"));
                assert_part(&scratch.path("t"), &copied);
            }
        }
    }
    assert!(before.exists(), "what came before is there");
    scratch.assert_nothing_left();
}

#[test]
fn a_disk_that_is_full_fails_its_node_alone() {
    let scratch = Scratch::new("tree-full");
    make(&scratch, 24 << 20);
    let root = scratch.root("local2");
    fs::create_dir_all(&root).expect("it can be made");
    let mount = format!("mount -t tmpfs -o size=8m none '{}'", root.display());
    let garland = garland_in(&scratch).over(Wire::quick().and(&mount));
    let result = garland.cp(&["--json", "-r", "t", "local[1-3]:/"]).with_code(1).json();
    let reason = "cannot write /: t/5/large: no space left on device";
    assert_eq!(verdict(&result, "local2"), ("failed", reason));
    for node in ["local1", "local3"] {
        assert_eq!(verdict(&result, node), ("ok", ""));
        assert_equal(&scratch.path("t"), &scratch.root(node).join("t"));
    }
    scratch.assert_nothing_left();
}

#[test]
fn the_space_of_replaced_files_is_used_for_the_next_ones() {
    const LENGTH: u64 = 12 << 20;
    let scratch = Scratch::new("tree-freed");
    let root = scratch.root("local1");
    let image = scratch.path("image");
    fs::create_dir_all(&root).expect("it can be made");
    fs::create_dir(scratch.path("t")).expect("it can be made");
    // Room for all five files, what the file system needs, and one file more.
    let disk = fs::File::create(&image).expect("it can be made");
    disk.set_len(6 * LENGTH + (16 << 20)).expect("it may be so long");
    let made = Command::new("mkfs.ext4").args(["-q", "-F", "-m0"]).arg(&image).status();
    assert!(made.expect("mkfs.ext4 is installed").success());
    for number in 0..5 {
        random_file(&scratch.path(format!("t/{number}")), LENGTH, number);
    }
    let at = root.display();
    let mount = format!("mount -o loop '{}' '{at}' && mkdir '{at}/t'", image.display());
    let fill = format!(
        "for number in 0 1 2 3 4; do head -c {LENGTH} /dev/zero > '{at}/t/'$number; done; sync"
    );
    let garland = garland_in(&scratch).over(Wire::quick().and(&mount).and(&fill));
    let result = garland.cp(&["--json", "-r", "t", "local1:/"]).with_code(0).json();
    assert_eq!(verdict(&result, "local1"), ("ok", ""));
    scratch.assert_nothing_left();
}

#[test]
fn what_a_killed_copy_left_is_removed_wherever_the_next_one_comes() {
    let scratch = Scratch::new("tree-stale");
    write(&scratch, "t/d/x", b"new");
    write(&scratch, "roots/local1/t/d/.x.0123456789ab.garland-part", b"left");
    write(&scratch, "roots/local1/other/.x.0123456789ab.garland-part", b"not ours");
    let _ = garland_in(&scratch).cp(&["-r", "t", "local1:/"]).with_code(0);
    let wanted = ["other/", "other/.x.0123456789ab.garland-part", "t/", "t/d/", "t/d/x"];
    assert_eq!(paths(&scratch.root("local1")), wanted);
}
