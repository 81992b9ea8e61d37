//! Nodes that get contents by themselves, with the key of the cluster: at the same time, one after
//! another, and while some of them die.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use garland_lab::fault;
use garland_testkit::{Chance, RunOutput, Running, Scratch, env_number, random_file};
use serde_json::Value;

use crate::lab_nodes::stage::Stage;

const BYTES: u64 = 15_000_000;

/// Seven nodes, each with a wire of 60 Mbit/s: the file takes two seconds.
const TOPOLOGY: &str = "\
version = 1
name = \"members\"
[topology]
shape = \"star\"
nodes = \"n[0-7]\"
rate = \"60mbit\"
";

/// Returns the file of the key that the agent of a node keeps.
fn key(scratch: &Scratch, node: &str) -> PathBuf {
    let folder = scratch.state().join(node).join("names");
    let mut files = fs::read_dir(folder).expect("it has names").flatten().map(|file| file.path());
    files.find(|path| path.extension().is_some_and(|it| it == "key")).expect("it has a key")
}

/// Starts a command on a node, as a member of the cluster.
fn start(stage: &Stage<'_>, scratch: &Scratch, node: &str, words: &[&str]) -> Running {
    let variable = format!("GARLAND_CLUSTER_KEY={}", key(scratch, node).display());
    let program = env!("CARGO_BIN_EXE_garland");
    let before = ["lab", "exec", node, "--", "env", &variable, program];
    stage.garland.start(&[&before, words].concat())
}

fn get(stage: &Stage<'_>, scratch: &Scratch, node: &str) -> Running {
    let to = format!("{}/", stage.root(node).display());
    start(stage, scratch, node, &["get", "--json", "model:1", &to])
}

/// Starts the agents of all nodes but n0, gives `holders` a new file, and publishes it. Returns the
/// file.
fn publish(stage: &Stage<'_>, scratch: &Scratch, holders: &str, seed: u64) -> PathBuf {
    let source = scratch.path("source");
    let garland = &stage.garland;
    random_file(&source, BYTES, seed);
    let shown = source.display().to_string();
    let last = stage.lab.spec().topology.nodes.len() - 1;
    let _ = garland.run(&["up", &format!("lab:n[1-{last}]")]).with_code(0);
    let _ = garland.run(&["cp", &shown, &format!("{holders}:/m/")]).with_code(0);
    let published = format!("{holders}:/m/source");
    let _ = garland.run(&["publish", &published, "--as", "model:1"]).with_code(0);
    source
}

/// Returns how many bytes came from a holder.
fn given(result: &Value, holder: &str) -> u64 {
    let holders = result["holders"].as_array().map(Vec::as_slice).unwrap_or_default();
    let of = holders.iter().filter(|share| share["node"] == holder);
    of.map(|share| share["bytes"].as_u64().unwrap_or(0)).sum()
}

fn whole(said: RunOutput) -> Value {
    said.with_code(0).json()
}

