//! Trees of which nodes have something already: they are sent what they lack, and keep the files
//! that they have.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

use garland_testkit::{Scratch, Wire, random_bytes, random_file};
use serde_json::Value;

use crate::trees::compare::assert_equal;
use crate::trees::{await_partial, garland_in, locals, oddities, paths, verdict, write};

const WORDS: [&str; 4] = ["--json", "-r", "t", "local[1-3]:/x"];

/// A copy whose files are compared by their contents.
const BY_CONTENTS: [&str; 5] = ["--json", "-r", "--checksum", "t", "local[1-3]:/x"];

/// A tree of some large files and many small ones.
fn tree(scratch: &Scratch) {
    for number in 0..300 {
        let bytes = random_bytes(number * 37 % 3000, number as u64);
        write(scratch, &format!("t/small/{}/{number}", number % 7), bytes);
    }
    fs::create_dir_all(scratch.path("t/large/empty")).unwrap();
    for number in 0..4 {
        random_file(&scratch.path(format!("t/large/{number}")), 3_000_000, number);
    }
    std::os::unix::fs::symlink("large", scratch.path("t/link")).unwrap();
}

/// Bytes that a node was sent.
#[track_caller]
fn sent(result: &Value, node: &str) -> u64 {
    let nodes = result["nodes"].as_array().expect("a result has nodes");
    let node = nodes.iter().find(|it| it["name"] == node).unwrap_or_else(|| panic!("{result}"));
    assert_eq!(node["verdict"], "ok", "{result}");
    node["bytes"].as_u64().unwrap() - node["already"].as_u64().unwrap()
}

/// The inode and change time of every file below `folder`, by path; a rewritten file has others.
fn inodes(folder: &Path) -> BTreeMap<String, (u64, i64, i64)> {
    let files = paths(folder).into_iter().filter(|path| !path.ends_with('/'));
    let plain = files.filter(|path| !folder.join(path).is_symlink());
    // A name that is no text isn't found by what is shown of it.
    plain
        .filter_map(|path| {
            let stat = fs::metadata(folder.join(&path)).ok()?;
            Some((path, (stat.ino(), stat.ctime(), stat.ctime_nsec())))
        })
        .collect()
}

/// Changes a byte of a file, and gives it its time back.
fn change_secretly(path: &Path, offset: u64) {
    let before = fs::metadata(path).unwrap().modified().unwrap();
    let file = File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[!byte[0]], offset).unwrap();
    file.set_modified(before).unwrap();
}

#[track_caller]
fn assert_all_equal(scratch: &Scratch) {
    locals(3).for_each(|node| assert_equal(&scratch.path("t"), &scratch.root(&node).join("x/t")));
}

#[test]
fn a_second_copy_sends_nothing_and_touches_no_file() {
    let scratch = Scratch::new("tree-again");
    tree(&scratch);
    let garland = garland_in(&scratch);
    let first = garland.cp(&WORDS).with_code(0).json();
    assert_eq!(first["already"], 0);
    let kept =
        |scratch: &Scratch| locals(3).map(|node| inodes(&scratch.root(&node))).collect::<Vec<_>>();
    let before = kept(&scratch);
    for (words, records) in [(&WORDS[..], 100), (&BY_CONTENTS, 0)] {
        let second = garland.cp(words).with_code(0).json();
        assert!(locals(3).all(|node| sent(&second, &node) == 0), "{second}");
        assert_eq!(second["bytes"], first["bytes"]);
        assert!(second["sent_bytes"].as_u64().unwrap() <= records, "{second}");
        assert!(kept(&scratch) == before, "files were touched");
        let said = garland.cp(&words[1..]).with_code(0).out;
        assert!(said.contains("\nnothing to send: all local[1-3] have it\n"), "{said}");
    }
    // What they have besides their bytes is brought all the same.
    let time = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 5);
    for path in ["t/small/1/1", "t/large/2"] {
        File::options().write(true).open(scratch.path(path)).unwrap().set_modified(time).unwrap();
    }
    let third = garland.cp(&WORDS).with_code(0).json();
    assert_eq!(third["sent_bytes"], 0);
    assert_all_equal(&scratch);
    let whole = [&["--whole"], &WORDS[..]].concat();
    let fourth = garland.cp(&whole).with_code(0).json();
    assert_eq!(fourth["already"], 0);
    assert!(kept(&scratch)[0]["x/t/large/0"].0 != before[0]["x/t/large/0"].0);
    assert_all_equal(&scratch);
    // What was read once proves nothing of the medium.
    let verified = garland.cp(&[&["--verify"], &WORDS[..]].concat()).with_code(0).json();
    assert_eq!(verified["sent_bytes"], 0);
    assert_all_equal(&scratch);
    scratch.assert_nothing_left();
}

