//! What is remembered of files is never believed when it can't be true.

use std::fs;
use std::path::{Path, PathBuf};

use garland_testkit::Scratch;

use crate::again::{BLOCK, LENGTH, assert_same, at, bytes_sent, change, garland_in, source};

const NODES: [&str; 3] = ["local1", "local2", "local3"];
const WORDS: [&str; 3] = ["--json", "source.bin", "local[1-3]:/x"];

/// The records that were kept.
fn records(scratch: &Scratch) -> Vec<PathBuf> {
    let hosts = fs::read_dir(scratch.state()).unwrap().flatten();
    let all = hosts.flat_map(|host| fs::read_dir(host.path().join("known")).into_iter().flatten());
    all.flatten().map(|entry| entry.path()).collect()
}

#[test]
fn records_that_are_broken_old_or_of_other_files_cost_nothing_but_time() {
    // The system's temporary directory may be in memory, where no file has a record.
    let scratch = Scratch::below(Path::new(env!("CARGO_TARGET_TMPDIR")), "again-records");
    let _ = source(&scratch, LENGTH);
    // What was changed just now could be changed once more within the same tick.
    std::thread::sleep(std::time::Duration::from_millis(50));
    let garland = garland_in(&scratch);
    let _ = garland.cp(&WORDS).with_code(0);
    assert_eq!(records(&scratch).len(), 4, "of the source and three copies");
    let whole = fs::read(&records(&scratch)[0]).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    let version = [b"GLKNOWN9", &whole[8..]].concat();
    for bytes in [&b""[..], b"GLKNOWN1", &whole[..100], &flipped, &version, &whole] {
        // One of another file, too, under each name.
        records(&scratch).iter().for_each(|path| fs::write(path, bytes).unwrap());
        change(&at(&scratch, "local3"), 3 * BLOCK);
        let result = garland.cp(&WORDS).with_code(0).json();
        assert_eq!(NODES.map(|node| bytes_sent(&result, node)), [0, 0, BLOCK]);
        assert_same(&scratch, &NODES);
    }
    scratch.assert_nothing_left();
}

#[test]
fn no_place_for_records_is_no_fault() {
    let scratch = Scratch::new("again-no-records");
    let _ = source(&scratch, LENGTH);
    let garland = garland_in(&scratch);
    let _ = garland.cp(&WORDS).with_code(0);
    for path in records(&scratch) {
        fs::remove_file(&path).unwrap();
        fs::create_dir_all(path.join("in the way")).unwrap();
    }
    for _ in 0..2 {
        let result = garland.cp(&WORDS).with_code(0).json();
        assert_eq!(NODES.map(|node| bytes_sent(&result, node)), [0; 3]);
    }
    assert_same(&scratch, &NODES);
    scratch.assert_nothing_left();
}
