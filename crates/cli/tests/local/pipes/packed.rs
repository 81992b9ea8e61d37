//! Compressed blocks: fewer bytes on the wire, the same bytes on every node.

use garland_testkit::{Scratch, Wire, random_bytes, verdict};
use serde_json::Value;

use crate::pipes::{assert_copied, await_bytes, garland_in, locals, source};

/// A text of about `length` bytes that says much again, and never quite the same.
fn text(length: usize) -> Vec<u8> {
    let words = ["node", "block", "lane", "holds", "sends", "the", "a", "wire", "slow", "whole"];
    let noise = random_bytes(length / 4, 9);
    let line = |(at, byte): (usize, &u8)| {
        let word = words[usize::from(*byte) % words.len()];
        if at % 9 == 8 { format!("{word} {}\n", byte) } else { format!("{word} ") }
    };
    let mut text: Vec<u8> = noise.iter().enumerate().flat_map(|n| line(n).into_bytes()).collect();
    text.truncate(length);
    text
}

fn sent(result: &Value) -> u64 {
    result["sent_bytes"].as_u64().expect("it is a number")
}

#[test]
fn text_gets_smaller_by_either_way_and_comes_out_the_same() {
    let scratch = Scratch::new("packed");
    let path = scratch.path("text");
    std::fs::write(&path, text(12_345_678)).expect("there is room");
    let garland = garland_in(&scratch);
    for (how, more) in [
        ("lz4", &[][..]),
        ("zstd", &[]),
        ("zstd", &["--no-encrypt", "--rails", "3"]),
        ("lz4", &["--block-size", "4MiB"]),
    ] {
        let to = ["--json", "--whole", "--compress", how, "text", "local[1-3]:/x"];
        let result = garland.cp(&[more, &to].concat()).with_code(0).json();
        assert!(sent(&result) < 8_000_000, "{how}: {}", sent(&result));
        assert_eq!(result["bytes"], 12_345_678);
        assert_copied(&scratch, locals(3), "x", &path);
    }
    let said = garland.cp(&["--whole", "--compress", "zstd", "text", "local1:/x"]).with_code(0);
    assert!(said.out.contains("\nsent    "), "{}", said.out);
    // A copy that failed has saved nothing.
    let fails = ["--compress", "zstd", "text", "local1:|cat > z; exit 3"];
    let said = garland.cp(&fails).with_code(3);
    assert!(!said.out.contains("\nsent    "), "{}", said.out);
    let _ = garland.cp(&["--compress", "zstd", "|cat text", "local[1-2]:|cat > y"]).with_code(0);
    assert_copied(&scratch, locals(2), "y", &path);
    scratch.assert_nothing_left();
}

/// A tree is sampled in other blocks than those in which it is sent.
#[test]
fn a_large_tree_gets_smaller_too_and_comes_out_the_same() {
    let scratch = Scratch::new("packed-tree");
    let folder = scratch.path("tree");
    std::fs::create_dir(&folder).expect("it can be made");
    let long = text(17 << 20);
    std::fs::write(folder.join("long"), &long).expect("there is room");
    std::fs::write(folder.join("noise"), random_bytes(3 << 20, 4)).expect("there is room");
    let garland = garland_in(&scratch);
    for how in ["lz4", "zstd"] {
        let arguments = ["--json", "--whole", "--compress", how, "-r", "tree", "local[1-2]:/"];
        let result = garland.cp(&arguments).with_code(0).json();
        assert!(sent(&result) < 15_000_000, "{how}: {}", sent(&result));
        for node in locals(2) {
            for name in ["long", "noise"] {
                let [from, to] = [folder.clone(), scratch.root(&node).join("tree")]
                    .map(|folder| std::fs::read(folder.join(name)).expect("the file exists"));
                assert!(from == to, "{how}: {name} of {node}");
            }
        }
    }
    scratch.assert_nothing_left();
}

#[test]
fn noise_is_sent_as_it_is() {
    let scratch = Scratch::new("packed-noise");
    let from = source(&scratch, 9_000_000);
    let garland = garland_in(&scratch);
    for how in ["lz4", "zstd", "auto", "none"] {
        let arguments = ["--json", "--whole", "--compress", how, "source.bin", "local[1-2]:/x"];
        let result = garland.cp(&arguments).with_code(0).json();
        assert!((9_000_000..9_010_000).contains(&sent(&result)), "{how}: {}", sent(&result));
        assert_copied(&scratch, locals(2), "x", &from);
    }
    scratch.assert_nothing_left();
}

#[test]
fn auto_packs_where_the_wire_is_slow() {
    let scratch = Scratch::new("packed-auto");
    let path = scratch.path("text");
    std::fs::write(&path, text(30 << 20)).expect("there is room");
    let garland = garland_in(&scratch).over(Wire::slow(50));
    // To one node: on a busy machine the head may feed a second one, too, and send twice as much.
    let sent_by = |how| {
        let arguments = ["--json", "--whole", "--compress", how, "text", "local1:/x"];
        let result = garland.cp(&arguments).with_code(0).json();
        assert_copied(&scratch, locals(1), "x", &path);
        sent(&result)
    };
    // What sockets and the wire's bucket take at once, some megabytes, is not the rate of the wire.
    let auto = sent_by("auto");
    let zstd = sent_by("zstd");
    assert!(auto - zstd < 10 << 20, "{auto}, and {zstd} by Zstandard");
    scratch.assert_nothing_left();
}

#[test]
fn a_node_that_dies_costs_the_others_no_byte() {
    let scratch = Scratch::new("packed-death");
    let path = scratch.path("text");
    std::fs::write(&path, text(60 << 20)).expect("there is room");
    let garland = garland_in(&scratch).over(Wire::slow(200));
    let arguments = ["--json", "--compress", "zstd", "text", "local[1-4]:|cat > x"];
    let copy = garland.start_cp(&arguments);
    await_bytes(&scratch, "local4", "x");
    garland.agent("local2").kill();
    let result = copy.end().with_code(1).json();
    assert_eq!(verdict(&result, "local2").0, "dead");
    assert_copied(&scratch, locals(4).filter(|node| node != "local2"), "x", &path);
    scratch.assert_nobody_left();
}