#[test]
fn what_changed_at_either_end_is_sent_and_nothing_else() {
    let scratch = Scratch::new("tree-again-changed");
    tree(&scratch);
    let garland = garland_in(&scratch);
    let _ = garland.cp(&WORDS).with_code(0);
    let at = |node: &str, path: &str| scratch.root(node).join("x/t").join(path);
    let before = inodes(&scratch.root("local2"));
    change_secretly(&at("local2", "large/1"), 1_500_000);
    let result = garland.cp(&BY_CONTENTS).with_code(0).json();
    assert_eq!(["local1", "local3"].map(|node| sent(&result, node)), [0, 0]);
    let late = sent(&result, "local2");
    assert!(0 < late && late < 2 << 20, "{late} bytes");
    assert_all_equal(&scratch);
    let after = inodes(&scratch.root("local2"));
    let others = ["x/t/large/0", "x/t/large/3", "x/t/small/0/7"];
    assert!(others.iter().all(|path| before[*path] == after[*path]), "others were touched");
    change_secretly(&scratch.path("t/large/3"), 17);
    // Whatever else may happen to a tree.
    write(&scratch, "t/a new one", random_bytes(100_000, 5));
    fs::rename(scratch.path("t/large/0"), scratch.path("t/large/moved")).unwrap();
    fs::remove_file(scratch.path("t/small/3/3")).unwrap();
    File::options().write(true).open(scratch.path("t/large/2")).unwrap().set_len(77).unwrap();
    for node in locals(3) {
        for path in ["large/0", "small/3/3"] {
            fs::remove_file(at(&node, path)).unwrap();
        }
        fs::remove_file(at(&node, "link")).unwrap();
    }
    // On one node a name of another file, and of that a time that isn't the source's.
    fs::remove_file(at("local1", "large/1")).unwrap();
    fs::hard_link(at("local1", "large/3"), at("local1", "large/1")).unwrap();
    let result = garland.cp(&BY_CONTENTS).with_code(0).json();
    for node in ["local2", "local3"] {
        let late = sent(&result, node);
        assert!(3_000_000 < late && late < 7 << 20, "{node}: {late} bytes");
    }
    assert_all_equal(&scratch);
    scratch.assert_nothing_left();
}

#[test]
fn the_smallest_tree_is_not_sent_twice_either() {
    let scratch = Scratch::new("tree-again-smallest");
    write(&scratch, "t/a", "1");
    let garland = garland_in(&scratch);
    let _ = garland.cp(&WORDS).with_code(0);
    let result = garland.cp(&WORDS).with_code(0).json();
    assert_eq!(result["tree"]["unchanged"], 2, "{result}");
    assert!(locals(3).all(|node| sent(&result, &node) == 0), "{result}");
    scratch.assert_nothing_left();
}

