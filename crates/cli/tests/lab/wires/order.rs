//! A copy's chain by what was measured.

use garland_core::units::Rate;
use garland_lab::fault::LinkDirection;
use garland_lab::slow::{slow, slow_to};
use garland_testkit::Scratch;

use crate::wires::stage::Stage;

/// A fifth of the lab's wires.
const SLOW: Rate = Rate::from_bits_per_second(10_000_000);

#[test]
fn slow_pairs_are_no_neighbours_in_a_chain_and_slow_nodes_come_last() {
    let scratch = Scratch::new("wires-order");
    let shape = "shape = \"star\"\nnodes = 6\nrate = \"50mbit\"";
    let stage = Stage::of_shape(&scratch, shape, "lab:n[1-6]");
    for way in [LinkDirection::In, LinkDirection::Out] {
        slow(&stage.lab, "n3", way, SLOW).expect("the NIC is slowed");
    }
    for (from, to) in [("n4", "n5"), ("n5", "n4")] {
        slow_to(&stage.lab, from, to, SLOW).expect("the route is slowed");
    }
    std::fs::write(scratch.path("source"), "some bytes").expect("there is room");
    let plan = |nodes: &str| {
        let words = ["cp", "--dry-run", "--shape", "chain", "--order", "wires", "source", nodes];
        stage.garland.run(&words)
    };
    let said = plan("lab:n[2-6]:/x").with_code(2);
    assert!(said.err.contains("no measurement of the wires"), "{}", said.err);
    // Whether it names all that is slow is for other tests.
    let _ = stage.garland.run(&["wires", "lab:n[1-6]"]);
    let said = plan("lab:n[2-6]:/x").with_code(0);
    assert!(said.out.contains("order: by the rates of the wires, measured by "), "{}", said.out);
    let route = said.out.lines().find(|line| line.contains(" -> ")).expect("a chain");
    let chain: Vec<&str> = route.trim().split(" -> ").skip(1).collect();
    assert_eq!(chain.len(), 5, "{chain:?}");
    assert_eq!(chain.last(), Some(&"lab:n3"), "{}", said.out);
    let slow_pair = |ends: &[&str]| ends.contains(&"lab:n4") && ends.contains(&"lab:n5");
    assert!(!chain.windows(2).any(slow_pair), "{}", said.out);
    stage.end();
}
