//! A healthy copy has no fault, and nearly all of its time is the wires'.

use garland_testkit::Scratch;
use serde_json::Value;

use crate::explain::stage::{Stage, without_cause};

#[test]
fn a_healthy_copy_has_no_fault_and_names_its_time() {
    let scratch = Scratch::in_memory("explain-healthy");
    let stage = Stage::new(&scratch, "");
    let is_wire = |explained: &Value| explained["rows"][0]["cause"] == "wire";
    let is_healthy = |explained: &Value| explained["faults"].as_array().unwrap().is_empty();
    let explained = stage.explained_until("lab:n[1-3]:/x", 96, &[], |explained| {
        is_wire(explained) && is_healthy(explained) && without_cause(explained) < 0.05
    });
    assert!(is_wire(&explained) && is_healthy(&explained), "{explained:#}");
    assert!(without_cause(&explained) < 0.05, "{explained:#}");
    let said = stage.garland.run(&["explain"]).with_code(0);
    for word in ["where the time went", "critical path", "limit  ", "fault   none", "clocks "] {
        assert!(said.out.contains(word), "no {word} in {}", said.out);
    }
}
