use serde_json::json;

use super::*;

fn sheet(name: &str, result: Value, sources: Option<&str>) -> Sheet {
    let name = name.to_owned();
    Sheet { name, sources: sources.map(str::to_owned), result, ..Sheet::default() }
}

#[test]
fn a_title_says_what_was_copied_and_where() {
    let copy = |direction: &str| json!({ "schema": "garland.cp/2", "nodes": [{}, {}], "direction": direction });
    let title_of = |direction, sources| of(&sheet("x", copy(direction), sources));
    assert_eq!(title_of("out", Some("model.bin")), "model.bin to 2 nodes");
    assert_eq!(title_of("in", Some("log")), "log from 2 nodes");
    assert_eq!(title_of("out", None), "Copy to 2 nodes");
    assert_eq!(of(&sheet("x-y", Value::Null, None)), "x-y");
    let one = json!({ "schema": "garland.wires/2", "nodes": [{}] });
    assert_eq!(of(&sheet("x", one, None)), "The wires of 1 node");
}

#[test]
fn a_title_says_what_failed() {
    let copy = |verdicts: &[&str], interrupted: bool| {
        let nodes: Vec<Value> =
            verdicts.iter().map(|verdict| json!({ "verdict": verdict })).collect();
        json!({ "schema": "garland.cp/2", "nodes": nodes, "interrupted": interrupted })
    };
    let title_of = |result| of(&sheet("x", result, Some("f")));
    assert_eq!(title_of(copy(&["ok", "dead", "failed"], false)), "f to 3 nodes: 2 failed");
    assert_eq!(title_of(copy(&["dead", "failed"], false)), "f to 2 nodes: failed");
    assert_eq!(title_of(copy(&["ok", "failed"], true)), "f to 2 nodes: interrupted");
    let farm = |failed: u32, open: u32| json!({ "schema": "garland.farm/2", "jobs": 5, "nodes": [{}, {}], "failed": failed, "open": open });
    assert_eq!(title_of(farm(0, 0)), "5 jobs on 2 nodes");
    assert_eq!(title_of(farm(3, 1)), "5 jobs on 2 nodes: 3 failed");
    assert_eq!(title_of(farm(0, 4)), "5 jobs on 2 nodes: 4 not run");
    let first = sheet("x", copy(&["ok"], false), Some("f"));
    assert_eq!(of_first(&first, 4), "f to 1 node, and 4 more runs");
}

#[test]
fn times_are_those_of_names_and_other_names_have_none() {
    let when_of = |name| when(&sheet(name, Value::Null, None));
    assert_eq!(when_of("20261127-012315-cp-3271").unwrap(), "27 November 2026, 01:23 UTC");
    for name in
        ["", "./folder", "20261327-012315-cp", "2026112é-012315", "20261127-01é315", "20261127"]
    {
        assert_eq!(when_of(name), None, "{name}");
    }
}

#[test]
fn a_command_can_be_typed() {
    let told = json!({ "command": ["/opt/garland", "cp", "a b", "lab:n[1-2]:/x"] });
    assert_eq!(command(&told).unwrap(), "garland cp 'a b' 'lab:n[1-2]:/x'");
    assert_eq!(command(&json!({ "command": ["garland"] })), None);
}
