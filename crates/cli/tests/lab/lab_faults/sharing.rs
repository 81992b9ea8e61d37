//! Several copies at once to the same agents.

use std::time::Duration;

use garland_testkit::Scratch;

use crate::lab_faults::stage::{Stage, names, seconds};

#[test]
fn two_copies_at_once_both_complete() {
    let scratch = Scratch::new("two");
    let stage = Stage::for_copies(&scratch, 2);
    let one = stage.start(&[]);
    // The other way round, so that two heads that each waited for the other's nodes would hang.
    let numbers: Vec<String> = (1..=stage.scale.nodes).rev().map(|n| format!("lab:n{n}")).collect();
    let target = format!("{}:/y", numbers.join(","));
    let two = stage.garland.start(&["cp", "--json", "source.bin", &target]);
    let results = [one, two].map(|copy| copy.end().with_code(0).json());
    eprintln!("two: {:.2} s and {:.2} s", seconds(&results[0]), seconds(&results[1]));
    for result in &results {
        stage.assert_memory(result);
    }
    for node in stage.nodes() {
        assert_eq!(names(&stage.root(&node)), ["x", "y"]);
        let path = |name: &str| stage.root(&node).join(name);
        let source = std::fs::read(&stage.source).expect("the file exists");
        for name in ["x", "y"] {
            assert!(
                std::fs::read(path(name)).expect("the file exists") == source,
                "{node}:/{name}"
            );
        }
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
