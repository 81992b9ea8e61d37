//! Nodes in racks, whose switches are joined by uplinks.

use garland_testkit::Scratch;

use crate::lab_nodes::stage::Stage;

const BYTES: u64 = 8_000_000;

const TOPOLOGY: &str = r#"
version = 1
[topology]
shape = "leaf-spine"
nodes = "n[0-6]"
leaves = 2
spines = 1
rate = "400mbit"
uplink = "400mbit"
"#;

/// Bytes that the switch above the racks has carried.
fn carried(stage: &Stage<'_>) -> u64 {
    let status = stage.garland.run(&["lab", "status", "--json"]).with_code(0).json();
    let media = status["labs"][0]["media"].as_array().expect("it has media").clone();
    let spine = media.into_iter().find(|medium| medium["name"] == "spine1").expect("it has one");
    spine["carried"].as_u64().expect("a number")
}

#[test]
fn rack_by_rack_each_uplink_carries_the_file_once() {
    let scratch = Scratch::new("racks");
    let stage = Stage::new(&scratch, TOPOLOGY);
    let crossed = |order: &str| {
        let before = carried(&stage);
        // n1 to n3 are in the head's rack, the others in the other one.
        let nodes = "lab:n1,lab:n4,lab:n2,lab:n5,lab:n3,lab:n6";
        let result = stage.copies(BYTES, nodes, &["--order", order, "--shape", "chain"]);
        assert!(result["nodes"].as_array().expect("nodes").iter().all(|it| it["verdict"] == "ok"));
        (carried(&stage) - before) as f64 / BYTES as f64
    };
    let by_list = crossed("list");
    let by_rack = crossed("rack");
    let by_default = crossed("auto");
    // Headers, acknowledgements, and what agents say to the head besides.
    assert!((1.0..1.2).contains(&by_rack), "{by_rack} times");
    assert!((5.0..5.8).contains(&by_list), "{by_list} times");
    assert!((1.0..1.2).contains(&by_default), "{by_default} times");
}

#[test]
fn a_copy_and_a_suggestion_are_one_plan() {
    let scratch = Scratch::new("suggested");
    let stage = Stage::new(&scratch, &TOPOLOGY.replace("uplink = \"400", "uplink = \"80"));
    std::fs::write(scratch.path("source"), vec![1; 1 << 20]).expect("there is room");
    let nodes = "lab:n1,lab:n4,lab:n2,lab:n5,lab:n3,lab:n6";
    let target = format!("{nodes}:/x");
    let dry = |options: &[&str]| {
        let words = [&["cp", "--dry-run", "--json", "source", &target], options].concat();
        let mut plan = stage.garland.run(&words).with_code(0).json();
        // The reasons differ: what was found, and what was asked for.
        plan["reason"].take();
        plan
    };
    let told = stage.garland.run(&["plan", "suggest", "1MiB", nodes, "--json"]).with_code(0).json();
    let options = told["options"].as_str().expect("a text").replace('\'', "");
    assert_eq!(dry(&options.split(' ').collect::<Vec<_>>()), dry(&[]), "{options}");
    let text = stage.garland.run(&["cp", "--dry-run", "source", &target]).with_code(0).out;
    assert!(text.contains("order: the fastest by the topology of the lab, "), "{text}");
}
