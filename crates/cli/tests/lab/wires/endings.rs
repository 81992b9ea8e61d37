//! Wrong usage, nodes that die or stall meanwhile, and users who give up.

use std::time::Duration;

use garland_lab::fault;
use garland_testkit::{Garland, Scratch};

use crate::wires::stage::{ALL, Stage};

#[test]
fn one_node_has_no_wire_and_an_unknown_baseline_is_refused() {
    let scratch = Scratch::new("wires-usage");
    let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), &scratch);
    let alone = garland.run(&["wires", "local1"]).with_code(2);
    assert!(alone.err.contains("wires needs two nodes or more"), "{}", alone.err);
    let unknown = garland.run(&["wires", "local[1-4]", "--base", "../x"]).with_code(2);
    assert!(unknown.err.contains("is not a run of garland wires"), "{}", unknown.err);
    scratch.assert_nothing_left();
}

#[test]
fn nodes_that_die_and_stall_are_named_and_the_rest_is_measured() {
    let scratch = Scratch::new("wires-death");
    let stage = Stage::new(&scratch);
    let running = stage.garland.start(&["wires", "--json", ALL]);
    std::thread::sleep(Duration::from_millis(2500));
    fault::kill(&stage.lab, "n4").expect("it runs");
    fault::stop(&stage.lab, "n7").expect("it runs");
    let said = running.end();
    fault::resume(&stage.lab, "n7").expect("it stands still");
    let result = said.json();
    let nodes = result["nodes"].as_array().expect("a result has nodes");
    let dead = nodes.iter().filter(|node| node["verdict"] == "dead");
    let dead: Vec<&str> = dead.filter_map(|node| node["name"].as_str()).collect();
    assert_eq!(dead, ["lab:n4", "lab:n7"], "{:#}", result["nodes"]);
    assert_eq!(result["faults"].as_array().map(Vec::len), Some(0), "{:#}", result["faults"]);
    // All pairs of the ten others, both ways.
    let ways = result["directions"].as_array().expect("a result has ways");
    let is_of = |way: &serde_json::Value| dead.iter().any(|d| way["from"] == *d || way["to"] == *d);
    assert_eq!(ways.iter().filter(|way| !is_of(way)).count(), 90);
    stage.end();
}

#[test]
fn an_interrupted_run_keeps_what_was_measured() {
    let scratch = Scratch::new("wires-interrupt");
    let stage = Stage::new(&scratch);
    // How soon something is measured depends on what else this machine does.
    let kept = [4, 6, 8, 10, 12, 5, 7, 9].into_iter().any(|seconds| {
        let running = stage.garland.start(&["wires", "--json", ALL]);
        std::thread::sleep(Duration::from_secs(seconds));
        running.process().interrupt();
        let said = running.end();
        let result = said.json();
        let ways = result["directions"].as_array().map_or(0, Vec::len);
        if said.code == 0 {
            // It was over before.
            assert_eq!((&result["interrupted"], ways), (&false.into(), 132));
            return false;
        }
        assert_eq!((said.code, &result["interrupted"]), (130, &true.into()), "{}", said.err);
        ways > 0
    });
    assert!(kept, "nothing was measured before any of the interrupts");
    stage.end();
}
