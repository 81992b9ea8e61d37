//! What arrives is what was there.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::process::Command;

use garland_testkit::{Scratch, random_bytes};

use crate::trees::compare::assert_equal;
use crate::trees::{garland_in, left_out, locals, oddities, verdict, write};

#[test]
fn every_oddity_arrives_as_it_is_on_four_nodes() {
    let scratch = Scratch::new("tree-odd");
    let odd = scratch.path("odd");
    oddities::make(&odd);
    let garland = garland_in(&scratch);
    // Twice: once into nothing, and once over what is there.
    for _ in 0..2 {
        let said = garland.cp(&["-r", "--xattrs", "odd", "local[1-4]:/t"]).with_code(0);
        assert!(said.out.contains("tree    415 files, 30 directories, 10 links"), "{}", said.out);
        locals(4).for_each(|node| assert_equal(&odd, &scratch.root(&node).join("t/odd")));
    }
    for node in locals(4) {
        let stat = fs::metadata(scratch.root(&node).join("t/odd/sparse")).expect("the file exists");
        assert!(stat.blocks() * 512 < 1 << 20, "holes of {node} take {} blocks", stat.blocks());
    }
    scratch.assert_nothing_left();
}

#[test]
fn over_several_lanes_and_blocks_of_any_size_too() {
    let scratch = Scratch::new("tree-lanes");
    let odd = scratch.path("odd");
    oddities::make(&odd);
    let garland = garland_in(&scratch);
    for (number, more) in
        [&["--rails", "3", "--block-size", "4KiB"][..], &["--no-encrypt"]].into_iter().enumerate()
    {
        let to = format!("local[1-3]:/{number}/");
        let words = [&["-r", "--xattrs"], more, &["odd/", &to]].concat();
        let _ = garland.cp(&words).with_code(0);
        for node in locals(3) {
            assert_equal(&odd, &scratch.root(&node).join(number.to_string()));
        }
    }
    scratch.assert_nothing_left();
}

#[test]
fn many_small_files_take_no_more_memory_than_one() {
    const FILES: usize = 5_000;
    let scratch = Scratch::new("tree-many");
    for number in 0..FILES {
        let path = format!("many/{}/{number}", number % 50);
        write(&scratch, &path, random_bytes(number % 300, number as u64));
    }
    let result =
        garland_in(&scratch).cp(&["--json", "-r", "many", "local[1-2]:/"]).with_code(0).json();
    assert_eq!(result["tree"]["files"], FILES);
    for node in result["nodes"].as_array().expect("a result has nodes") {
        let memory = node["memory"].as_u64().expect("it is a number");
        assert!(memory < 64 << 20, "{memory} bytes: {node}");
    }
    locals(2)
        .for_each(|node| assert_equal(&scratch.path("many"), &scratch.root(&node).join("many")));
}

#[test]
fn what_is_not_for_copying_is_skipped_and_said() {
    let scratch = Scratch::new("tree-special");
    write(&scratch, "t/file", b"here");
    let _socket = UnixListener::bind(scratch.path("t/socket")).expect("it can be made");
    let made = Command::new("mkfifo").arg(scratch.path("t/pipe")).status();
    assert!(made.expect("mkfifo is there").success());
    let garland = garland_in(&scratch);
    let result = garland.cp(&["--json", "-r", "t", "local[1-2]:/"]).with_code(0).json();
    assert_eq!(left_out(&result), ["t/pipe: a pipe", "t/socket: a socket"]);
    assert_eq!((&result["tree"]["skipped"], &result["tree"]["missed"]), (&2.into(), &0.into()));
    locals(2).for_each(|node| assert_eq!(verdict(&result, &node), ("ok", "")));
    let said = garland.cp(&["-r", "t", "local[1-2]:/"]).with_code(0);
    assert!(
        said.out.contains("skipped t/pipe: a pipe\nskipped t/socket: a socket\n"),
        "{}",
        said.out
    );
    for node in locals(2) {
        assert_eq!(crate::trees::paths(&scratch.root(&node)), ["t/", "t/file"]);
    }
}

#[test]
fn a_tree_can_be_dropped_to_measure_the_network() {
    let scratch = Scratch::new("tree-null");
    write(&scratch, "t/file", random_bytes(100_000, 1));
    let _ = garland_in(&scratch).cp(&["-r", "t", "local[1-2]:/dev/null"]).with_code(0);
    locals(2).for_each(|node| {
        assert_eq!(crate::trees::paths(&scratch.root(&node)), Vec::<String>::new())
    });
}
