//! Nodes that come, join and go while a copy is under way.

use std::time::Duration;

use garland_testkit::{Garland, Scratch, random_file, until};
use serde_json::Value;

use crate::lab_nodes::slow::{TOPOLOGY, node};
use crate::lab_nodes::stage::Stage;

const BYTES: u64 = 20_000_000;

/// A node's wire goes up or down.
fn wire(stage: &Stage<'_>, node: &str, state: &str) {
    let words = ["lab", "exec", node, "--", "ip", "link", "set", "eth0", state];
    let _ = stage.garland.run(&words).with_code(0);
}

/// The folder of the copy that runs, once nodes can join it.
fn copy_under_way(garland: &Garland<'_>) -> String {
    let mut run = String::new();
    until("a copy that can be joined", || {
        let open = garland.runs().into_iter().find(|run| run.join("door/lock").exists());
        run = open.map(|run| run.display().to_string()).unwrap_or_default();
        !run.is_empty()
    });
    run
}

fn verdict(result: &Value, name: &str) -> String {
    node(result, name)["verdict"].as_str().unwrap_or_default().to_owned()
}

/// One run with all of it: a node comes late, another joins, one leaves, and one has a tenth of the
/// others' wire.
#[test]
fn nodes_come_late_join_leave_and_are_slow_and_each_has_its_verdict() {
    let scratch = Scratch::new("comings");
    let stage = Stage::new(&scratch, TOPOLOGY);
    wire(&stage, "n3", "down");
    let source = scratch.path("source");
    random_file(&source, BYTES, 11);
    let source = source.display().to_string();
    let words = ["cp", "--json", "--no-fsync", &source, "lab:n[1-5]:/x"];
    let copy = stage.garland.start(&words);
    let run = copy_under_way(&stage.garland);
    let refused = stage.garland.run(&["cp", "--join", &run, "lab:n[5-6]"]).with_code(2);
    assert!(
        refused.err.contains("cannot add lab:n5: it already takes part in this copy"),
        "{}",
        refused.err
    );
    let refused = stage.garland.run(&["cp", "--join", &run, "n[8-"]).with_code(2);
    assert!(refused.err.contains("n[8-"), "{}", refused.err);
    let joining = stage.garland.start(&["cp", "--json", "--join", &run, "lab:n6"]);
    std::thread::sleep(Duration::from_millis(500));
    wire(&stage, "n2", "down");
    std::thread::sleep(Duration::from_secs(2));
    wire(&stage, "n3", "up");
    let result = copy.end().with_code(1).json();
    let verdicts: Vec<String> =
        (1..=6).map(|number| verdict(&result, &format!("lab:n{number}"))).collect();
    assert_eq!(verdicts, ["ok", "dead", "ok", "ok", "ok", "ok"], "{result}");
    for name in ["lab:n3", "lab:n4", "lab:n6"] {
        assert_eq!(node(&result, name)["bytes"], BYTES, "{result}");
    }
    let joined = joining.end().with_code(0).json();
    assert_eq!(verdict(&joined, "lab:n6"), "ok", "{joined}");
    assert_eq!(joined["nodes"].as_array().map(Vec::len), Some(1), "{joined}");
    let late = stage.garland.run(&["cp", "--join", &run, "lab:n6"]).with_code(2);
    assert!(late.err.contains(": the copy has ended"), "{}", late.err);
    stage.assert_has(&["n1", "n3", "n4", "n5", "n6"], "x", &source);
}
