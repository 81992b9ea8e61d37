//! Nodes whose wires are slow, or come late.

use std::time::Duration;

use garland_testkit::{Chance, Scratch};
use serde_json::Value;

use crate::lab_nodes::stage::Stage;

/// Six nodes at 100 Mbit/s, of which the fourth has a tenth of that.
pub const TOPOLOGY: &str = r#"version = 1
[topology]
shape = "explicit"
nodes = "n[0-6]"
rate = "100mbit"
[[topology.medium]]
name = "lan"
kind = "switch"
[[topology.medium]]
name = "old"
kind = "switch"
rate = "10mbit"
[[topology.uplink]]
from = "old"
to = "lan"
[[topology.nic]]
nodes = "n[0-3],n[5-6]"
medium = "lan"
address = "10.9.0.[1-6]/24"
[[topology.nic]]
nodes = "n4"
medium = "old"
address = "10.9.0.9/24"
"#;

pub fn node(result: &Value, name: &str) -> Value {
    let mut nodes = result["nodes"].as_array().unwrap().iter();
    nodes.find(|node| node["name"] == name).cloned().unwrap_or_else(|| panic!("{result}"))
}

#[test]
fn a_slow_wire_is_told_and_slows_nobody() {
    const BYTES: u64 = 40_000_000;
    let scratch = Scratch::new("wire-slow");
    let stage = Stage::new(&scratch, TOPOLOGY);
    // Beside other programs all may be as slow as that wire.
    let is_told = (0..4).any(|_| {
        let result = stage.copies(BYTES, "lab:n[1-6]", &[]);
        let rate = |name: &str| node(&result, name)["rate"].as_f64().unwrap();
        let slow = node(&result, "lab:n4");
        assert_eq!(slow["verdict"], "ok", "{result}");
        println!("n4 {:.3e} B/s, n5 {:.3e}: {}", rate("lab:n4"), rate("lab:n5"), slow["slow"]);
        let others = ["lab:n1", "lab:n2", "lab:n3", "lab:n5", "lab:n6"];
        slow["slow"]["rate"].is_u64() && others.iter().all(|n| rate(n) > 2.0 * rate("lab:n4"))
    });
    assert!(is_told, "the slow wire held the others up, or wasn't told");
    assert_sampled_to_the_end(&stage);
    let waited = stage.copies(BYTES / 8, "lab:n[1-6]", &["--on-slow", "wait"]);
    assert!(node(&waited, "lab:n4")["slow"].is_null(), "{waited}");
}

/// In the last copy, both ends of the link to the slow node have counters until its end: the
/// sender's tell what it lost.
fn assert_sampled_to_the_end(stage: &Stage<'_>) {
    let words = ["trace", "export", "last", "--format", "csv"];
    let table = stage.garland.run(&words).with_code(0).out;
    let last = |node: &str, link: &str| {
        let rows = table.lines().filter(|row| row.starts_with(node) && row.contains(link));
        let times = rows.map(|row| {
            let at = row.rsplit('"').next().and_then(|rest| rest.split(',').nth(4));
            at.and_then(|at| at.parse::<u64>().ok()).unwrap_or_else(|| panic!("{row}"))
        });
        times.max().unwrap_or(0)
    };
    let sent = last("", "\"link to lab:n4,");
    let got = last("lab:n4,", "\"link from ");
    assert!(sent + 1_000_000_000 > got, "its sender was sampled until {sent}, it until {got}");
}

/// The node's neighbour feeds it from its file, which is not compressed.
#[test]
fn a_slow_node_gets_compressed_blocks_also_on_the_side() {
    const BYTES: usize = 30_000_000;
    let scratch = Scratch::new("wire-slow-packed");
    let stage = Stage::new(&scratch, TOPOLOGY);
    let mut chance = Chance::new(1, 1);
    let mut line = || format!("node{} took {} ms\n", chance.below(1000), chance.below(1 << 40));
    let text: String = std::iter::repeat_with(&mut line).take(BYTES / 24).collect();
    std::fs::write(scratch.path("text"), &text).expect("there is room");
    let words = ["cp", "--json", "--compress", "zstd", "text", "lab:n[1-6]:/x"];
    let result = stage.garland.run(&words).with_code(0).json();
    let counts =
        stage.garland.run(&["lab", "exec", "n4", "--", "cat", "/proc/net/dev"]).with_code(0).out;
    let received = counts.lines().find_map(|line| line.split_once("eth0:"));
    let received = received.and_then(|(_, counts)| counts.split_whitespace().next()?.parse().ok());
    let received: u64 = received.unwrap_or_else(|| panic!("{counts}"));
    // A third is enough; what was on its way when another one began to feed it comes twice.
    assert!(received < text.len() as u64 * 6 / 10, "{received} bytes: {}", node(&result, "lab:n4"));
}

/// Which nodes could be had at first: n3's wire is cut when the copy begins.
#[test]
fn a_node_that_comes_late_ends_with_the_whole_file() {
    let scratch = Scratch::new("late");
    let stage = Stage::new(
        &scratch,
        "version = 1\n[topology]\nshape = \"switch\"\nnodes = 4\nrate = \"20mbit\"\n",
    );
    let wire = |state: &str| {
        let words = ["lab", "exec", "n3", "--", "ip", "link", "set", "eth0", state];
        let _ = stage.garland.run(&words).with_code(0);
    };
    wire("down");
    let source = scratch.folder().join("late.bin");
    garland_testkit::random_file(&source, 60_000_000, 7);
    let source = source.display().to_string();
    let words = ["cp", "--json", "--no-fsync", &source, "lab:n[1-4]:/x"];
    let copy = stage.garland.start(&words);
    std::thread::sleep(Duration::from_secs(2));
    wire("up");
    let result = copy.end().with_code(0).json();
    assert_eq!(node(&result, "lab:n3")["verdict"], "ok", "{result}");
    assert_eq!(node(&result, "lab:n3")["bytes"], 60_000_000, "{result}");
    stage.assert_has(&["n1", "n2", "n3", "n4"], "x", &source);
}
