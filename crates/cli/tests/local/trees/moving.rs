//! Sources that change while they are copied.

use std::fs;

use garland_testkit::{Scratch, Wire, random_file};

use crate::trees::compare::assert_equal;
use crate::trees::{await_partial, garland_in, left_out, locals, paths, verdict, write};

#[test]
fn a_file_that_changes_or_vanishes_fails_alone_and_is_named() {
    let scratch = Scratch::new("tree-moving");
    // What comes behind it isn't read yet when its beginning has arrived.
    write(&scratch, "t/0-large", b"");
    random_file(&scratch.path("t/0-large"), 80 << 20, 1);
    for path in ["t/grows", "t/other", "t/rest", "t/shrinks", "t/vanishes"] {
        write(&scratch, path, path.repeat(10));
    }
    fs::hard_link(scratch.path("t/shrinks"), scratch.path("t/z-name")).expect("it can be made");
    write(&scratch, "roots/local2/t/shrinks", b"the old one");
    let garland = garland_in(&scratch).over(Wire::slow(400));
    // Without `--whole` the tree would have been compared, and read, before: local2 has something
    // of it.
    let copy = garland.start_cp(&["--json", "--whole", "-r", "t", "local[1-2]:/"]);
    await_partial(&scratch.root("local2").join("t"));
    write(&scratch, "t/grows", b"longer".repeat(100));
    write(&scratch, "t/shrinks", b"short");
    fs::remove_file(scratch.path("t/vanishes")).expect("it was there");
    // Another file: one that is removed first could leave its inode number to it.
    write(&scratch, "new", b"t/other".repeat(10));
    fs::rename(scratch.path("new"), scratch.path("t/other")).expect("it is replaced");
    let result = copy.end().with_code(1).json();
    let wanted = [
        "t/grows: it changed while it was copied",
        "t/other: it changed while it was copied",
        "t/shrinks: it changed while it was copied",
        "t/vanishes: cannot read it: no such file or directory",
        "t/z-name: it is a hard link to a file that could not be copied",
    ];
    assert_eq!(left_out(&result), wanted);
    assert_eq!(result["tree"]["missed"], 5);
    for node in locals(2) {
        assert_eq!(verdict(&result, &node), ("ok", ""));
    }
    assert_eq!(paths(&scratch.root("local1")), ["t/", "t/0-large", "t/rest"]);
    let old = scratch.root("local2").join("t/shrinks");
    assert_eq!(fs::read(old).expect("the file exists"), b"the old one");
    scratch.assert_nothing_left();
}

#[test]
fn what_changes_between_comparing_and_sending_is_left_out_and_the_rest_arrives() {
    let scratch = Scratch::new("tree-moving-again");
    write(&scratch, "t/0-large", b"");
    random_file(&scratch.path("t/0-large"), 40 << 20, 1);
    write(&scratch, "t/grows", b"as long as this");
    fs::hard_link(scratch.path("t/grows"), scratch.path("t/name")).expect("it can be made");
    for path in ["t/rest", "t/still"] {
        write(&scratch, path, b"");
        random_file(&scratch.path(path), 2 << 20, 2);
    }
    // The node has something of the tree, so it is compared before it is sent.
    write(&scratch, "roots/local2/t/rest", b"other");
    write(&scratch, "roots/local2/t/grows", b"the old one");
    write(&scratch, "roots/local2/t/gone", b"removed");
    let garland = garland_in(&scratch).over(Wire::slow(400));
    let copy = garland.start_cp(&["--json", "-r", "--delete", "t", "local[1-2]:/"]);
    await_partial(&scratch.root("local2").join("t"));
    write(&scratch, "t/grows", b"longer".repeat(100));
    random_file(&scratch.path("t/rest"), 2 << 20, 3);
    let result = copy.end().with_code(1).json();
    let wanted = [
        "t/grows: it changed while it was copied",
        "t/name: it is a hard link to a file that could not be copied",
        "t/rest: it changed while it was copied",
    ];
    assert_eq!(left_out(&result), wanted);
    for node in locals(2) {
        assert_eq!(verdict(&result, &node), ("ok", ""));
        for path in ["t/0-large", "t/still"] {
            let same =
                fs::read(scratch.path(path)).ok() == fs::read(scratch.root(&node).join(path)).ok();
            assert!(same, "{path} on {node}");
        }
    }
    let old = |path: &str| fs::read(scratch.root("local2").join(path)).ok();
    assert_eq!(old("t/grows").as_deref(), Some(&b"the old one"[..]));
    assert_eq!((old("t/rest").as_deref(), old("t/gone")), (Some(&b"other"[..]), None));
    let words = ["-r", "--delete", "t", "local[1-2]:/"];
    let _ = garland_in(&scratch).cp(&words).with_code(0);
    locals(2).for_each(|node| assert_equal(&scratch.path("t"), &scratch.root(&node).join("t")));
    scratch.assert_nothing_left();
}

#[test]
fn files_that_do_not_tell_their_length_are_named() {
    let scratch = Scratch::new("tree-proc");
    let words = ["--json", "-r", "/proc/sys/kernel/random", "local1:/"];
    let result = garland_in(&scratch).cp(&words).with_code(1).json();
    let left = left_out(&result);
    let wanted = "/proc/sys/kernel/random/uuid: it has content although its length is 0, like files \
                  in /proc";
    assert!(left.contains(&wanted.to_owned()), "{left:?}");
    assert!(!paths(&scratch.root("local1")).contains(&"random/uuid".to_owned()));
}
