//! The three placements on nodes of unlike speed.

use garland_testkit::Scratch;
use serde_json::Value;

use super::{garland_in, list};

/// Speeds as 1 : 2 : 4, of which the quickest has two fifths of a processor.
const LAB: &str = "version = 1
[topology]
shape = \"switch\"
nodes = \"srv,n[1-3]\"
rate = \"100mbit\"
[topology.price]
node = 100
nic = 10
[[topology.node]]
names = \"n1\"
cpu = 0.1
[[topology.node]]
names = \"n2\"
cpu = 0.2
[[topology.node]]
names = \"n3\"
cpu = 0.4
";

/// How many jobs each node has done.
fn done(result: &Value) -> Vec<u64> {
    let nodes = result["nodes"].as_array().expect("a list of nodes").iter();
    nodes.map(|node| node["done"].as_u64().expect("a count")).collect()
}

#[test]
fn quick_nodes_get_more_unless_jobs_are_dealt_out_in_turn() {
    let scratch = Scratch::new("farm-placements");
    list(&scratch, "jobs", &"i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done\n".repeat(28));
    let garland = garland_in(&scratch);
    list(&scratch, "lab.toml", LAB);
    let _ = garland.run(&["lab", "up", "lab.toml"]).with_code(0);
    let test = || {
        let results = ["pull", "turns", "mosix"].map(|placement| {
            let words = ["farm", "run", "jobs", "lab:n[1-3]", "--json", "--placement", placement];
            garland.run(&words).with_code(0).json()
        });
        let [pull, turns, mosix] = results.each_ref().map(done);
        for done in [&pull, &turns, &mosix] {
            assert_eq!(done.iter().sum::<u64>(), 28, "{done:?}");
        }
        assert!(turns.iter().all(|&own| (9..=10).contains(&own)), "{turns:?}");
        assert!(mosix[2] > mosix[1] && mosix[1] > mosix[0], "as their speeds: {mosix:?}");
        let nodes = results[0]["nodes"].as_array().unwrap();
        let power = |at: usize| nodes[at]["power"].as_f64().unwrap();
        assert!((power(2) / power(0) - 4.0).abs() < 0.01, "{nodes:?}");
        let carried = nodes[0]["nics"][0]["received"].as_u64().unwrap();
        assert!(carried > 1000, "its jobs came over its NIC: {nodes:?}");
        assert_eq!(results[0]["price"], 440.0);
        let runs = results.each_ref().map(|result| result["run"].as_str().unwrap());
        let said = garland.run(&[&["farm", "compare"], &runs[..]].concat()).with_code(0);
        for wanted in ["pull ", "turns ", "mosix ", "slowdown", "440.00"] {
            assert!(said.out.contains(wanted), "{wanted}: {}", said.out);
        }
    };
    let tested = std::panic::catch_unwind(std::panic::AssertUnwindSafe(test));
    let down = garland.run(&["lab", "down"]);
    if let Err(panic) = tested {
        std::panic::resume_unwind(panic);
    }
    let _ = down.with_code(0);
    scratch.assert_nothing_left();
}
