//! Two copies at once to the same agents.

use garland_testkit::Scratch;

use crate::stage::{Stage, json, names, seconds};

#[test]
fn two_copies_at_once_both_complete() {
    let scratch = Scratch::new("two");
    let stage = Stage::new(&scratch);
    let one = stage.start(&[]);
    // The other way round, so that two heads that each waited for the other's nodes would hang.
    let numbers: Vec<String> = (1..=stage.scale.nodes).rev().map(|n| format!("lab:n{n}")).collect();
    let target = format!("{}:/y", numbers.join(","));
    let two = stage.garland.start(&["cp", "--json", "source.bin", &target]);
    let results = [one, two].map(|copy| json(&copy.end().with_code(0)));
    eprintln!("two: {:.2} s and {:.2} s", seconds(&results[0]), seconds(&results[1]));
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
