//! Files with holes: these don't cross the wire, and are holes on the nodes.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};

use garland_testkit::{Scratch, random_bytes, until};

use crate::pipes::{assert_copied, garland_in, locals, stand_still};

const MIB: u64 = 1 << 20;

#[test]
fn holes_stay_holes_and_cost_nothing() {
    let scratch = Scratch::new("holes");
    let path = scratch.path("sparse");
    let file = File::create(&path).expect("it can be made");
    // Most of it is at neither end; the holes' edges aren't those of blocks.
    file.set_len(200 * MIB + 123).expect("it can be long");
    file.write_all_at(&random_bytes(1_500_000, 3), 50 * MIB + 7).expect("there is room");
    file.write_all_at(&random_bytes(4096, 4), 120 * MIB).expect("there is room");
    let taken = file.metadata().expect("the file exists").blocks() * 512;
    let garland = garland_in(&scratch);
    for more in [&[][..], &["--no-encrypt"], &["--rails", "2"], &["--compress", "zstd"]] {
        let arguments = [more, &["--json", "--whole", "sparse", "local[1-3]:/x"]].concat();
        let result = garland.cp(&arguments).with_code(0).json();
        assert_eq!(result["bytes"], 200 * MIB + 123);
        let sent = result["sent_bytes"].as_u64().expect("it is a number");
        assert!((1_500_000..6 * MIB).contains(&sent), "{sent} bytes for {taken}");
        assert_copied(&scratch, locals(3), "x", &path);
        for node in locals(3) {
            let copy = scratch.root(&node).join("x").metadata().expect("the file exists");
            let there = copy.blocks() * 512;
            assert!(there <= taken + 4 * MIB, "{there} bytes on {node}, {taken} here");
        }
    }
    scratch.assert_nothing_left();
}

/// A node that stood still is fed by another node, from that node's file.
#[test]
fn holes_stay_holes_on_a_node_that_is_fed_on_the_side() {
    let scratch = Scratch::new("holes-aside");
    let path = scratch.path("sparse");
    let file = File::create(&path).expect("it can be made");
    file.set_len(300 * MIB).expect("it can be long");
    // The node stands still while the first bytes are sent, and while the holes come.
    for place in [0, 294 * MIB] {
        file.write_all_at(&random_bytes(5 << 20, place), place).expect("there is room");
    }
    let taken = file.metadata().expect("the file exists").blocks() * 512;
    let garland = garland_in(&scratch);
    let words = ["--json", "--bwlimit", "16mbit", "--dead-after", "30s", "sparse", "local[1-3]:/x"];
    let copy = garland.start_cp(&words);
    stand_still(&garland, &scratch);
    let result = copy.end().with_code(0).json();
    assert_copied(&scratch, locals(3), "x", &path);
    for node in locals(3) {
        let there =
            scratch.root(&node).join("x").metadata().expect("the file exists").blocks() * 512;
        assert!(there <= taken + 4 * MIB, "{there} bytes on {node}, {taken} here: {result}");
    }
    scratch.assert_nothing_left();
}

#[test]
fn zeros_that_were_written_are_written_there_but_not_sent() {
    let scratch = Scratch::new("zeros");
    let path = scratch.path("zeros");
    let mut bytes = vec![0; 20 << 20];
    bytes[9 << 20] = 1;
    std::fs::write(&path, &bytes).expect("there is room");
    let garland = garland_in(&scratch);
    let result = garland.cp(&["--json", "zeros", "local[1-2]:/x"]).with_code(0).json();
    let sent = result["sent_bytes"].as_u64().expect("it is a number");
    assert!(sent < 2 * MIB, "{sent}");
    assert_copied(&scratch, locals(2), "x", &path);
    for node in locals(2) {
        let stat = scratch.root(&node).join("x").metadata().expect("the file exists");
        assert!(stat.blocks() * 512 >= 20 * MIB, "a file without holes has none there");
    }
    let _ = garland.cp(&["zeros", "local[1-2]:|cat > y"]).with_code(0);
    assert_copied(&scratch, locals(2), "y", &path);
    scratch.assert_nothing_left();
}

