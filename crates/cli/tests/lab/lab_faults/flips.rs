//! A byte that changes on a wire.

use garland_lab::fault::{self, LinkDirection};
use garland_testkit::Scratch;

use crate::lab_faults::stage::Stage;

/// Copies with `more` arguments while a byte changes on the way to or from a node: every file is
/// whole, and the hop where it changed is named. The first long segment to the first node begins
/// with the first block's frame, and that is where the byte is then; elsewhere it is in a block, or
/// in a frame that begins a segment, as chance will have it.
#[track_caller]
fn finds(test: &str, more: &[&str]) {
    let scratch = Scratch::new(test);
    let stage = Stage::new(&scratch);
    let flips = [
        ("n1", LinkDirection::In, 0, ("head", "lab:n1")),
        ("n1", LinkDirection::In, 3, ("head", "lab:n1")),
        ("n3", LinkDirection::In, 40, ("lab:n2", "lab:n3")),
        ("n4", LinkDirection::Out, 21, ("lab:n4", "lab:n5")),
    ];
    for (node, way, after, hop) in flips {
        fault::flip(&stage.lab, node, way, after).expect("a byte can be flipped");
        let said = stage.start(more).end().with_code(0);
        fault::clear_flips(&stage.lab).expect("flips can be taken back");
        let result = said.json();
        let faults = result["faults"].as_array().expect("a result has faults");
        eprintln!("{test}: {node} {way:?} {after}: {faults:?}");
        let [fault] = &faults[..] else { panic!("one byte changed, one fault: {faults:?}") };
        let name = |end: &str| fault[end].as_str().unwrap_or("").to_owned();
        assert_eq!((name("from").as_str(), name("to").as_str()), hop, "{fault}");
        match (node, after) {
            ("n1", 0) => assert!(fault["block"].is_null(), "{fault}"),
            ("n1", 3) => assert_eq!(fault["block"], 0, "{fault}"),
            _ => {}
        }
        stage.assert_whole(stage.nodes());
    }
    stage.end();
}

#[test]
fn a_changed_byte_of_a_sealed_copy_is_found_and_repaired() {
    finds("flip", &[]);
}

#[test]
fn a_changed_byte_of_a_clear_copy_is_found_and_repaired() {
    finds("flip-clear", &["--no-encrypt"]);
}
