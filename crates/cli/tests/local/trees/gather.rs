//! Trees that come from nodes.

use std::fs;
use std::path::Path;
use std::process::Command;

use garland_testkit::{Scratch, Wire, random_bytes, random_file};

use crate::trees::compare::assert_equal;
use crate::trees::{await_partial, garland_in, left_out, locals, oddities, paths, verdict, write};

#[test]
fn every_nodes_tree_goes_to_a_folder_of_its_own() {
    let scratch = Scratch::new("tree-gather");
    for node in locals(3) {
        oddities::make(&scratch.root(&node).join("t/odd"));
        write(&scratch, &format!("roots/{node}/t/odd/own"), &node);
    }
    let garland = garland_in(&scratch);
    // Twice: once into nothing, and once over what is there.
    for more in [&["--rails", "2", "--block-size", "64KiB"][..], &["--no-encrypt", "--verify"]] {
        let words = [&["-r", "--xattrs"], more, &["local[1-3]:/t/odd", "all"]].concat();
        let said = garland.cp(&words).with_code(0);
        assert!(said.out.contains("tree    1248 files, 90 directories, 30 links"), "{}", said.out);
        for node in locals(3) {
            let wanted = scratch.root(&node).join("t/odd");
            assert_equal(&wanted, &scratch.path(format!("all/{node}/odd")));
        }
    }
    scratch.assert_nothing_left();
}

#[test]
fn of_one_node_it_goes_where_it_is_told_by_rsyncs_rules() {
    let scratch = Scratch::new("tree-gather-one");
    for path in ["a/x", "a/in/y.o", "a/in/build/z", "one"] {
        write(&scratch, &format!("roots/local1/{path}"), path);
    }
    let garland = garland_in(&scratch);
    let got = |words: &[&str], at: &str| {
        let _ = garland.cp(&[&["-r"], words].concat()).with_code(0);
        paths(&scratch.path(at))
    };
    let whole = ["a/", "a/in/", "a/in/build/", "a/in/build/z", "a/in/y.o", "a/x"];
    assert_eq!(got(&["local1:/a", "named"], "named"), whole);
    assert_eq!(
        got(&["local1:a/", "in/it"], "in/it"),
        ["in/", "in/build/", "in/build/z", "in/y.o", "x"]
    );
    let some = ["--exclude", "*.o", "--exclude", "/a/in/build/", "local1:/a", "some"];
    assert_eq!(got(&some, "some"), ["a/", "a/in/", "a/x"]);
    // One plain file is what it is without the word.
    let said = garland.cp(&["-rv", "local1:/one", "name"]).with_code(0);
    assert!(said.out.starts_with("copy    local1:/one\n"), "{}", said.out);
    let said = garland.cp(&["-rvn", "local1:/a", "x"]).with_code(0);
    assert!(
        said.out.starts_with("copy    local1:/a (3 files, 3 directories, 0 links)\n"),
        "{}",
        said.out
    );
    assert_eq!(fs::read(scratch.path("name")).expect("it is a file"), b"one");
    let _ = garland.cp(&["-r", "local1:/a", "/dev/null"]).with_code(0);
    let said = garland.cp(&["-r", "--exclude", "a[", "local1:/a", "x"]).with_code(2);
    assert!(said.err.contains("--exclude a[: the bracket"), "{}", said.err);
    scratch.assert_nothing_left();
}

#[test]
fn what_stays_behind_is_named_by_its_node() {
    let scratch = Scratch::new("tree-gather-left");
    for node in ["local1", "local2"] {
        write(&scratch, &format!("roots/{node}/t/0-large"), b"");
        random_file(&scratch.root(node).join("t/0-large"), 40 << 20, 1);
        for path in ["changes", "rest", "vanishes"] {
            write(&scratch, &format!("roots/{node}/t/{path}"), path.repeat(10));
        }
        let pipe = Command::new("mkfifo").arg(scratch.root(node).join("t/pipe")).status();
        assert!(pipe.expect("mkfifo is there").success());
    }
    fs::remove_dir_all(scratch.root("local3")).ok();
    let garland = garland_in(&scratch).over(Wire::slow(400));
    let copy = garland.start_cp(&["--json", "-r", "local[1-3]:/t", "all"]);
    await_partial(&scratch.path("all/local2/t"));
    write(&scratch, "roots/local2/t/changes", b"longer".repeat(100));
    fs::remove_file(scratch.root("local2").join("t/vanishes")).expect("it was there");
    let result = copy.end().with_code(1).json();
    let wanted = [
        "local2:/t/changes: it changed while it was copied",
        "local2:/t/vanishes: cannot read it: no such file or directory",
        "local1:/t/pipe: a pipe",
        "local2:/t/pipe: a pipe",
    ];
    assert_eq!(left_out(&result), wanted);
    assert_eq!((&result["tree"]["missed"], &result["tree"]["skipped"]), (&2.into(), &2.into()));
    for node in locals(2) {
        assert_eq!(verdict(&result, &node), ("ok", ""));
    }
    let none = "cannot open /t: no such file or directory";
    assert_eq!(verdict(&result, "local3"), ("failed", none));
    let whole = ["t/", "t/0-large", "t/changes", "t/rest", "t/vanishes"];
    assert_eq!(paths(&scratch.path("all/local1")), whole);
    assert_eq!(paths(&scratch.path("all/local2")), ["t/", "t/0-large", "t/rest"]);
    assert!(!scratch.path("all/local3").exists());
    scratch.assert_nothing_left();
}

