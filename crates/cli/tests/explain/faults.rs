//! Known faults: the right one first.

use garland_testkit::Scratch;

use crate::stage::{Stage, first_fault, unknown};

#[track_caller]
fn assert_first(stage: &Stage<'_>, mebibytes: u64, more: &[&str], wanted: &[&str]) {
    let explained = stage.explained(mebibytes, more);
    let found = first_fault(&explained);
    assert!(wanted.contains(&found.as_str()), "{found} isn't {wanted:?}: {explained:#}");
    assert!(unknown(&explained) < 0.1, "{explained:#}");
}

#[test]
fn injected_stalls_are_found_at_their_nodes() {
    let scratch = Scratch::new("explain-stalls");
    let stage = Stage::new(&scratch, "");
    let slow_source = ["--inject", "source-disk:500ms/10MiB"];
    assert_first(&stage, 64, &slow_source, &["source disk head"]);
    let slow_sync = ["--inject", "fsync:n2:1500ms"];
    assert_first(&stage, 64, &slow_sync, &["fsync n2"]);
    let idle_sender = ["--inject", "pause:500ms/10MiB"];
    assert_first(&stage, 64, &idle_sender, &["pause head"]);
    let late_answer = ["--inject", "control:n2:900ms"];
    assert_first(&stage, 64, &late_answer, &["final acknowledgement n2"]);
}

#[test]
fn slow_disks_are_found_wherever_they_are() {
    let scratch = Scratch::new("explain-disks");
    let stage = Stage::new(&scratch, "");
    // Too slow for the others: it is fed afterwards, and is late alone. Who feeds it doesn't note yet
    // what it waits for, so part of that time stays without a cause.
    let slow_sink = ["--inject", "sink-disk:n2:500ms/10MiB"];
    let found = first_fault(&stage.explained(96, &slow_sink));
    assert!(["sink disk n2", "straggler n2"].contains(&found.as_str()), "{found}");
    let all = ["n1", "n2", "n3"].map(|node| format!("sink-disk:{node}:400ms/8MiB"));
    let all: Vec<&str> = all.iter().flat_map(|fault| ["--inject", fault]).collect();
    let explained = stage.explained(64, &all);
    assert!(first_fault(&explained).starts_with("sink disk"), "{explained:#}");
}

#[test]
fn slow_wires_are_found_by_their_hop() {
    let scratch = Scratch::new("explain-wires");
    let stage = Stage::new(&scratch, "");
    let shape = ["rate", "100mbit", "burst", "12500", "limit", "262144"];
    let throttle = ["tc", "qdisc", "replace", "dev", "eth0", "root", "tbf"];
    stage.on("n2", &[&throttle[..], &shape].concat());
    assert_first(&stage, 48, &[], &["wire n2 to n3"]);
    stage.on("n2", &["tc", "qdisc", "del", "dev", "eth0", "root"]);
    // Where it comes in: what is dropped on its way out was never sent, as far as TCP can tell.
    let lossy = "table netdev lossy { chain in { type filter hook ingress device \"eth0\" \
                 priority 0; policy accept; meta length > 1000 numgen random mod 100 < 4 drop; }; }";
    let file = scratch.folder().join("lossy.nft");
    std::fs::write(&file, lossy.replace("; ", ";\n").replace("{ ", "{\n")).unwrap();
    stage.on("n2", &["nft", "-f", &file.display().to_string()]);
    let explained = stage.explained(32, &[]);
    assert_eq!(first_fault(&explained), "wire n1 to n2", "{explained:#}");
    let resent = explained["resent"].as_array().unwrap().iter();
    let shares = resent.map(|resent| resent["share"].as_f64().unwrap());
    assert!(shares.fold(0.0, f64::max) > 0.005, "{explained:#}");
}

#[test]
fn a_node_that_lacks_a_processor_is_found() {
    let scratch = Scratch::new("explain-starved");
    let stage = Stage::new(&scratch, "[[topology.node]]\nnames = \"n2\"\ncpu = 0.04\n");
    // It may be fed by a neighbor, whose waiting has no cause yet.
    assert_eq!(first_fault(&stage.explained(12, &[])), "processor n2");
}

#[test]
fn a_head_that_lacks_a_processor_is_found() {
    let scratch = Scratch::new("explain-head");
    let stage = Stage::new(&scratch, "[[topology.node]]\nnames = \"n0\"\ncpu = 0.04\n");
    assert_first(&stage, 12, &[], &["source CPU head", "source CPU n0"]);
}
