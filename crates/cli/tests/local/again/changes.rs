//! Copies where some of it is there already.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};

use garland_testkit::{Scratch, random_bytes, random_file};

use crate::again::{
    BLOCK, LENGTH, assert_same, at, bytes_sent, change, change_secretly, garland_in, source,
};

const NODES: [&str; 3] = ["local1", "local2", "local3"];
const WORDS: [&str; 3] = ["--json", "source.bin", "local[1-3]:/x"];

#[test]
fn a_changed_source_sends_its_changed_blocks() {
    let scratch = Scratch::new("again-changed");
    let from = source(&scratch, LENGTH);
    let garland = garland_in(&scratch);
    let _ = garland.cp(&WORDS).with_code(0);
    change(&from, 5 * BLOCK + 7);
    change(&from, 90 * BLOCK);
    let result = garland.cp(&WORDS).with_code(0).json();
    assert_eq!(NODES.map(|node| bytes_sent(&result, node)), [2 * BLOCK; 3]);
    assert_same(&scratch, &NODES);
    let mut file = OpenOptions::new().append(true).open(&from).unwrap();
    file.write_all(&random_bytes(1000, 1)).unwrap();
    let result = garland.cp(&WORDS).with_code(0).json();
    assert_eq!(NODES.map(|node| bytes_sent(&result, node)), [1000; 3], "appended");
    assert_same(&scratch, &NODES);
    File::options().write(true).open(&from).unwrap().set_len(LENGTH - BLOCK - 10).unwrap();
    let result = garland.cp(&WORDS).with_code(0).json();
    assert_eq!(NODES.map(|node| bytes_sent(&result, node)), [BLOCK - 10; 3], "cut off");
    assert_same(&scratch, &NODES);
    scratch.assert_nothing_left();
}

#[test]
fn a_change_that_was_hidden_is_found_at_either_end() {
    let scratch = Scratch::new("again-hidden");
    let from = source(&scratch, LENGTH);
    let garland = garland_in(&scratch);
    let _ = garland.cp(&WORDS).with_code(0);
    change_secretly(&at(&scratch, "local2"), LENGTH / 2);
    let result = garland.cp(&WORDS).with_code(0).json();
    assert_eq!(NODES.map(|node| bytes_sent(&result, node)), [0, BLOCK, 0]);
    assert_same(&scratch, &NODES);
    change_secretly(&from, LENGTH / 3);
    let result = garland.cp(&WORDS).with_code(0).json();
    assert_eq!(NODES.map(|node| bytes_sent(&result, node)), [BLOCK; 3]);
    assert_same(&scratch, &NODES);
    scratch.assert_nothing_left();
}

#[test]
fn nodes_that_have_different_parts_each_get_what_they_lack() {
    let scratch = Scratch::new("again-different");
    let _ = source(&scratch, LENGTH);
    let garland = garland_in(&scratch);
    let words = ["--json", "source.bin", "local[1-6]:/x"];
    let _ = garland.cp(&words).with_code(0);
    // One has nothing, one all, one half, one other bytes, one more than all, one something else.
    std::fs::remove_file(at(&scratch, "local1")).unwrap();
    let half = File::options().write(true).open(at(&scratch, "local3")).unwrap();
    half.set_len(LENGTH / 2).unwrap();
    change(&at(&scratch, "local4"), 17 * BLOCK);
    let mut more = OpenOptions::new().append(true).open(at(&scratch, "local5")).unwrap();
    more.write_all(b"more").unwrap();
    random_file(&at(&scratch, "local6"), LENGTH, 999);
    let nodes = ["local1", "local2", "local3", "local4", "local5", "local6"];
    for more in [&[][..], &["--rails", "3"], &["--no-encrypt"]] {
        let result = garland.cp(&[more, &words[..]].concat()).with_code(0).json();
        let wanted = [LENGTH, 0, LENGTH / 2, BLOCK, 0, LENGTH];
        assert_eq!(nodes.map(|node| bytes_sent(&result, node)), wanted, "{more:?}");
        assert_same(&scratch, &nodes);
        // And the same again.
        std::fs::remove_file(at(&scratch, "local1")).unwrap();
        File::options()
            .write(true)
            .open(at(&scratch, "local3"))
            .unwrap()
            .set_len(LENGTH / 2)
            .unwrap();
        change(&at(&scratch, "local4"), 17 * BLOCK);
        random_file(&at(&scratch, "local6"), LENGTH, 999);
    }
    scratch.assert_nothing_left();
}

#[test]
fn a_shifted_file_is_sent_whole_and_right() {
    let scratch = Scratch::new("again-shifted");
    let from = source(&scratch, LENGTH);
    let garland = garland_in(&scratch);
    let _ = garland.cp(&WORDS).with_code(0);
    let bytes = std::fs::read(&from).unwrap();
    let mut file = File::options().write(true).open(&from).unwrap();
    file.write_all(b"!").unwrap();
    file.seek(SeekFrom::Start(1)).unwrap();
    file.write_all(&bytes).unwrap();
    let said = garland.cp(&WORDS[1..]).with_code(0).out;
    assert!(!said.contains("already"), "{said}");
    assert_same(&scratch, &NODES);
    scratch.assert_nothing_left();
}
