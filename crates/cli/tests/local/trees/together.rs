//! Copies into one folder at the same time.

use std::fs;
use std::os::unix::fs::MetadataExt;

use garland_testkit::{Scratch, random_bytes, random_file};

use crate::trees::{garland_in, locals, paths, write};

/// A tree of small files, of links to one of them, and of a large one.
fn make(scratch: &Scratch, tree: &str, seed: u64) {
    for number in 0..300_u64 {
        let path = format!("{tree}/{}/{number}", number % 3);
        write(scratch, &path, random_bytes(2000, seed * 1000 + number));
    }
    write(scratch, &format!("{tree}/0/{tree}"), tree);
    random_file(&scratch.path(format!("{tree}/1/large")), 3 << 20, seed);
    for number in 0..20 {
        let first = format!("{tree}/0/0");
        let name = format!("{tree}/2/name{number}");
        fs::hard_link(scratch.path(first), scratch.path(name)).expect("it can be made");
    }
}

#[test]
fn two_copies_into_one_folder_end_well_and_every_file_is_whole() {
    let scratch = Scratch::new("tree-together");
    make(&scratch, "a", 1);
    make(&scratch, "b", 2);
    let garland = garland_in(&scratch);
    for _ in 0..3 {
        let start = |tree: &str| garland.start_cp(&["-r", &format!("{tree}/"), "local[1-2]:/t"]);
        let one = start("a");
        let other = start("b");
        let _ = (one.end().with_code(0), other.end().with_code(0));
        for node in locals(2) {
            let copied = scratch.root(&node).join("t");
            for path in paths(&copied).iter().filter(|path| !path.ends_with('/')) {
                let got = fs::read(copied.join(path)).expect("the file exists");
                let of = |tree: &str| fs::read(scratch.path(tree).join(path)).ok();
                let whole = [of("a"), of("b")].into_iter().flatten().any(|wanted| wanted == got);
                assert!(whole, "{path} of {node} is of neither");
            }
            // 300, the large one, one of each, 20 names.
            let files = paths(&copied).iter().filter(|path| !path.ends_with('/')).count();
            assert_eq!(files, 323, "{node}");
        }
        scratch.assert_nothing_left();
    }
}

#[test]
fn what_a_living_copy_has_hidden_is_nobodys_to_remove() {
    let scratch = Scratch::new("tree-living");
    write(&scratch, "slow/large", b"");
    random_file(&scratch.path("slow/large"), 8 << 20, 1);
    write(&scratch, "quick/small", b"small");
    let garland = garland_in(&scratch);
    let slow = garland.start_cp(&["-r", "--bwlimit", "8MB/s", "slow/", "local1:/t"]);
    crate::trees::await_partial(&scratch.root("local1").join("t"));
    let hidden = scratch.partial_files();
    let _ = garland.cp(&["-r", "quick/", "local1:/t"]).with_code(0);
    assert_eq!(scratch.partial_files(), hidden, "the other one's is still there");
    let _ = slow.end().with_code(0);
    let stat = fs::metadata(scratch.root("local1").join("t/large")).expect("the file exists");
    assert_eq!(stat.size(), 8 << 20);
    assert_eq!(paths(&scratch.root("local1")), ["t/", "t/large", "t/small"]);
    scratch.assert_nothing_left();
}

#[test]
fn nodes_that_share_a_file_system_all_have_the_copy() {
    let scratch = Scratch::new("trees-shared");
    make(&scratch, "tree", 7);
    let shared = scratch.root("shared");
    fs::create_dir_all(&shared).expect("it can be made");
    for node in ["local1", "local2", "local3"] {
        std::os::unix::fs::symlink("shared", scratch.root(node)).expect("it can be made");
    }
    let large = scratch.path("tree/1/large");
    for change in 0..3 {
        random_file(&large, 3 << 20, 100 + change);
        let _ = garland_in(&scratch).cp(&["-r", "tree", "local[1-4]:/x/"]).with_code(0);
        let _ = garland_in(&scratch).cp(&["tree/1/large", "local[1-4]:/x/"]).with_code(0);
        for root in [&shared, &scratch.root("local4")] {
            assert_eq!(paths(&root.join("x/tree")), paths(&scratch.path("tree")));
            for copied in ["x/tree/1/large", "x/large"] {
                assert!(fs::read(root.join(copied)).unwrap() == fs::read(&large).unwrap());
            }
        }
    }
    scratch.assert_nothing_left();
}
