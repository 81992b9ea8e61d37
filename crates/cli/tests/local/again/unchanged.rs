//! Copies of what is there already.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::{Duration, SystemTime};

use garland_testkit::Scratch;

use crate::again::{LENGTH, assert_same, at, bytes_sent, garland_in, source};

const NODES: [&str; 3] = ["local1", "local2", "local3"];

#[test]
fn a_second_copy_sends_nothing_and_touches_nothing() {
    let scratch = Scratch::new("again-same");
    let from = source(&scratch, LENGTH);
    let garland = garland_in(&scratch);
    let words = ["--json", "source.bin", "local[1-3]:/x"];
    let first = garland.cp(&words).with_code(0).json();
    assert_eq!(first["already"], 0);
    let stat = |node: &str| {
        let stat = std::fs::metadata(at(&scratch, node)).unwrap();
        (stat.ino(), stat.mtime(), stat.mtime_nsec(), stat.ctime(), stat.ctime_nsec())
    };
    let before = NODES.map(stat);
    let second = garland.cp(&words).with_code(0).json();
    assert!(NODES.iter().all(|node| bytes_sent(&second, node) == 0), "{second}");
    assert_eq!(second["already"], 3 * LENGTH);
    let names: Vec<&str> = second["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(names[..2], ["set-up", "comparison"]);
    assert_eq!(NODES.map(stat), before, "the files were touched");
    let said = garland.cp(&words[1..]).with_code(0).out;
    assert!(said.contains("\nnothing to send: all local[1-3] have it\n"), "{said}");
    assert!(!said.contains("\nrate "), "there was none: {said}");
    // What it has besides its bytes is brought all the same.
    std::fs::set_permissions(&from, Permissions::from_mode(0o750)).unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 5);
    std::fs::File::options().write(true).open(&from).unwrap().set_modified(time).unwrap();
    let third = garland.cp(&[&["-p"], &words[..]].concat()).with_code(0).json();
    for node in NODES {
        assert_eq!(bytes_sent(&third, node), 0);
        let stat = std::fs::metadata(at(&scratch, node)).unwrap();
        assert_eq!((stat.mode() & 0o7777, stat.modified().unwrap()), (0o750, time));
    }
    assert_same(&scratch, &NODES);
    scratch.assert_nothing_left();
}

#[test]
fn all_is_sent_when_asked_for() {
    let scratch = Scratch::new("again-whole");
    let _ = source(&scratch, LENGTH);
    let garland = garland_in(&scratch);
    let words = ["--json", "--whole", "source.bin", "local[1-3]:/x"];
    for _ in 0..2 {
        let result = garland.cp(&words).with_code(0).json();
        assert!(NODES.iter().all(|node| bytes_sent(&result, node) == LENGTH), "{result}");
    }
    scratch.assert_nothing_left();
}

#[test]
fn short_files_are_compared_too_and_empty_ones_are_nothing() {
    let scratch = Scratch::new("again-short");
    let garland = garland_in(&scratch);
    for length in [0, 1, 100_000] {
        let _ = source(&scratch, length);
        for again in [false, true] {
            let result = garland.cp(&["--json", "source.bin", "local[1-3]:/x"]).with_code(0).json();
            let wanted = if again { 0 } else { length };
            assert!(NODES.iter().all(|node| bytes_sent(&result, node) == wanted), "{result}");
        }
        assert_same(&scratch, &NODES);
    }
    scratch.assert_nothing_left();
}

#[test]
fn a_link_at_the_destination_is_replaced_and_not_looked_through() {
    let scratch = Scratch::new("again-link");
    let _ = source(&scratch, LENGTH);
    let garland = garland_in(&scratch);
    let words = ["--json", "source.bin", "local[1-3]:/x"];
    let _ = garland.cp(&words).with_code(0);
    std::fs::rename(at(&scratch, "local2"), scratch.root("local2").join("y")).unwrap();
    std::os::unix::fs::symlink("y", at(&scratch, "local2")).unwrap();
    let result = garland.cp(&words).with_code(0).json();
    assert_eq!(NODES.map(|node| bytes_sent(&result, node)), [0, LENGTH, 0]);
    assert!(!at(&scratch, "local2").is_symlink());
    std::fs::remove_file(scratch.root("local2").join("y")).unwrap();
    assert_same(&scratch, &NODES);
    scratch.assert_nothing_left();
}
