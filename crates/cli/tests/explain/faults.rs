//! Known faults: the right one first.

use garland_testkit::Scratch;

use crate::stage::{Stage, first_fault, without_cause};

/// The first fault is one of `wanted`, and no more than the share `unknown` of the time has no cause.
#[track_caller]
fn assert_first(
    stage: &Stage<'_>,
    (mebibytes, more): (u64, &[&str]),
    unknown: f64,
    wanted: &[&str],
) {
    let explained = stage.explained_until(mebibytes, more, |explained| {
        wanted.contains(&first_fault(explained).as_str()) && without_cause(explained) < unknown
    });
    let found = first_fault(&explained);
    assert!(wanted.contains(&found.as_str()), "{found} isn't {wanted:?}: {explained:#}");
    assert!(without_cause(&explained) < unknown, "{explained:#}");
}

/// Where a node is fed by a neighbor that notes nothing yet of what it waits for.
const FED: f64 = 0.5;

/// Where there is no such thing; at best it is less than 0.05.
const ALL: f64 = 0.2;

#[test]
fn a_slow_source_is_found() {
    let scratch = Scratch::new("explain-source");
    let stage = Stage::new(&scratch, "");
    let slow_source = ["--inject", "source-disk:500ms/10MiB"];
    assert_first(&stage, (64, &slow_source), ALL, &["source disk head"]);
}

#[test]
fn slow_disks_are_found_wherever_they_are() {
    let scratch = Scratch::new("explain-disks");
    let stage = Stage::new(&scratch, "");
    // Too slow for the others: it is fed afterwards, and is late alone.
    let slow_sink = ["--inject", "sink-disk:n2:500ms/10MiB"];
    assert_first(&stage, (96, &slow_sink), FED, &["sink disk n2", "straggler n2"]);
    let all = ["n1", "n2", "n3"].map(|node| format!("sink-disk:{node}:400ms/8MiB"));
    let all: Vec<&str> = all.iter().flat_map(|fault| ["--inject", fault]).collect();
    let is_found = |explained: &_| first_fault(explained).starts_with("sink disk");
    let explained = stage.explained_until(64, &all, is_found);
    assert!(is_found(&explained), "{explained:#}");
}

#[test]
fn slow_wires_are_found_by_their_hop() {
    let scratch = Scratch::new("explain-wires");
    let stage = Stage::new(&scratch, "");
    let shape = ["rate", "100mbit", "burst", "12500", "limit", "262144"];
    let throttle = ["tc", "qdisc", "replace", "dev", "eth0", "root", "tbf"];
    stage.on("n2", &[&throttle[..], &shape].concat());
    assert_first(&stage, (48, &[]), ALL, &["wire n2 to n3"]);
    stage.on("n2", &["tc", "qdisc", "del", "dev", "eth0", "root"]);
    // Where it comes in: what is dropped on its way out was never sent, as far as TCP can tell.
    let lossy = "table netdev lossy { chain in { type filter hook ingress device \"eth0\" \
                 priority 0; policy accept; meta length > 1000 numgen random mod 100 < 4 drop; }; }";
    let file = scratch.folder().join("lossy.nft");
    std::fs::write(&file, lossy.replace("; ", ";\n").replace("{ ", "{\n")).unwrap();
    stage.on("n2", &["nft", "-f", &file.display().to_string()]);
    let is_found = |explained: &_| first_fault(explained) == "wire n1 to n2";
    let explained = stage.explained_until(32, &[], is_found);
    assert!(is_found(&explained), "{explained:#}");
    let resent = explained["resent"].as_array().unwrap().iter();
    let shares = resent.map(|resent| resent["share"].as_f64().unwrap());
    assert!(shares.fold(0.0, f64::max) > 0.005, "{explained:#}");
}

#[test]
fn a_node_that_lacks_a_processor_is_found() {
    let scratch = Scratch::new("explain-starved");
    let stage = Stage::new(&scratch, "[[topology.node]]\nnames = \"n2\"\ncpu = 0.04\n");
    assert_first(&stage, (12, &[]), FED, &["processor n2"]);
}

#[test]
fn a_head_that_lacks_a_processor_is_found() {
    let scratch = Scratch::new("explain-head");
    let stage = Stage::new(&scratch, "[[topology.node]]\nnames = \"n0\"\ncpu = 0.04\n");
    assert_first(&stage, (12, &[]), ALL, &["source CPU head", "source CPU n0"]);
}
