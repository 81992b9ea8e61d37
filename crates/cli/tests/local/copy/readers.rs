//! Sources that nodes see by themselves: each reads a part, and gives it to the others.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use garland_testkit::{Scratch, Wire, assert_copied, locals, random_file, source, verdict};
use serde_json::Value;

use crate::copy::{await_middle, garland_in};

/// Where the local node sees the path of this machine.
fn seen_by(scratch: &Scratch, node: &str, path: &Path) -> PathBuf {
    let below = path.strip_prefix("/").expect("it is a whole path");
    scratch.root(node).join(below)
}

/// Has these nodes see the file.
fn share(scratch: &Scratch, nodes: impl Iterator<Item = String>, path: &Path) {
    for node in nodes {
        let seen = seen_by(scratch, &node, path);
        fs::create_dir_all(seen.parent().expect("it is in a folder")).expect("it can be made");
        fs::hard_link(path, &seen).expect("it can be linked");
    }
}

fn number(result: &Value, at: &str) -> u64 {
    result.pointer(at).and_then(Value::as_u64).unwrap_or_else(|| panic!("{at}: {result:#}"))
}

#[test]
fn each_node_reads_its_part_and_nothing_is_sent_from_here() {
    let scratch = Scratch::new("shared");
    let from = source(&scratch, 20_000_003);
    share(&scratch, locals(4), &from);
    let garland = garland_in(&scratch);
    let words = ["--json", "--shared", "source.bin", "local[1-4]:/x"];
    let result = garland.cp(&words).with_code(0).json();
    assert_copied(&scratch, locals(4), "x", &from);
    assert_eq!(result["sent_bytes"], 0, "{result:#}");
    assert_eq!(result["unread"], Value::Array(Vec::new()), "{result:#}");
    let read: Vec<u64> =
        (0..4).map(|node| number(&result, &format!("/nodes/{node}/already"))).collect();
    // Whole blocks are counted, of which the last is short.
    let all = read.iter().sum::<u64>();
    assert!((20_000_003..20_000_003 + (1 << 20)).contains(&all), "each byte once: {read:?}");
    assert!(read.iter().all(|part| (4 << 20..=6 << 20).contains(part)), "{read:?}");
    // Over rails, with more nodes than parts, and what is there already is read by nobody.
    let said = garland.cp(&["--shared", "--rails", "2", "source.bin", "local[1-5]:/x"]);
    let said = said.with_code(0).out;
    assert_copied(&scratch, locals(5), "x", &from);
    let gone = "unread  local5: cannot open ";
    assert!(said.contains(gone) && said.contains("; this machine read its part\n"), "{said}");
    let said = garland.cp(&["--shared", "source.bin", "local[1-4]:/x"]).with_code(0).out;
    assert!(said.contains("nothing to send: all local[1-4] have it\n"), "{said}");
    scratch.assert_nothing_left();
}

#[test]
fn what_a_node_said_of_its_part_does_not_outlast_the_copy() {
    let scratch = Scratch::new("shared-forged");
    let from = source(&scratch, 20_000_003);
    share(&scratch, locals(3), &from);
    // The first node sees a file with another byte, of the same length and time.
    let seen = seen_by(&scratch, "local1", &from);
    fs::remove_file(&seen).expect("the node sees the file");
    let mut bytes = fs::read(&from).expect("the source");
    bytes[1000] ^= 1;
    fs::write(&seen, bytes).expect("it can be written");
    let modified = fs::metadata(&from).and_then(|it| it.modified()).expect("a time");
    File::options().write(true).open(&seen).and_then(|it| it.set_modified(modified)).expect("set");
    let garland = garland_in(&scratch);
    let _ = garland.cp(&["--quiet", "--shared", "source.bin", "local[1-3]:/x"]);
    let _ = garland.cp(&["--quiet", "source.bin", "local[1-3]:/x"]).with_code(0);
    assert_copied(&scratch, locals(3), "x", &from);
    scratch.assert_nothing_left();
}

