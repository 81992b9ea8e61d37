//! The balance of clusters whose wires and disks are known.

use garland_testkit::Scratch;
use serde_json::Value;

use crate::lab_nodes::stage::Stage;

fn topology(rate: &str, disk: &str) -> String {
    format!(
        "version = 1\n[topology]\nshape = \"switch\"\nnodes = 4\nrate = \"{rate}\"\n\
         [[topology.node]]\nnames = \"n[1-4]\"\ndisk = \"{disk}\"\n"
    )
}

fn balances(name: &str, rate: &str, disk: &str) -> Value {
    let scratch = Scratch::new(name);
    let stage = Stage::new(&scratch, &topology(rate, disk));
    let words = ["balance", "--json", "--no-fsync", "--rounds", "1", "--sizes", "1MB"];
    let said = stage.garland.run(&[&words[..], &["lab:n[1-4]:/"]].concat()).with_code(0);
    serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {}", said.out))
}

fn binding(result: &Value) -> Vec<&str> {
    let points = result["points"].as_array().unwrap_or_else(|| panic!("no points: {result}"));
    points.iter().map(|point| point["resource"].as_str().unwrap_or("-")).collect()
}

fn rate(result: &Value, point: usize, key: &str) -> f64 {
    result["points"][point][key].as_f64().unwrap_or_else(|| panic!("no {key}: {result}"))
}

#[test]
fn slow_disks_bind_and_a_remote_copy_has_two_of_them() {
    let result = balances("balance-disks", "200mbit", "1MB/s");
    assert_eq!(binding(&result), ["disk"; 3], "{result}");
    // A local copy reads and writes on one disk: at most half of its rate.
    assert!(rate(&result, 0, "rate") < 1.01e6, "{result}");
    assert!(rate(&result, 2, "rate") > 1.2 * rate(&result, 0, "rate"), "{result}");
    assert!(rate(&result, 0, "disk_twice") > 1.5 * rate(&result, 0, "rate"), "{result}");
    let text = result["verdicts"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("the disks are the bottleneck with every number of remote copies"),
        "{text}"
    );
}

#[test]
fn slow_wires_bind_as_soon_as_a_copy_is_remote() {
    let result = balances("balance-wires", "5mbit", "20MB/s");
    let limits = binding(&result);
    assert_eq!(limits[1..], ["network"; 2], "{result}");
    assert_eq!(result["verdicts"][0]["balance"], 0, "{result}");
    assert!(rate(&result, 2, "rate") < rate(&result, 0, "rate"), "{result}");
    assert!(rate(&result, 2, "network_twice") > 1.5 * rate(&result, 2, "rate"), "{result}");
}
