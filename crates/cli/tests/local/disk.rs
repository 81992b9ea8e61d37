//! `garland disk` end to end, on agents that are processes of this machine and real file systems.

use garland_testkit::{Garland, RunOutput, Running, Scratch, Wire, until};
use serde_json::Value;

use crate::garland_in;

/// Starts `garland disk ARGUMENTS` with the nodes' folders in the scratch folder.
fn start(garland: &Garland<'_>, scratch: &Scratch, arguments: &[&str]) -> Running {
    let roots = scratch.path("roots").display().to_string();
    garland.start(&[&["disk", "--local-root", &roots], arguments].concat())
}

/// Runs it to its end.
fn disk(garland: &Garland<'_>, scratch: &Scratch, arguments: &[&str]) -> RunOutput {
    start(garland, scratch, arguments).end()
}

/// Nothing is left in the nodes' folders, under any name.
#[track_caller]
fn nothing_written(scratch: &Scratch, nodes: &[&str]) {
    for node in nodes {
        let left = std::fs::read_dir(scratch.root(node)).into_iter().flatten().count();
        assert_eq!(left, 0, "files of {node}");
    }
    scratch.assert_nothing_left();
}

/// Measurements of one kind, in their order.
fn of<'a>(node: &'a Value, kind: [&str; 3]) -> Vec<&'a Value> {
    let all = node["measurements"].as_array().expect("a node has measurements");
    let is = |one: &&Value| {
        [&one["direction"], &one["pattern"], &one["mode"]]
            .into_iter()
            .zip(kind)
            .all(|(a, b)| a == b)
    };
    all.iter().filter(is).collect()
}

/// A size that a test of disks takes also where little room is left: a hundredth of what is free is
/// always taken, a larger file only if 4 GiB are left beside it.
const SMALL_FILE: &str = "8MiB";

/// Mounts a file system in the folder of `local1`, in a view of its own.
fn mounted(scratch: &Scratch, mount: &str) -> Wire {
    let root = scratch.root("local1");
    std::fs::create_dir_all(&root).expect("it can be made");
    Wire::quick().and(&mount.replace("ROOT", &format!("'{}'", root.display())))
}

#[test]
fn every_kind_is_measured_cold_and_nothing_is_left() {
    let scratch = Scratch::new("disk-all");
    let garland = garland_in(&scratch);
    let said = disk(
        &garland,
        &scratch,
        &["--json", "--size", SMALL_FILE, "--time", "100ms", "--depth", "4", "local[1-2]:/"],
    );
    let result = said.with_code(0).json();
    assert_eq!(result["schema"], "garland.disk/2");
    for node in result["nodes"].as_array().unwrap() {
        assert_eq!(node["verdict"], "ok", "{node}");
        let place = &node["place"];
        for direction in ["read", "write"] {
            let cached = of(node, [direction, "sequential", "buffered"]);
            assert_eq!(cached.len(), 1);
            assert!(cached[0]["rate"].as_f64().unwrap() > 0.0);
            // On a disk the cache was cold, and the kernel says so.
            if place["in_memory"] == false {
                assert_eq!(cached[0]["before"]["cached"], 0, "{node}");
            }
            if place["no_direct"] == "" {
                let swept = of(node, [direction, "random", "direct"]);
                let depths: Vec<_> = swept.iter().map(|one| &one["depth"]).collect();
                assert!(depths.starts_with(&[&1.into(), &2.into()]), "{depths:?}");
                assert_eq!(swept.iter().filter(|one| one["is_knee"] == true).count(), 1);
                for one in swept {
                    let times = &one["times"];
                    let at = |name: &str| times[name].as_u64().unwrap();
                    assert!(at("min") <= at("p50") && at("p50") <= at("p99"), "{one}");
                    assert!(at("p99") <= at("max"), "{one}");
                    assert!(one["bytes"].as_u64().unwrap() <= 8 << 20, "{one}");
                }
            }
        }
    }
    let run = &garland.runs()[0];
    assert!(run.join("result.json").exists());
    nothing_written(&scratch, &["local1", "local2"]);
}