#[test]
fn nodes_follow_each_other_and_one_that_comes_later_needs_no_particular_holder() {
    let scratch = Scratch::new("members");
    let stage = Stage::new(&scratch, TOPOLOGY);
    let source = publish(&stage, &scratch, "lab:n1", 5);
    // All at once: the holder is read once, and little more.
    let nodes = ["n2", "n3", "n4", "n5"];
    let running = nodes.map(|node| get(&stage, &scratch, node));
    let results = running.map(|it| whole(it.end()));
    stage.assert_has(&nodes, "source", &source);
    let of_holder: u64 = results.iter().map(|result| given(result, "lab:n1")).sum();
    assert!((BYTES..=BYTES + BYTES / 10).contains(&of_holder), "{of_holder} of {BYTES}");
    let listed = stage.garland.run(&["names"]).with_code(0).out;
    assert!(listed.contains("held by lab:n[1-5]"), "{listed}");
    // A node sees the list, and changes nothing.
    let seen = start(&stage, &scratch, "n7", &["names"]).end().with_code(0).out;
    assert_eq!(seen, listed);
    let shown = source.display().to_string();
    for words in [&["unpublish", "model:1"][..], &["publish", &shown, "--as", "model:1"]] {
        let refused = start(&stage, &scratch, "n7", words).end().with_code(2);
        assert!(refused.err.contains("it can read names, not change them"), "{}", refused.err);
    }
    // The first holder is gone, and so is a keeper with it.
    assert!(fault::kill(&stage.lab, "n1").expect("it can be killed") > 0);
    let late = whole(get(&stage, &scratch, "n7").end());
    stage.assert_has(&["n7"], "source", &source);
    assert_eq!(given(&late, "lab:n1"), 0, "{late}");
    // With another key, those that do not have it are strangers.
    let old = fs::read(key(&scratch, "n7")).expect("it has a key");
    // Who is not told is named: n1 would accept the old keys.
    let changed = stage.garland.run(&["up", "--new-cluster-key", "lab:n[2-7]"]).with_code(1);
    assert!(changed.err.contains("lab:n1 does not know who the members are"), "{}", changed.err);
    assert_ne!(fs::read(key(&scratch, "n7")).expect("it has a key"), old);
    assert_eq!(start(&stage, &scratch, "n7", &["names"]).end().with_code(0).out.lines().count(), 1);
    fs::write(key(&scratch, "n7"), old).expect("it is written");
    let stranger = start(&stage, &scratch, "n7", &["names"]).end().with_code(3);
    assert!(stranger.err.contains("no standing agent answers"), "{}", stranger.err);
    let kept = key(&scratch, "n6");
    let _ = stage.garland.run(&["down", "lab:n[2-7]"]).with_code(0);
    assert!(!kept.exists(), "an agent that ends takes its key back");
}

#[test]
fn those_that_follow_one_that_dies_go_on_with_others() {
    let scratch = Scratch::new("members-die");
    let stage = Stage::new(&scratch, TOPOLOGY);
    let source = publish(&stage, &scratch, "lab:n7", 6);
    let first = get(&stage, &scratch, "n4");
    std::thread::sleep(Duration::from_millis(300));
    let followers = ["n5", "n6"].map(|node| get(&stage, &scratch, node));
    std::thread::sleep(Duration::from_millis(700));
    // The node with all its processes, and one of the three that keep the list.
    for node in ["n4", "n1"] {
        assert!(fault::kill(&stage.lab, node).expect("it can be killed") > 0);
    }
    drop(first);
    for (node, running) in ["n5", "n6"].into_iter().zip(followers) {
        let _ = whole(running.end());
        stage.assert_has(&[node], "source", &source);
    }
    let _ = stage.garland.run(&["down", "lab:n[1-7]"]);
}

/// Two racks of four nodes; the uplinks carry what two nodes can.
const RACKS: &str = "\
version = 1
name = \"members\"
[topology]
shape = \"leaf-spine\"
nodes = \"n[0-7]\"
leaves = 2
spines = 1
rate = \"60mbit\"
uplink = \"120mbit\"
";