/// Every file of `copy` is in `source`, whole.
#[track_caller]
fn assert_part(source: &Path, copy: &Path) {
    for path in paths(copy).iter().filter(|path| !path.ends_with('/')) {
        let same = fs::read(source.join(path)).ok() == fs::read(copy.join(path)).ok();
        assert!(same, "{path}");
    }
}

/// Trees of small files with a large one in their midst.
fn make(scratch: &Scratch) {
    for node in locals(3) {
        for number in 0..100 {
            let path = format!("roots/{node}/t/{}/{number}", number % 10);
            write(scratch, &path, random_bytes(number, number as u64));
        }
        random_file(&scratch.root(&node).join("t/5/large"), 16 << 20, 1);
    }
}

#[test]
fn a_node_that_dies_costs_only_its_own_tree() {
    let scratch = Scratch::new("tree-gather-dies");
    make(&scratch);
    let garland = garland_in(&scratch).over(Wire::slow(200));
    let copy = garland.start_cp(&["--json", "-r", "local[1-3]:/t", "all"]);
    await_partial(&scratch.path("all/local2/t/5"));
    garland.agent("local2").kill();
    let result = copy.end().with_code(1).json();
    assert_eq!(verdict(&result, "local2").0, "dead");
    assert_part(&scratch.root("local2"), &scratch.path("all/local2"));
    for node in ["local1", "local3"] {
        assert_eq!(verdict(&result, node), ("ok", ""));
        assert_equal(&scratch.root(node).join("t"), &scratch.path(format!("all/{node}/t")));
    }
    scratch.assert_nothing_left();
}

#[test]
fn an_interrupt_leaves_whole_files_only() {
    let scratch = Scratch::new("tree-gather-interrupt");
    make(&scratch);
    let garland = garland_in(&scratch).over(Wire::slow(100));
    let copy = garland.start_cp(&["--json", "-r", "local[1-3]:/t", "all"]);
    await_partial(&scratch.path("all/local3/t/5"));
    copy.process().interrupt();
    let result = copy.end().with_code(130).json();
    for node in locals(3) {
        assert_eq!(verdict(&result, &node), ("failed", "interrupted"));
        assert_part(&scratch.root(&node), &scratch.path(format!("all/{node}")));
    }
    scratch.assert_nothing_left();
}

#[test]
fn nothing_that_comes_goes_through_a_link_that_is_here() {
    let scratch = Scratch::new("tree-gather-link");
    for path in ["t/d/x", "t/file", "t/rest"] {
        write(&scratch, &format!("roots/local1/{path}"), path);
    }
    let outside = scratch.path("outside");
    fs::create_dir(&outside).expect("it can be made");
    fs::create_dir_all(scratch.path("here/t/file/kept")).expect("it can be made");
    std::os::unix::fs::symlink(&outside, scratch.path("here/t/d")).expect("it can be made");
    let result =
        garland_in(&scratch).cp(&["--json", "-r", "local1:/t", "here"]).with_code(3).json();
    let reason = "on this machine: copied everything except 2 entries: t/d: it is not a \
                  directory and is not replaced by one; t/file: it is a directory and is not replaced";
    assert_eq!(verdict(&result, "local1"), ("failed", reason));
    assert_eq!(paths(&outside), Vec::<String>::new());
    assert_eq!(paths(&scratch.path("here")), ["t/", "t/d", "t/file/", "t/file/kept/", "t/rest"]);
    scratch.assert_nothing_left();
}

#[test]
fn a_link_in_the_place_of_a_nodes_folder_is_not_followed() {
    let scratch = Scratch::new("tree-gather-node-link");
    for node in locals(2) {
        write(&scratch, &format!("roots/{node}/t/x"), &node);
    }
    let outside = scratch.path("outside");
    fs::create_dir(&outside).expect("it can be made");
    fs::create_dir(scratch.path("all")).expect("it can be made");
    std::os::unix::fs::symlink("../outside", scratch.path("all/local1")).expect("it can be made");
    let garland = garland_in(&scratch);
    for words in [&["-r", "local[1-2]:/t", "all"][..], &["local[1-2]:/t/x", "all"]] {
        let result = garland.cp(&[&["--json"], words].concat()).with_code(1).json();
        let reason = "on this machine: cannot open the directory all/local1: \
                      it is a symbolic link, which is not followed";
        assert_eq!(verdict(&result, "local1"), ("failed", reason));
        assert_eq!(verdict(&result, "local2"), ("ok", ""));
    }
    assert_eq!(paths(&outside), Vec::<String>::new());
    assert_eq!(paths(&scratch.path("all/local2")), ["t/", "t/x", "x"]);
    scratch.assert_nothing_left();
}
