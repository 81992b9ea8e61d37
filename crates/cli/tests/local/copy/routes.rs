//! Lanes that branch.

use std::path::Path;

use garland_testkit::Scratch;

use crate::copy::{assert_copied, garland_in, locals, source};

#[test]
fn a_small_file_to_many_nodes_goes_by_a_tree_and_the_plan_says_why() {
    let scratch = Scratch::new("tree");
    let from = source(&scratch, 10_000);
    let garland = garland_in(&scratch);
    let dry = ["--dry-run", "source.bin", "local[1-20]:/x"];
    let said = garland.cp(&dry).with_code(0).out;
    assert!(said.contains("a chain would take 20 hops of"), "{said}");
    assert!(said.contains("head -> local1, "), "{said}");
    let chain = garland.cp(&[&["--shape", "chain"], &dry[..]].concat()).with_code(0).out;
    assert!(chain.contains("head -> local1 -> local2") && !chain.contains("tree"), "{chain}");
    let three = garland.cp(&[&["--shape", "tree:3"], &dry[..]].concat()).with_code(0).out;
    assert!(three.contains("each node feeds 3, as asked for"), "{three}");
    for bad in ["tree:0", "tree:x", "ring"] {
        let said = garland.cp(&[&["--shape", bad], &dry[..]].concat()).with_code(2).err;
        assert!(said.contains("use auto, chain, tree, tree:K"), "{said}");
    }
    let large = garland.cp(&["--dry-run", "source.bin", "local[1-2]:/x"]).with_code(0).out;
    assert!(large.contains("head -> local1 -> local2"), "{large}");
    let _ = garland.cp(&["source.bin", "local[1-20]:/x"]).with_code(0);
    assert_copied(&scratch, locals(20), "x", &from);
    scratch.assert_nothing_left();
}

#[test]
fn a_tree_carries_several_lanes_and_a_stream_and_is_explained() {
    let scratch = Scratch::new("tree-lanes");
    let from = source(&scratch, 5 << 20);
    let garland = garland_in(&scratch);
    let forms = [&["--shape", "tree", "--rails", "2"][..], &["--shape", "tree", "--no-encrypt"]];
    for form in forms.into_iter().chain([&["--shape", "twins", "--rails", "2"][..]]) {
        let words = [form, &["source.bin", "local[1-6]:/x"]].concat();
        let _ = garland.cp(&words).with_code(0);
        assert_copied(&scratch, locals(6), "x", &from);
        let told = garland.run(&["explain", "--json"]).with_code(0).json();
        let rows = told["rows"].as_array().expect("an account has rows").iter();
        let sum: u64 = rows.map(|row| row["ns"].as_u64().expect("a row has a time")).sum();
        assert_eq!(Some(sum), told["wall_ns"].as_u64(), "{told}");
    }
    scratch.assert_nothing_left();
}

#[test]
fn shares_that_are_none_are_refused() {
    let scratch = Scratch::new("share");
    let _ = source(&scratch, 10);
    assert!(Path::new(&scratch.path("source.bin")).exists());
    let garland = garland_in(&scratch);
    for share in ["0", "95%", "half"] {
        let _ = garland.cp(&["--slow-below", share, "source.bin", "local1:/x"]).with_code(2);
    }
}
