//! Plans: printed, saved, and made for very many nodes.

use garland_testkit::Scratch;
use serde_json::Value;

use crate::copy::{assert_copied, garland_in, locals, source};

#[test]
fn a_dry_run_prints_the_plan_and_starts_nothing() {
    let scratch = Scratch::new("dry");
    let _ = source(&scratch, 1_000_000);
    let garland = garland_in(&scratch);
    let said = garland.cp(&["--dry-run", "source.bin", "local[1-3]:/x"]).with_code(0);
    insta::assert_snapshot!(said.out, @r"
    1000000 bytes in 16 blocks of 65536 bytes
    lane 0: 16 blocks (0, +1), rail 0
      head -> local1 -> local2 -> local3
    ");
    let order = ["--dry-run", "--rails", "2", "--order", "local[3,1],local2"];
    let said = garland.cp(&[&order[..], &["source.bin", "local[1-3]:/x"]].concat()).with_code(0);
    insta::assert_snapshot!(said.out, @r"
    1000000 bytes in 16 blocks of 65536 bytes
    lane 0: 8 blocks (0, +2), rail 0
      head -> local3 -> local1 -> local2
    lane 1: 8 blocks (1, +2), rail 1
      head -> local3 -> local1 -> local2
    ");
    assert!(!scratch.path("roots").exists() && garland.runs().is_empty());
}

#[test]
fn a_plan_is_saved_as_the_json_that_a_dry_run_prints() {
    let scratch = Scratch::new("save");
    let from = source(&scratch, 1_000_000);
    let garland = garland_in(&scratch);
    let dry = ["--dry-run", "--json", "source.bin", "local[1-3]:/x"];
    let mut printed = garland.cp(&dry).with_code(0).json();
    let schema = printed.as_object_mut().and_then(|plan| plan.remove("schema"));
    assert_eq!(schema, Some("garland.plan/1".into()));
    // A single file is compared as it is read: it is named, and no node is asked.
    let told = garland.cp(&["-nv", "source.bin", "local[1-3]:/x"]).with_code(0).out;
    let named = "copy    source.bin, except to nodes that have its content\n";
    assert!(told.contains(named), "{told}");
    let save = ["--save-plan", "p.json", "source.bin", "local[1-3]:/x"];
    let _ = garland.cp(&save).with_code(0);
    let saved = std::fs::read_to_string(scratch.path("p.json")).expect("it was saved");
    let saved: Value = serde_json::from_str(&saved).expect("it is JSON");
    assert_eq!(saved, printed);
    assert_eq!(saved["lanes"][0]["route"], serde_json::json!([0, 1, 2, 3]));
    assert_copied(&scratch, locals(3), "x", &from);
}

#[test]
fn ten_thousand_nodes_are_planned_in_a_moment() {
    let scratch = Scratch::new("many");
    let _ = source(&scratch, 10);
    let names: Vec<String> = (0..10_000).map(|number| format!("node-{number}-x")).collect();
    std::fs::write(scratch.path("nodes"), names.join("\n")).expect("it can be written");
    let garland = garland_in(&scratch);
    for list in ["n[00001-10000]:/x", "^nodes:/x"] {
        let chain = ["--dry-run", "--shape", "chain", "source.bin", list];
        let said = garland.cp(&chain).with_code(0);
        assert_eq!(said.out.matches(" -> ").count(), 10_000, "{list}");
    }
    let said = garland.cp(&["--dry-run", "--json", "source.bin", "^nodes:/x"]).with_code(0);
    assert_eq!(said.json()["nodes"].as_array().map(Vec::len), Some(10_001));
}
