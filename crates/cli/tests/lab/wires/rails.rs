//! Nodes with two NICs each: a slow NIC is named as one, a slow node as a node.

use garland_core::units::Rate;
use garland_lab::fault::LinkDirection;
use garland_lab::slow::{slow, slow_nic};
use garland_testkit::Scratch;
use serde_json::Value;

use crate::wires::stage::{Stage, fault};

const SHAPE: &str = "shape = \"rail\"\nnodes = 8\nrails = 2\nrate = \"50mbit\"";

/// All nodes but the head.
const NODES: &str = "lab:n[1-8]";

/// Half of the lab's wires.
const SLOW: Rate = Rate::from_bits_per_second(25_000_000);

#[test]
fn a_slow_nic_is_told_from_a_slow_node() {
    let scratch = Scratch::new("wires-rails");
    let stage = Stage::of_shape(&scratch, SHAPE, NODES);
    for way in [LinkDirection::In, LinkDirection::Out] {
        slow_nic(&stage.lab, "n4", "eth1", way, SLOW).expect("the NIC is slowed");
        slow(&stage.lab, "n7", way, SLOW).expect("the node is slowed");
    }
    let result = stage.finds(NODES, &[("nic", &["n4"]), ("node", &["n7"])]);
    assert_eq!(result["rails"], 2);
    // Both ways of 28 pairs, on each rail.
    assert_eq!(result["directions"].as_array().map(Vec::len), Some(2 * 56));
    assert_eq!(fault(&result, "nic")["rail"], 1);
    assert_eq!(fault(&result, "node")["rail"], Value::Null);
    // What is the node's own doing, and what its NICs'.
    let sends = |node: usize| {
        let node = &result["nodes"][node - 1];
        let nics = [0, 1].map(|rail| node["nics"][rail]["sends"].as_f64());
        (node["sends"].as_f64().unwrap_or(0.0), nics.map(Option::unwrap_or_default))
    };
    let slow_nics = sends(4);
    let slow_nodes = sends(7);
    assert!(slow_nics.0 > 0.9 && slow_nics.1[1] < 0.6, "{slow_nics:?}");
    assert!(slow_nodes.0 < 0.6 && slow_nodes.1.iter().all(|nic| *nic > 0.9), "{slow_nodes:?}");
    stage.end();
}