#[test]
fn a_file_of_the_same_size_and_time_is_not_read_unless_that_is_asked_for() {
    let scratch = Scratch::new("tree-again-status");
    tree(&scratch);
    let garland = garland_in(&scratch);
    let _ = garland.cp(&WORDS).with_code(0);
    let at = |node: &str| scratch.root(node).join("x/t");
    let kept = |node: &str| inodes(&at(node));
    change_secretly(&at("local2").join("large/1"), 1_500_000);
    write(&scratch, "t/small/2/2", "the only file that differs");
    fs::set_permissions(scratch.path("t/small/5"), fs::Permissions::from_mode(0o711)).unwrap();
    std::os::unix::fs::symlink("small", scratch.path("t/another")).unwrap();
    let before = kept("local2");
    let changed = fs::read(at("local2").join("large/1")).unwrap();
    let result = garland.cp(&WORDS).with_code(0).json();
    // Of 316 entries the file, the directory with another mode, and `t` with its time differ.
    assert_eq!(result["tree"]["unchanged"], 316 - 3, "{result}");
    for node in locals(3) {
        assert!((1..5_000).contains(&sent(&result, &node)), "{result}");
    }
    let after = kept("local2");
    let touched: Vec<_> = after.iter().filter(|(path, own)| before[*path] != **own).collect();
    assert_eq!(touched.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), ["small/2/2"]);
    assert_eq!(fs::read(at("local2").join("large/1")).unwrap(), changed);
    assert_equal(&scratch.path("t"), &at("local1"));
    let said = garland.cp(&WORDS[1..]).with_code(0).out;
    assert!(said.contains("; 317 unchanged by size and time\n"), "{said}");
    // A node that has none of it gets all, and the others are neither sent nor read anything; one
    // that has another file feeds nobody with it.
    fs::remove_dir_all(at("local3")).unwrap();
    let before = kept("local2");
    let result = garland.cp(&WORDS).with_code(0).json();
    assert_eq!(result["tree"]["unchanged"], 0);
    assert_eq!(sent(&result, "local1"), 0, "{result}");
    assert!(sent(&result, "local2") < 2 << 20, "what it cannot pass on: {result}");
    assert_eq!(sent(&result, "local3"), result["bytes"].as_u64().unwrap());
    assert!(kept("local2") == before, "files were touched");
    ["local1", "local3"].iter().for_each(|node| assert_equal(&scratch.path("t"), &at(node)));
    let _ = garland.cp(&BY_CONTENTS).with_code(0);
    assert_all_equal(&scratch);
    // Files of which any property differs are not taken for unchanged.
    let changes: [fn(&Path); 6] = [
        |path: &Path| fs::write(path, b"longer than it was, or shorter").unwrap(),
        |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap(),
        |path: &Path| {
            let file = File::options().write(true).open(path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        },
        |path: &Path| fs::remove_file(path).unwrap(),
        |path: &Path| {
            fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink("3", path).unwrap();
        },
        |path: &Path| fs::hard_link(path, path.with_extension("another name")).unwrap(),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let node = format!("local{}", number % 3 + 1);
        change(&at(&node).join("small/4/18"));
        let result = garland.cp(&[&["--delete"], &WORDS[..]].concat()).with_code(0).json();
        assert!(result["tree"]["unchanged"].as_u64().unwrap() >= 310, "{number}: {result}");
        assert_all_equal(&scratch);
    }
    scratch.assert_nothing_left();
}

#[test]
fn nodes_that_have_different_parts_each_get_what_they_lack() {
    let scratch = Scratch::new("tree-again-parts");
    tree(&scratch);
    let garland = garland_in(&scratch);
    let words = ["--json", "-r", "--checksum", "t", "local[1-5]:/x"];
    let length = garland.cp(&words).with_code(0).json()["bytes"].as_u64().unwrap();
    for more in [&[][..], &["--block-size", "16KiB"], &["--no-encrypt"]] {
        let at = |node: &str| scratch.root(node).join("x/t");
        fs::remove_dir_all(at("local1")).unwrap();
        fs::remove_dir_all(at("local3").join("large")).unwrap();
        change_secretly(&at("local4").join("large/2"), 5);
        fs::remove_dir_all(scratch.root("local5").join("x")).unwrap();
        let result = garland.cp(&[more, &words[..]].concat()).with_code(0).json();
        let got = |node: &str| sent(&result, node);
        assert_eq!([got("local1"), got("local2"), got("local5")], [length, 0, length], "{more:?}");
        assert!(11_900_000 <= got("local3") && got("local3") < length, "{more:?}: {result}");
        assert!((1..2 << 20).contains(&got("local4")), "{more:?}: {result}");
        locals(5).for_each(|node| assert_equal(&scratch.path("t"), &at(&node)));
    }
    scratch.assert_nothing_left();
}

