//! `garland wires --sweep`: local and remote wire are told apart, and no point is above its wires.

use garland_testkit::Scratch;
use serde_json::Value;

use crate::wires::stage::Stage;

/// Two rows of two nodes, on four busses; n0 is the head.
const MESH: &str = "shape = \"mesh\"\nnodes = 3\nrows = 2\ncolumns = 2\nsegments = \"hub\"\n\
                    rate = \"10mbit\"\njoined = \"routed\"";

const NODES: &str = "lab:n[0-3]";

#[test]
fn packets_and_pairs_are_swept_by_local_and_by_remote_wire() {
    let scratch = Scratch::new("wires-sweep");
    let stage = Stage::of_shape(&scratch, MESH, NODES);
    // What else this machine does takes from a rate and never gives.
    let full = (0..3).any(|_| {
        let points = swept(&stage);
        let shares: Vec<f64> = points
            .iter()
            .map(|point| number(point, "rate") / number(point, "bound"))
            .inspect(|share| assert!(*share < 1.1, "{share}: {points:#?}"))
            .collect();
        let alone = |packet: u64| {
            let is = |point: &&Value| {
                point["wire"] == "local" && point["packet"] == packet && point["pairs"] == 1
            };
            points.iter().find(is).map_or(f64::NAN, |point| number(point, "rate"))
        };
        eprintln!("{shares:.2?}, alone {:.0} and {:.0}", alone(128), alone(1500));
        // Headers take more than half of small packets, and another node's bus is shared.
        shares.iter().all(|share| *share > 0.3) && alone(128) < 0.7 * alone(1500)
    });
    assert!(full, "none of the sweeps came near to its bounds everywhere");
    stage.end();
}

fn number(point: &Value, name: &str) -> f64 {
    point[name].as_f64().unwrap_or(f64::NAN)
}

/// The points of a sweep, which has them all.
fn swept(stage: &Stage<'_>) -> Vec<Value> {
    let result = stage.garland.run(&["wires", "--sweep", "--json", NODES]).with_code(0).json();
    assert_eq!(result["schema"], "garland.wires-sweep/2");
    let wires = serde_json::json!([
        { "wire": "local", "pairs": [["lab:n0", "lab:n1"], ["lab:n2", "lab:n3"]] },
        { "wire": "remote", "pairs": [["lab:n0", "lab:n3"], ["lab:n1", "lab:n2"]] },
    ]);
    assert_eq!(result["wires"], wires);
    let points = result["points"].as_array().cloned().unwrap_or_default();
    assert_eq!(points.len(), 2 * 2 * 5, "{points:?}");
    points
}

#[test]
fn without_a_topology_there_is_one_wire() {
    let scratch = Scratch::new("wires-sweep-local");
    let garland = garland_testkit::Garland::new(env!("CARGO_BIN_EXE_garland"), &scratch);
    let refused = garland.run(&["wires", "--sweep", "--streams", "3", "local[1-2]"]).with_code(2);
    assert!(refused.err.contains("--streams"), "{}", refused.err);
    let said = garland.run(&["wires", "--sweep", "local[1-2]"]).with_code(0);
    assert!(said.out.starts_with("any wire: local1 to local2\n"), "{}", said.out);
    assert!(said.out.contains("128-byte packets"), "{}", said.out);
    scratch.assert_nothing_left();
}