#[test]
fn only_what_is_wanted_is_measured_once_the_file_is_written() {
    let scratch = Scratch::new("disk-only");
    let garland = garland_in(&scratch);
    let options = ["--json", "--size", SMALL_FILE, "--time", "20ms", "--depth", "2", "--only"];
    let kinds = |only: &str| -> Vec<[String; 3]> {
        let result = disk(&garland, &scratch, &[&options[..], &[only, "local1"]].concat())
            .with_code(0)
            .json();
        let all = result["nodes"][0]["measurements"].as_array().cloned().unwrap_or_default();
        let word = |one: &Value, name: &str| one[name].as_str().unwrap_or_default().to_owned();
        let kind = |one: &Value| ["direction", "pattern", "mode"].map(|name| word(one, name));
        all.iter().map(kind).collect()
    };
    let first = ["write", "sequential", "buffered"].map(str::to_owned);
    for only in ["write,random,stable", "read,sequential", "random"] {
        let events = kinds(only);
        let (begun, rest) = events.split_first().expect("the file was written");
        assert_eq!(*begun, first);
        assert!(!rest.is_empty(), "{only}");
        for kind in rest {
            assert!(only.split(',').all(|word| kind.iter().any(|one| one == word)), "{kind:?}");
        }
    }
    let refused = disk(&garland, &scratch, &["--only", "read,write", "local1"]).with_code(2);
    assert!(refused.err.contains("at most one of read and write"), "{}", refused.err);
    nothing_written(&scratch, &["local1"]);
}

#[test]
fn tables_are_for_people() {
    let scratch = Scratch::new("disk-table");
    let said = disk(
        &garland_in(&scratch),
        &scratch,
        &["--size", SMALL_FILE, "--time", "20ms", "--depth", "2", "--one-by-one", "local[1-2]"],
    );
    let said = said.with_code(0);
    for part in ["sequential, 1 MiB, MB/s", "\nlocal1", "\nlocal2", "one by one", "stable"] {
        assert!(said.out.contains(part), "{part} in\n{}", said.out);
    }
    nothing_written(&scratch, &["local1", "local2"]);
}

#[test]
fn what_cannot_be_is_said_before_anything_is_written() {
    let scratch = Scratch::new("disk-bad");
    let garland = garland_in(&scratch);
    let missing = disk(&garland, &scratch, &["--size", "1MiB", "local[1-2]:/none"]).with_code(3);
    insta::assert_snapshot!(
        missing.out,
        @"failed  local[1-2]: cannot open the directory /none: no such file or directory"
    );
    let full = disk(&garland, &scratch, &["--size", "60TiB", "local1:/"]).with_code(3);
    assert!(
        full.out.contains("not enough space on /: the test needs 60.00 TiB and"),
        "{}",
        full.out
    );
    for (arguments, reason) in [
        (["--size", "0", "local1"], "--size 0: the size must be from 1.00 MiB to"),
        (["--time", "0s", "local1"], "--time 0s: 0 ns per measurement: must be"),
        (["--size", "many", "local1"], "many"),
        (["--size", "1MiB", "/tmp"], "`/tmp` is a path on this machine"),
    ] {
        let said = disk(&garland, &scratch, &arguments).with_code(2);
        assert!(said.err.contains(reason), "{reason} in {}", said.err);
    }
    let has_hint = |size: &str| {
        let said = disk(&garland, &scratch, &["--size", size, "local1"]).with_code(2);
        assert!(said.err.contains("the size must be from 1.00 MiB to 64.00 TiB"), "{}", said.err);
        said.err.contains("choose a file larger than memory")
    };
    assert_eq!([has_hint("4KiB"), has_hint("100TiB")], [true, false]);
    nothing_written(&scratch, &["local1", "local2"]);
}

