//! Sources that don't stay as they are while they are read.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use garland_testkit::{Running, Scratch, Wire, random_bytes};

use crate::copy::{await_middle, garland_in, locals, source, verdict, visible_in};

const LENGTH: u64 = 40 << 20;

/// A copy whose source is changed by `change` in its middle.
#[track_caller]
fn fails_when_changed(name: &str, change: impl FnOnce(&Path)) {
    let scratch = Scratch::new(name);
    let from = source(&scratch, LENGTH);
    let garland = garland_in(&scratch).over(Wire::slow(200));
    let copy = garland.start_cp(&["--json", "source.bin", "local[1-2]:/x"]);
    await_middle(&scratch, "local2", &from, 0);
    change(&from);
    let result = copy.end().with_code(3).json();
    for node in locals(2) {
        let (verdict, reason) = verdict(&result, &node);
        assert_eq!(verdict, "failed", "{reason}");
        assert!(reason.contains("changed while it was copied"), "{reason}");
        assert_eq!(visible_in(&scratch, &node, ""), Vec::<String>::new());
    }
    scratch.assert_nobody_left();
}

#[test]
fn a_closed_standard_input_is_no_empty_one() {
    let scratch = Scratch::new("closed-input");
    let root = scratch.root("local1");
    std::fs::create_dir_all(&root).expect("it can be made");
    std::fs::write(root.join("keep"), "old").expect("it can be written");
    let run = |line: &str, words: &[&str]| {
        Running::start(garland_in(&scratch).by_shell(line, words)).end()
    };
    let closed = "exec \"$0\" \"$@\" <&-";
    let copy = |more: &[&'static str]| [&["cp", "--local-root", "roots"], more].concat();
    let said = run(closed, &copy(&["-", "local1:/keep"])).with_code(3);
    assert!(said.err.contains("standard input is closed"), "{}", said.err);
    let said = run(closed, &copy(&["/dev/stdin", "local1:/keep"]));
    assert_ne!(said.code, 0, "{}{}", said.out, said.err);
    let said =
        run(closed, &copy(&["-r", "--files-from", "-", "roots", "local1:/keep"])).with_code(3);
    assert!(said.err.contains("standard input is closed"), "{}", said.err);
    let said = run(closed, &["farm", "run", "-", "local1"]).with_code(3);
    assert!(said.err.contains("standard input is closed"), "{}", said.err);
    let data_lost = "exec \"$0\" \"$@\" >&-";
    std::fs::write(scratch.path("source"), "new").expect("it can be written");
    let said = run(data_lost, &copy(&["source", "local1:-"])).with_code(3);
    assert!(said.err.contains("standard output is closed"), "{}", said.err);
    let said = run(data_lost, &copy(&["local1:/keep", "-"])).with_code(3);
    assert!(said.err.contains("standard output is closed"), "{}", said.err);
    assert_eq!(std::fs::read(root.join("keep")).expect("the file exists"), b"old");
    // What a command says may go nowhere; an empty input is one.
    let nowhere = "exec \"$0\" \"$@\" <&- >&- 2>&-";
    let _ = run(nowhere, &copy(&["source", "local1:/keep"])).with_code(0);
    assert_eq!(std::fs::read(root.join("keep")).expect("the file exists"), b"new");
    let _ = run("exec \"$0\" \"$@\" </dev/null", &copy(&["-", "local1:/keep"])).with_code(0);
    assert_eq!(std::fs::read(root.join("keep")).expect("the file exists"), b"");
    scratch.assert_nobody_left();
}

#[test]
fn one_that_grows() {
    fails_when_changed("grows", |from| {
        let mut file = OpenOptions::new().append(true).open(from).expect("the file exists");
        file.write_all(b"more").expect("it can grow");
    });
}

#[test]
fn one_that_shrinks() {
    fails_when_changed("shrinks", |from| {
        let file = OpenOptions::new().write(true).open(from).expect("the file exists");
        file.set_len(LENGTH / 2).expect("it can shrink");
    });
}

#[test]
fn one_that_changes_and_hides_it_by_its_old_time() {
    fails_when_changed("changes", |from| {
        let before = File::open(from).expect("the file exists");
        let time = before.metadata().and_then(|stat| stat.modified()).expect("it has a time");
        let file = OpenOptions::new().write(true).open(from).expect("the file exists");
        file.write_all_at(b"other bytes", 5).expect("it can change");
        file.set_modified(time).expect("it is ours");
    });
}

/// The nodes have the old file, so the source is read, to compare it, before anything is sent.
#[test]
fn one_that_changes_where_nodes_have_it_already() {
    let scratch = Scratch::new("compared");
    let from = source(&scratch, LENGTH);
    let _ = garland_in(&scratch).cp(&["source.bin", "local[1-2]:/x"]).with_code(0);
    let old = std::fs::read(&from).expect("the file exists");
    let file = OpenOptions::new().write(true).open(&from).expect("the file exists");
    file.write_all_at(&random_bytes(30 << 20, 5), 0).expect("it can change");
    let slow = garland_in(&scratch).over(Wire::slow(60));
    let copy = slow.start_cp(&["--json", "source.bin", "local[1-2]:/x"]);
    await_middle(&scratch, "local2", &from, 0);
    file.write_all_at(b"other bytes", LENGTH - 11).expect("it can change");
    let result = copy.end().with_code(3).json();
    for node in locals(2) {
        let (verdict, reason) = verdict(&result, &node);
        assert_eq!(verdict, "failed", "{reason}");
        assert!(reason.contains("changed while it was copied"), "{reason}");
        let left = std::fs::read(scratch.root(&node).join("x")).expect("the file exists");
        assert!(left == old, "{node} has something else");
    }
    let _ = garland_in(&scratch).cp(&["source.bin", "local[1-2]:/x"]).with_code(0);
    crate::copy::assert_copied(&scratch, locals(2), "x", &from);
    scratch.assert_nobody_left();
}

#[test]
fn one_whose_mode_time_and_links_change_is_copied() {
    let scratch = Scratch::new("touched");
    let from = source(&scratch, LENGTH);
    let garland = garland_in(&scratch).over(Wire::slow(200));
    let copy = garland.start_cp(&["source.bin", "local[1-2]:/x"]);
    await_middle(&scratch, "local2", &from, 0);
    std::fs::set_permissions(&from, PermissionsExt::from_mode(0o600)).expect("it is ours");
    let file = File::open(&from).expect("the file exists");
    file.set_modified(std::time::UNIX_EPOCH).expect("it is ours");
    std::fs::hard_link(&from, scratch.path("name")).expect("it can be made");
    let _ = copy.end().with_code(0);
    crate::copy::assert_copied(&scratch, locals(2), "x", &from);
    scratch.assert_nobody_left();
}

#[test]
fn one_that_is_replaced_by_another_file_is_copied_as_it_was() {
    let scratch = Scratch::new("replaced");
    let from = source(&scratch, LENGTH);
    let kept = scratch.path("kept");
    std::fs::copy(&from, &kept).expect("there is room");
    let garland = garland_in(&scratch).over(Wire::slow(200));
    let copy = garland.start_cp(&["source.bin", "local[1-2]:/x"]);
    await_middle(&scratch, "local2", &from, 0);
    std::fs::write(scratch.path("new"), b"new").expect("there is room");
    let moved = Command::new("mv").arg(scratch.path("new")).arg(&from).status();
    assert!(moved.expect("mv is there").success());
    let said = copy.end();
    if said.code == 0 {
        crate::copy::assert_copied(&scratch, locals(2), "x", &kept);
    } else {
        // The rename changes the old file's link count and so its ctime.
        assert!(said.out.contains("changed while it was copied"), "{}", said.out);
        assert_eq!(said.code, 3);
        assert_eq!(visible_in(&scratch, "local1", ""), Vec::<String>::new());
    }
    scratch.assert_nobody_left();
}
