//! Nodes with slow disks.

use garland_testkit::Scratch;
use serde_json::Value;

use crate::lab_nodes::stage::Stage;

fn topology(disk: &str) -> String {
    format!(
        "version = 1\n[topology]\nshape = \"switch\"\nnodes = 3\nrate = \"400mbit\"\n\
         [[topology.node]]\nnames = \"n2\"\ndisk = \"{disk}\"\n"
    )
}

/// Nanoseconds from the stream's beginning until all bytes are on all disks.
fn writing(result: &Value) -> f64 {
    let phases = result["phases"].as_array().unwrap().iter();
    let wanted = phases.filter(|phase| {
        ["first byte", "stream", "drain"].iter().any(|name| phase["name"] == *name)
    });
    wanted.map(|phase| phase["ns"].as_f64().unwrap()).sum()
}

#[test]
fn a_disk_writes_no_faster_than_it_is() {
    const BYTES: u64 = 60_000_000;
    let scratch = Scratch::new("disk-rate");
    let stage = Stage::new(&scratch, &topology("20MB/s"));
    // Whatever else this machine does makes it slower: blocks are opened between writes.
    let is_right = |rate: &f64| *rate > 12.0;
    let mut rates = Vec::new();
    while rates.len() < 4 && !rates.last().is_some_and(is_right) {
        rates.push(BYTES as f64 / (writing(&stage.copies(BYTES, "lab:n2", &[])) / 1e9) / 1e6);
        assert!(rates.iter().all(|rate| *rate < 21.0), "{rates:.2?} MB/s");
    }
    assert!(rates.last().is_some_and(is_right), "{rates:.2?} MB/s");
}

#[test]
fn a_slow_disk_is_told_and_slows_nobody() {
    const BYTES: u64 = 120_000_000;
    let scratch = Scratch::new("disk-slow");
    let stage = Stage::new(&scratch, &topology("15MB/s"));
    // Beside other programs the stream may be no faster than that disk.
    let is_told = (0..4).any(|_| {
        let result = stage.copies(BYTES, "lab:n[1-3]", &[]);
        let node = |name: &str| -> Value {
            let mut nodes = result["nodes"].as_array().unwrap().iter();
            nodes.find(|node| node["name"] == name).cloned().unwrap_or_else(|| panic!("{result}"))
        };
        let slow = node("lab:n2");
        let others = ["lab:n1", "lab:n3"].map(node);
        assert!(slow["verdict"] == "ok", "{result}");
        for other in &others {
            assert!(other["verdict"] == "ok" && other["detached"] == false, "{result}");
        }
        let rate = |node: &Value| node["rate"].as_f64().unwrap();
        println!(
            "{:.3e} B/s beside {:.3e} and {:.3e}",
            rate(&slow),
            rate(&others[0]),
            rate(&others[1])
        );
        slow["detached"] == true && others.iter().all(|other| rate(other) > 1.3 * rate(&slow))
    });
    assert!(is_told, "the slow disk held the others up, or wasn't told");
}
