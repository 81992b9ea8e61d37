//! A healthy copy has no fault, and nearly all of its time is the wires'.

use garland_testkit::Scratch;

use crate::stage::{Stage, unknown};

#[test]
fn a_healthy_copy_has_no_fault_and_names_its_time() {
    let scratch = Scratch::new("explain-healthy");
    let stage = Stage::new(&scratch, "");
    let explained = stage.explained(96, &[]);
    assert_eq!(explained["rows"][0]["cause"], "wire", "{explained:#}");
    assert!(unknown(&explained) < 0.05, "{explained:#}");
    // On a machine that has no processors to spare this is what is told instead.
    let faults = explained["faults"].as_array().unwrap();
    assert!(faults.is_empty(), "{explained:#}");
    let said = stage.garland.run(&["explain"]).with_code(0);
    for word in ["where the time went", "who was waited for", "limit  ", "fault   none", "clocks "]
    {
        assert!(said.out.contains(word), "no {word} in {}", said.out);
    }
}
