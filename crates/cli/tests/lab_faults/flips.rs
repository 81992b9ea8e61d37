//! A byte that changes on a wire.

use garland_lab::fault::{self, Way};
use garland_testkit::Scratch;

use crate::stage::{Stage, json};

/// Copies with `more` arguments while bytes change on the way to and from nodes: every file is
/// whole, and each changed block is named with the hop where it changed.
#[track_caller]
fn finds(test: &str, more: &[&str]) {
    let scratch = Scratch::new(test);
    let stage = Stage::new(&scratch);
    // (node, which way, segment, between whom).
    let flips = [("n3", Way::In, 40, ("n2", "n3")), ("n1", Way::In, 3, ("n0", "n1"))];
    for (node, way, after, (from, to)) in flips {
        fault::flip(&stage.lab, node, way, after).expect("a byte can be flipped");
        let said = stage.start(more).end().with_code(0);
        fault::clear_flips(&stage.lab).expect("flips can be taken back");
        let result = json(&said);
        let faults = result["faults"].as_array().expect("a result has faults");
        eprintln!("{test}: {node} {way:?} {after}: {faults:?}");
        let [fault] = &faults[..] else { panic!("one byte changed, one fault: {faults:?}") };
        let hop = (fault["from"].as_str().unwrap_or(""), fault["to"].as_str().unwrap_or(""));
        let name =
            |node: &str| if node == "n0" { "head".to_owned() } else { format!("lab:{node}") };
        assert_eq!(hop.1, name(to), "{fault}");
        assert!(hop.0 == name(from) || from == "n0", "{fault}");
        stage.assert_whole(stage.nodes());
    }
    stage.end();
}

#[test]
fn a_changed_byte_of_a_sealed_block_is_found_and_repaired() {
    finds("flip", &[]);
}

#[test]
fn a_changed_byte_of_a_clear_block_is_found_and_repaired() {
    finds("flip-clear", &["--clear"]);
}