#[test]
fn a_rack_is_entered_once_however_many_of_its_nodes_ask() {
    let scratch = Scratch::new("members-racks");
    let stage = Stage::new(&scratch, RACKS);
    let source = publish(&stage, &scratch, "lab:n1", 7);
    // Some of each rack begin in turns, so that the one before is often in the other rack.
    let running = ["n4", "n2", "n5", "n3", "n6"].map(|node| {
        std::thread::sleep(Duration::from_millis(200));
        (node, get(&stage, &scratch, node))
    });
    let results = running.map(|(node, it)| (node, whole(it.end())));
    let far = |node: &str, holder: &str| (node < "n4") != (holder < "n4");
    let racks = ["n1", "n2", "n3", "n4", "n5", "n6"];
    let crossed: u64 = results
        .iter()
        .flat_map(|(node, result)| racks.map(|holder| (node, result, holder)))
        .filter(|(node, _, holder)| far(node, holder))
        .map(|(_, result, holder)| given(result, &format!("lab:{holder}")))
        .sum();
    assert!((BYTES..=BYTES + BYTES / 5).contains(&crossed), "{crossed} of {BYTES}");
    // One of the rack that has it is read, not one of the other.
    let late = whole(get(&stage, &scratch, "n7").end());
    let near: u64 = ["n4", "n5", "n6"].map(|it| given(&late, &format!("lab:{it}"))).iter().sum();
    assert_eq!(near, BYTES, "{late}");
    stage.assert_has(&["n2", "n3", "n4", "n5", "n6", "n7"], "source", &source);
    let _ = stage.garland.run(&["down", "lab:n[1-7]"]);
}

#[test]
fn those_that_removed_the_content_are_not_counted_as_holders() {
    let scratch = Scratch::new("members-removed");
    let stage = Stage::new(&scratch, TOPOLOGY);
    let source = publish(&stage, &scratch, "lab:n[1-4]", 8);
    for node in ["n2", "n3", "n4"] {
        fs::remove_dir_all(stage.root(node).join("m")).expect("it is removed");
    }
    let running = ["n5", "n6", "n7"].map(|node| {
        std::thread::sleep(Duration::from_millis(150));
        get(&stage, &scratch, node)
    });
    let results = running.map(|it| whole(it.end()));
    stage.assert_has(&["n5", "n6", "n7"], "source", &source);
    let of_holder: u64 = results.iter().map(|result| given(result, "lab:n1")).sum();
    assert!((BYTES..=BYTES + BYTES / 5).contains(&of_holder), "{of_holder} of {BYTES}");
    let _ = stage.garland.run(&["down", "lab:n[1-7]"]);
}

/// How many times nodes are killed at random, each time in a new lab.
fn rounds() -> u64 {
    if std::env::var_os("GARLAND_SOAK").is_some() { 30 } else { 2 }
}

#[test]
fn whoever_dies_at_random_those_that_live_get_all() {
    let seed = env_number("GARLAND_SOAK").unwrap_or(0);
    for round in 0..rounds() {
        let mut chance = Chance::new(seed, round);
        let scratch = Scratch::new("members-random");
        let stage = Stage::new(&scratch, &TOPOLOGY.replace("n[0-7]", "n[0-10]"));
        // n1 to n3 keep the list.
        let source = publish(&stage, &scratch, "lab:n[9-10]", round);
        let mut getters: Vec<String> = (1..=8).map(|node| format!("n{node}")).collect();
        chance.shuffle(&mut getters);
        let mut running = Vec::new();
        for node in &getters {
            std::thread::sleep(Duration::from_millis(chance.below(150)));
            running.push((node.clone(), get(&stage, &scratch, node)));
        }
        // A keeper, a holder, and two others at most, so that one of each lives.
        let mut dying = vec![chance.pick(&["n1", "n2", "n3"]), chance.pick(&["n9", "n10"])];
        dying.extend((0..2).map(|_| chance.pick(&["n4", "n5", "n6", "n7", "n8"])));
        chance.shuffle(&mut dying);
        for node in &dying {
            std::thread::sleep(Duration::from_millis(chance.below(600)));
            let _ = fault::kill(&stage.lab, node).expect("it can be killed");
        }
        running.retain(|(node, _)| !dying.contains(&node.as_str()));
        for (node, it) in running {
            let said = it.end();
            let told = format!("seed {seed}, round {round}, {dying:?} died: {node}: {said:?}");
            assert_eq!(said.code, 0, "{told}");
            stage.assert_has(&[&node], "source", &source);
        }
        let _ = stage.garland.run(&["down", "lab:n[1-10]"]);
    }
}