#[test]
fn memory_and_small_disks_are_named() {
    let scratch = Scratch::new("disk-small");
    let wire = mounted(&scratch, "mount -t tmpfs -o size=24m none ROOT");
    let garland = garland_in(&scratch).over(wire);
    let said =
        disk(&garland, &scratch, &["--size", "24MiB", "--time", "20ms", "local1:/"]).with_code(3);
    let reason =
        "not enough space on /: the test needs 24.00 MiB and leaves 1.20 MiB free, but only";
    assert!(said.out.contains(reason), "{}", said.out);
    let said =
        disk(&garland, &scratch, &["--size", "16MiB", "--time", "20ms", "local1:/"]).with_code(0);
    let note = "local1: tmpfs is in memory: no disk was measured";
    assert!(said.out.contains(note), "{}", said.out);
    scratch.assert_nothing_left();
}

#[test]
fn a_folder_that_can_t_be_written_is_named() {
    let scratch = Scratch::new("disk-read-only");
    let wire = mounted(&scratch, "mount -t tmpfs -o ro none ROOT");
    let said = disk(&garland_in(&scratch).over(wire), &scratch, &["--size", "1MiB", "local1:/"]);
    insta::assert_snapshot!(
        said.with_code(3).out,
        @"failed  local1: cannot create a file in /: read-only file system"
    );
    scratch.assert_nothing_left();
}

/// How many seconds a long test is given to measure something: how many it takes depends on what
/// else this machine does.
const PATIENCE: [u64; 3] = [1, 3, 8];

/// Starts a long test of two nodes, and gives it so many seconds from when both have a file.
fn long(scratch: &Scratch, seconds: u64) -> Running {
    let garland = garland_in(scratch);
    // Of a smaller file all is measured in three seconds.
    let options = ["--json", "--size", "24MiB", "--time", "2s", "local[1-2]:/"];
    let mut running = start(&garland, scratch, &options);
    // A file without a name is seen by its descriptor alone.
    let has_file = |node: &str| {
        let root = scratch.root(node);
        let agents = scratch.processes().into_iter().filter(|one| one.is_agent(Some(&root)));
        let folders = agents.map(|agent| format!("/proc/{}/fd", agent.pid));
        let mut links = folders
            .flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten())
            .filter_map(|link| std::fs::read_link(link.path()).ok());
        links.any(|link| link.starts_with(&root))
    };
    until("files of both tests", || {
        assert!(running.is_running(), "the test ended before both nodes had a file");
        has_file("local1") && has_file("local2")
    });
    std::thread::sleep(std::time::Duration::from_secs(seconds));
    running
}

fn has_measured(node: &Value) -> bool {
    !node["measurements"].as_array().expect("a node has measurements").is_empty()
}

#[test]
fn an_agent_that_dies_keeps_what_it_told_and_leaves_no_file() {
    let kept = PATIENCE.into_iter().any(|seconds| {
        let scratch = Scratch::new("disk-killed");
        let running = long(&scratch, seconds);
        garland_in(&scratch).agent("local1").kill();
        let result = running.end().with_code(1).json();
        let node = &result["nodes"][0];
        assert_eq!(node["verdict"], "failed");
        assert!(node["reason"].as_str().unwrap().contains("its agent"), "{node}");
        assert_eq!(result["nodes"][1]["verdict"], "ok");
        nothing_written(&scratch, &["local1", "local2"]);
        has_measured(node)
    });
    assert!(kept, "nothing was measured before the agent died");
}

#[test]
fn an_interrupted_test_keeps_what_was_measured() {
    let kept = PATIENCE.into_iter().any(|seconds| {
        let scratch = Scratch::new("disk-interrupted");
        let running = long(&scratch, seconds);
        running.process().interrupt();
        let result = running.end().with_code(130).json();
        assert_eq!(result["interrupted"], true);
        let nodes = result["nodes"].as_array().unwrap();
        assert!(nodes.iter().all(|node| node["reason"] == "interrupted"), "{nodes:#?}");
        nothing_written(&scratch, &["local1", "local2"]);
        nodes.iter().all(has_measured)
    });
    assert!(kept, "nothing was measured before the interrupt");
}
