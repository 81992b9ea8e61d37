//! `garland wires --sweep`: local and remote wire are told apart, and no point is above its wires.

use garland_testkit::Scratch;
use serde_json::Value;

use crate::stage::Stage;

/// Two rows of two nodes, on four busses; n0 is the head.
const MESH: &str = "shape = \"mesh\"\nnodes = 3\nrows = 2\ncolumns = 2\nsegments = \"hub\"\n\
                    rate = \"10mbit\"\njoined = \"routed\"";

const NODES: &str = "lab:n[0-3]";

#[test]
fn packets_and_pairs_are_swept_by_local_and_by_remote_wire() {
    let scratch = Scratch::new("wires-sweep");
    let stage = Stage::of_shape(&scratch, MESH, NODES);
    let result = stage.garland.run(&["wires", "--sweep", "--json", NODES]).with_code(0).json();
    assert_eq!(result["schema"], "garland.wires-sweep/1");
    let wires = serde_json::json!([
        { "wire": "local", "pairs": [["lab:n0", "lab:n1"], ["lab:n2", "lab:n3"]] },
        { "wire": "remote", "pairs": [["lab:n0", "lab:n3"], ["lab:n1", "lab:n2"]] },
    ]);
    assert_eq!(result["wires"], wires);
    let points = result["points"].as_array().cloned().unwrap_or_default();
    assert_eq!(points.len(), 2 * 2 * 5, "{points:?}");
    let number = |point: &Value, name: &str| point[name].as_f64().unwrap_or(f64::NAN);
    for point in &points {
        let share = number(point, "rate") / number(point, "bound");
        assert!(share > 0.3 && share < 1.1, "{share}: {point}");
    }
    let alone = |wire: &str, packet: u64| {
        let is = |point: &&Value| {
            point["wire"] == wire && point["packet"] == packet && point["pairs"] == 1
        };
        points.iter().find(is).map_or(f64::NAN, |point| number(point, "rate"))
    };
    // Headers take more than half of small packets, and another node's bus is shared.
    assert!(alone("local", 128) < 0.7 * alone("local", 1500), "{points:?}");
    stage.end();
}

#[test]
fn without_a_topology_there_is_one_wire() {
    let scratch = Scratch::new("wires-sweep-local");
    let garland = garland_testkit::Garland::new(env!("CARGO_BIN_EXE_garland"), &scratch);
    let refused = garland.run(&["wires", "--sweep", "--streams", "3", "local[1-2]"]).with_code(2);
    assert!(refused.err.contains("--streams"), "{}", refused.err);
    let said = garland.run(&["wires", "--sweep", "local[1-2]"]).with_code(0);
    assert!(said.out.starts_with("any wire: local1 to local2\n"), "{}", said.out);
    assert!(said.out.contains("128 bytes a packet"), "{}", said.out);
    scratch.assert_nothing_left();
}