#[test]
fn what_a_node_sees_otherwise_is_read_here_and_the_node_is_named() {
    let scratch = Scratch::new("shared-otherwise");
    let from = source(&scratch, 12_000_000);
    share(&scratch, locals(4), &from);
    let time = File::open(&from).and_then(|file| file.metadata()?.modified()).expect("a time");
    let other = |node: &str, length| {
        let seen = seen_by(&scratch, node, &from);
        fs::remove_file(&seen).expect("the file exists");
        random_file(&seen, length, 99);
        File::options().write(true).open(seen).and_then(|it| it.set_modified(time)).expect("ours");
    };
    // The same length and time, and other bytes; another length; nothing.
    other("local2", 12_000_000);
    other("local3", 11_999_999);
    fs::remove_file(seen_by(&scratch, "local4", &from)).expect("the file exists");
    let words = ["--json", "--shared", "source.bin", "local[1-4]:/x"];
    let result = garland_in(&scratch).cp(&words).with_code(0).json();
    assert_copied(&scratch, locals(4), "x", &from);
    let unread = result["unread"].as_array().expect("a list").iter();
    let unread: Vec<(&str, &str)> = unread
        .map(|it| (it["node"].as_str().expect("a name"), it["reason"].as_str().expect("words")))
        .collect();
    let path = from.display();
    let by_length = format!("{path} differs in length or modification time on this node");
    let [(two, by_bytes), (three, length), (four, gone)] = unread[..] else {
        panic!("{unread:?}");
    };
    assert_eq!([two, three, four], ["local2", "local3", "local4"]);
    assert_eq!([by_bytes, length], ["its file at this path differs from the source", &by_length]);
    assert!(gone.ends_with("no such file or directory"), "{gone}");
    assert!(number(&result, "/sent_bytes") > 8_900_000, "{result:#}");
    scratch.assert_nothing_left();
}

#[test]
fn where_nobody_sees_the_source_that_is_told_too() {
    let scratch = Scratch::new("shared-nobody");
    let from = source(&scratch, 3_000_000);
    let said =
        garland_in(&scratch).cp(&["--shared", "source.bin", "local[1-2]:/x"]).with_code(0).out;
    assert_copied(&scratch, locals(2), "x", &from);
    assert_eq!(said.matches("; this machine read its part\n").count(), 2, "{said}");
    scratch.assert_nothing_left();
}

#[test]
fn a_reader_that_dies_is_replaced_by_this_machine() {
    let scratch = Scratch::new("shared-dies");
    let from = source(&scratch, 32_000_000);
    share(&scratch, locals(4), &from);
    let garland = garland_in(&scratch).over(Wire::slow(200));
    let words = ["--json", "--shared", "--block-size", "256KiB", "source.bin", "local[1-4]:/x"];
    let copy = garland.start_cp(&words);
    // The second node's part begins there.
    await_middle(&scratch, "local1", &from, 8_126_464);
    garland.agent("local2").kill();
    let result = copy.end().with_code(1).json();
    let others = || locals(4).filter(|node| node != "local2");
    for node in others() {
        assert_eq!(verdict(&result, &node), ("ok", ""), "{node}");
    }
    assert_copied(&scratch, others(), "x", &from);
    let sent = number(&result, "/sent_bytes");
    assert!(sent > 0 && sent < 8_126_464, "what it hadn't given yet: {sent}");
}

#[test]
fn what_cannot_be_shared_is_refused() {
    let scratch = Scratch::new("shared-refused");
    let _ = source(&scratch, 10);
    let refused = |words: &[&str]| garland_in(&scratch).cp(words).with_code(2).err;
    insta::assert_snapshot!(refused(&["--shared", "-", "local1:/x"]), @r"
    error: --shared applies only to one regular file, which nodes see at the same path
    hint: omit --shared
    ");
    insta::assert_snapshot!(refused(&["--shared", "source.bin", "local1:/dev/null"]), @r"
    error: --shared applies only to copies to files
    hint: omit --shared
    ");
    scratch.assert_nothing_left();
}
