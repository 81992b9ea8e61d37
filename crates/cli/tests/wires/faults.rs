//! What is slow is named, and nothing else.

use garland_core::units::Rate;
use garland_lab::fault::Way;
use garland_lab::slow::{slow, slow_to};
use garland_testkit::Scratch;

use crate::stage::{ALL, Stage, Wanted, fault};

/// 70 % of the lab's wires.
const SLOW: Rate = Rate::from_bits_per_second(35_000_000);

/// Each of them hides in what the others take: a node's NIC both ways, one way of another's, and a
/// route between two nodes whose other routes are well.
#[test]
fn a_slow_node_a_slow_direction_and_a_slow_route_are_named_and_so_is_what_changed_since() {
    let scratch = Scratch::new("wires-slow");
    let stage = Stage::new(&scratch);
    let slow_all = |rate| {
        for (node, way) in [("n5", Way::In), ("n5", Way::Out), ("n3", Way::Out)] {
            slow(&stage.lab, node, way, rate).expect("the NIC is slowed");
        }
    };
    slow_all(SLOW);
    slow_to(&stage.lab, "n2", "n9", SLOW).expect("the route is slowed");
    slow_to(&stage.lab, "n9", "n2", SLOW).expect("the route is slowed");
    let pair: Wanted<'_> = ("pair", &["n2", "n9"]);
    let result = stage.finds(ALL, &[("node", &["n5"]), ("sending", &["n3"]), pair]);
    for part in ["node", "sending", "pair"] {
        let share = fault(&result, part)["share"].as_f64().expect("a share");
        assert!((share - 0.7).abs() < 0.07, "{part}: {share}");
    }
    // Mended, and compared with the run before: they are better than they were, and nobody is worse.
    slow_all(Rate::from_bits_per_second(50_000_000));
    let mended = stage.finds(ALL, &[pair]);
    assert!(mended["baseline"]["run"].is_string(), "{:#}", mended["baseline"]);
    stage.end();
}