/// A node that passes blocks on may send any zeros as zeros: where the source has holes, the others
/// may lack the room for them.
#[test]
fn zeros_of_a_file_with_holes_are_holes_there() {
    let scratch = Scratch::new("zeros-and-holes");
    let path = scratch.path("sparse");
    let file = File::create(&path).expect("it can be made");
    file.set_len(100 * MIB).expect("it can be long");
    file.write_all_at(&vec![0; 40 << 20], 20 * MIB).expect("there is room");
    file.write_all_at(b"some", 0).expect("there is room");
    let garland = garland_in(&scratch);
    let _ = garland.cp(&["--quiet", "sparse", "local[1-2]:/x"]).with_code(0);
    assert_copied(&scratch, locals(2), "x", &path);
    for node in locals(2) {
        let stat = scratch.root(&node).join("x").metadata().expect("the file exists");
        assert!(stat.blocks() * 512 <= 8 * MIB, "{} bytes on {node}", stat.blocks() * 512);
    }
    scratch.assert_nothing_left();
}

#[test]
fn a_sparse_file_that_was_interrupted_stays_sparse() {
    let scratch = Scratch::new("holes-resumed");
    let path = scratch.path("sparse");
    let file = File::create(&path).expect("it can be made");
    file.set_len(200 * MIB).expect("it can be long");
    file.write_all_at(&random_bytes(40 << 20, 5), 0).expect("there is room");
    let taken = file.metadata().expect("the file exists").blocks() * 512;
    let garland = garland_in(&scratch);
    let copy = garland.start_cp(&["--bwlimit", "100mbit", "sparse", "local1:/x"]);
    until("the middle of the data", || {
        let partial = scratch.partial_files();
        let partial = partial.first().and_then(|path| scratch.folder().join(path).metadata().ok());
        partial.is_some_and(|partial| partial.blocks() * 512 > 8 * MIB)
    });
    copy.process().interrupt();
    let _ = copy.end().with_code(130);
    let _ = garland.run(&["cp", "--quiet", "--resume", "last"]).with_code(0);
    assert_copied(&scratch, locals(1), "x", &path);
    let there = scratch.root("local1").join("x").metadata().expect("the file exists").blocks();
    assert!(there * 512 <= taken + 4 * MIB, "{} bytes, {taken} here", there * 512);
    scratch.assert_nothing_left();
}

#[test]
fn the_next_copy_of_a_sparse_file_that_changed_a_little_stays_sparse() {
    let scratch = Scratch::new("holes-again");
    let path = scratch.path("sparse");
    let file = File::create(&path).expect("it can be made");
    file.set_len(200 * MIB).expect("it can be long");
    file.write_all_at(b"some", 0).expect("there is room");
    let garland = garland_in(&scratch);
    for change in ["one", "two"] {
        file.write_all_at(change.as_bytes(), 100 * MIB).expect("there is room");
        let _ = garland.cp(&["--quiet", "sparse", "local1:/x"]).with_code(0);
        assert_copied(&scratch, locals(1), "x", &path);
        let there = scratch.root("local1").join("x").metadata().expect("the file exists").blocks();
        assert!(there * 512 <= 8 * MIB, "{} bytes after {change}", there * 512);
    }
    scratch.assert_nothing_left();
}

#[test]
fn a_sparse_file_fits_where_it_would_not_if_it_were_full() {
    let scratch = Scratch::new("holes-fit");
    let path = scratch.path("sparse");
    let file = File::create(&path).expect("it can be made");
    file.set_len(1 << 31).expect("it can be long");
    file.write_all_at(b"some", 1 << 20).expect("there is room");
    let wire = garland_testkit::Wire::quick();
    let root = scratch.root("local1");
    std::fs::create_dir_all(&root).expect("it can be made");
    let wire = wire.and(&format!("mount -t tmpfs -o size=64m none '{}'", root.display()));
    let garland = garland_in(&scratch).over(wire);
    let result = garland.cp(&["--json", "sparse", "local1:/x"]).with_code(0).json();
    assert_eq!(result["bytes"], 1_u64 << 31);
    scratch.assert_nothing_left();
}