#[test]
fn an_interrupted_copy_keeps_the_files_that_have_come() {
    let scratch = Scratch::new("tree-again-killed");
    for number in 0..24 {
        random_file(&scratch.path(format!("t{number}")), 2 << 20, number);
        fs::create_dir_all(scratch.path("t")).unwrap();
        let into = scratch.path(format!("t/{number:02}"));
        fs::rename(scratch.path(format!("t{number}")), into).unwrap();
    }
    let folder = scratch.root("local3").join("x/t");
    let there = |name: &str| folder.join(name).exists();
    let slow = garland_in(&scratch).over(Wire::slow(400));
    for agent in [false, true] {
        let copy = slow.start_cp(&WORDS);
        garland_testkit::until("the tenth file", || there("09"));
        await_partial(&folder);
        if agent {
            slow.agent("local2").kill();
            let _ = copy.end().with_code(1);
        } else {
            copy.process().kill();
            let _ = copy.end().with_code(128 + 9);
            scratch.assert_nobody_left();
        }
        let before = inodes(&folder);
        let result = garland_in(&scratch).cp(&WORDS).with_code(0).json();
        let late = sent(&result, "local3");
        assert!(late <= 15 * (2 << 20), "{late} bytes: {result}");
        assert!(inodes(&folder)["05"] == before["05"], "it was written again");
        assert_all_equal(&scratch);
        locals(3).for_each(|node| fs::remove_dir_all(scratch.root(&node).join("x")).unwrap());
    }
    scratch.assert_nothing_left();
}

#[test]
fn every_oddity_is_kept_too() {
    let scratch = Scratch::new("tree-again-odd");
    let odd = scratch.path("t");
    oddities::make(&odd);
    let garland = garland_in(&scratch);
    let words = [&["--xattrs"], &WORDS[..]].concat();
    let by_contents = [&["--xattrs"], &BY_CONTENTS[..]].concat();
    let _ = garland.cp(&words).with_code(0);
    let before = inodes(&scratch.root("local2"));
    for words in [&words, &by_contents] {
        let result = garland.cp(words).with_code(0).json();
        assert!(result["sent_bytes"].as_u64().unwrap() < 100, "{result}");
        assert_all_equal(&scratch);
        let after = inodes(&scratch.root("local2"));
        let same = before.iter().filter(|(path, stat)| after[*path].0 == stat.0).count();
        assert_eq!(same, before.len(), "all are the same files");
        assert_eq!(verdict(&result, "local2"), ("ok", ""));
    }
    scratch.assert_nothing_left();
}

#[test]
fn whatever_became_of_both_sides_they_are_equal_in_the_end() {
    let scratch = Scratch::new("tree-again-random");
    let garland = garland_in(&scratch);
    let mut state = 88_172_645_463_325_252_u64;
    let mut dice = move |most: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % most
    };
    let name = |number: u64| format!("{}/{}", number % 4, number % 23);
    for round in 0..8_u64 {
        for _ in 0..25 {
            let side = match dice(5) {
                0..3 => scratch.path("t"),
                number => scratch.root(&format!("local{}", number - 2)).join("x/t"),
            };
            let one = side.join(name(dice(92)));
            let other = side.join(name(dice(92)));
            fs::create_dir_all(one.parent().unwrap()).unwrap();
            fs::create_dir_all(other.parent().unwrap()).unwrap();
            let bytes = random_bytes(dice(60_000) as usize, round);
            // What can't be done isn't.
            let _ = match dice(7) {
                0 | 1 => fs::write(&one, bytes),
                2 => fs::remove_file(&one),
                3 => fs::rename(&one, &other),
                4 => fs::remove_file(&other).and_then(|()| fs::hard_link(&one, &other)),
                5 => fs::remove_file(&one).and_then(|()| std::os::unix::fs::symlink("../1", &one)),
                _ => fs::copy(&one, &other).map(drop),
            };
        }
        let rails = if round % 2 == 0 { "1" } else { "2" };
        let more = ["--delete", "--block-size", "4KiB", "--rails", rails];
        let words = if round % 3 == 2 { &BY_CONTENTS[..] } else { &WORDS };
        let result = garland.cp(&[&more, words].concat()).with_code(0).json();
        let compared = round > 0;
        assert_eq!(result["already"].as_u64().unwrap() > 0, compared, "{result}");
        assert_all_equal(&scratch);
    }
    scratch.assert_nothing_left();
}
