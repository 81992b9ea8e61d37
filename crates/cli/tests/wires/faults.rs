//! What is slow is named, and nothing else.

use garland_core::units::Rate;
use garland_lab::fault::Way;
use garland_lab::slow::{slow, slow_to};
use garland_testkit::Scratch;

use crate::stage::{Stage, faults};

/// 70 % of the lab's wires.
const SLOW: Rate = Rate::from_bits_per_second(35_000_000);

fn named(part: &str, nodes: &[&str]) -> Vec<(String, Vec<String>)> {
    vec![(part.to_owned(), nodes.iter().map(|node| format!("lab:{node}")).collect())]
}

#[test]
fn a_slow_node_is_named_and_so_is_what_changed_since() {
    let scratch = Scratch::new("wires-node");
    let stage = Stage::new(&scratch);
    for way in [Way::In, Way::Out] {
        slow(&stage.lab, "n5", way, SLOW).expect("the NIC is slowed");
    }
    let result = stage.measure(4);
    assert_eq!(faults(&result), named("node", &["n5"]), "{:#}", result["faults"]);
    let share = result["faults"][0]["share"].as_f64().expect("a share");
    assert!((share - 0.7).abs() < 0.07, "{share}");
    // Mended, and compared with the run before: n5 is better than it was, and nobody is worse.
    for way in [Way::In, Way::Out] {
        slow(&stage.lab, "n5", way, Rate::from_bits_per_second(50_000_000)).expect("it is mended");
    }
    let mended = stage.measure(0);
    assert_eq!(mended["baseline"]["run"], result["run"]);
    stage.end();
}

#[test]
fn a_slow_direction_of_a_nic_is_named() {
    let scratch = Scratch::new("wires-nic");
    let stage = Stage::new(&scratch);
    slow(&stage.lab, "n3", Way::Out, SLOW).expect("the NIC is slowed");
    let result = stage.measure(4);
    assert_eq!(faults(&result), named("sending", &["n3"]), "{:#}", result["faults"]);
    stage.end();
}

#[test]
fn a_slow_route_between_two_nodes_is_named() {
    let scratch = Scratch::new("wires-pair");
    let stage = Stage::new(&scratch);
    slow_to(&stage.lab, "n2", "n9", SLOW).expect("the route is slowed");
    slow_to(&stage.lab, "n9", "n2", SLOW).expect("the route is slowed");
    let result = stage.measure(4);
    assert_eq!(faults(&result), named("pair", &["n2", "n9"]), "{:#}", result["faults"]);
    stage.end();
}
