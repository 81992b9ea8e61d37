//! What is slow is named, and nothing else.

use garland_core::units::Rate;
use garland_lab::fault::LinkDirection;
use garland_lab::slow::{slow, slow_to};
use garland_testkit::Scratch;

use crate::wires::stage::{ALL, Stage, Wanted, fault};

/// 70 % of the lab's wires.
const SLOW: Rate = Rate::from_bits_per_second(35_000_000);

/// Each of them hides in what the others take: a node's NIC both ways, one way of another's, and a
/// route between two nodes whose other routes are well.
#[test]
fn a_slow_node_a_slow_direction_and_a_slow_route_are_named_and_so_is_what_changed_since() {
    let scratch = Scratch::new("wires-slow");
    let stage = Stage::new(&scratch);
    for (node, way) in
        [("n5", LinkDirection::In), ("n5", LinkDirection::Out), ("n3", LinkDirection::Out)]
    {
        slow(&stage.lab, node, way, SLOW).expect("the NIC is slowed");
    }
    for (from, to) in [("n2", "n9"), ("n9", "n2")] {
        slow_to(&stage.lab, from, to, SLOW).expect("the route is slowed");
    }
    let nics: [Wanted<'_>; 2] = [("node", &["n5"]), ("sending", &["n3"])];
    let result = stage.finds(ALL, &[nics[0], nics[1], ("pair", &["n2", "n9"])]);
    for part in ["node", "sending", "pair"] {
        let share = fault(&result, part)["share"].as_f64().expect("a share");
        assert!((share - 0.7).abs() < 0.07, "{part}: {share}");
    }
    // Mended, and compared with the run before: the route is better than it was, and nobody is
    // worse.
    for node in ["n2", "n9"] {
        let whole = Rate::from_bits_per_second(50_000_000);
        slow(&stage.lab, node, LinkDirection::Out, whole).expect("the route is mended");
    }
    let mended = stage.finds(ALL, &nics);
    assert!(mended["baseline"]["run"].is_string(), "{:#}", mended["baseline"]);
    stage.end();
}
