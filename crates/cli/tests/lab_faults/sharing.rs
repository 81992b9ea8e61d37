//! Several copies at once to the same agents.

use std::time::Duration;

use garland_testkit::{Scratch, until};

use crate::stage::{Stage, json, names, seconds, verdict};

/// Resident memory that an agent keeps to in one copy, in bytes.
const PROMISE: u64 = 64 << 20;

/// Bytes of it that are buffers, of which a second copy has its own.
const MEMORY_OF_ONE: u64 = 24 << 20;

#[test]
fn two_copies_at_once_both_complete() {
    let scratch = Scratch::new("two");
    let stage = Stage::for_copies(&scratch, 2);
    let one = stage.start(&[]);
    // The other way round, so that two heads that each waited for the other's nodes would hang.
    let numbers: Vec<String> = (1..=stage.scale.nodes).rev().map(|n| format!("lab:n{n}")).collect();
    let target = format!("{}:/y", numbers.join(","));
    let two = stage.garland.start(&["cp", "--json", "source.bin", &target]);
    let results = [one, two].map(|copy| json(&copy.end().with_code(0)));
    eprintln!("two: {:.2} s and {:.2} s", seconds(&results[0]), seconds(&results[1]));
    for result in &results {
        for node in result["nodes"].as_array().expect("a result has nodes") {
            let memory = node["memory"].as_u64().expect("an agent reports its memory");
            assert!(memory <= PROMISE + MEMORY_OF_ONE, "{node}");
        }
    }
    for node in stage.nodes() {
        assert_eq!(names(&stage.root(&node)), ["x", "y"]);
        let path = |name: &str| stage.root(&node).join(name);
        let source = std::fs::read(&stage.source).expect("it is there");
        for name in ["x", "y"] {
            assert!(std::fs::read(path(name)).expect("it is there") == source, "{node}:/{name}");
        }
    }
    stage.end();
}

#[test]
fn a_third_large_copy_is_refused_by_name_and_harms_nobody() {
    let scratch = Scratch::new("three");
    let stage = Stage::for_copies(&scratch, 3);
    let target = |name: &str| format!("{}:/{name}", stage.list());
    let start = |name: &str| stage.garland.start(&["cp", "--json", "source.bin", &target(name)]);
    let first = start("x");
    stage.await_moment(0);
    let second = start("y");
    until("both copies everywhere", || {
        stage.nodes().all(|node| names(&stage.root(&node)).len() == 2)
    });
    let result = json(&start("z").end().with_code(3));
    for node in stage.nodes() {
        let (verdict, reason) = verdict(&result, &node);
        assert_eq!(verdict, "failed");
        assert!(reason.contains("busy with 2 other copies"), "{reason}");
    }
    let _ = first.end().with_code(0);
    let _ = second.end().with_code(0);
    let _ = start("z").end().with_code(0);
    for node in stage.nodes() {
        assert_eq!(names(&stage.root(&node)), ["x", "y", "z"]);
    }
    stage.end();
}

#[test]
fn a_head_that_is_stopped_and_goes_on_finds_everybody_alive() {
    let scratch = Scratch::new("sleep");
    let stage = Stage::new(&scratch);
    let copy = stage.start(&[]);
    stage.await_moment(100);
    copy.process().stop();
    std::thread::sleep(Duration::from_secs(2));
    copy.process().go_on();
    let _ = copy.end().with_code(0);
    stage.assert_whole(stage.nodes());
    stage.end();
}
