//! `garland balance` end to end, on agents that are processes of this machine and real file
//! systems.

use garland_testkit::{Garland, RunOutput, Running, Scratch, Wire};
use serde_json::Value;

use crate::garland_in;

/// Starts `garland balance ARGUMENTS` with the nodes' folders in the scratch folder.
fn start(garland: &Garland<'_>, scratch: &Scratch, arguments: &[&str]) -> Running {
    let roots = scratch.path("roots").display().to_string();
    garland.start(&[&["balance", "--local-root", &roots], arguments].concat())
}

/// Runs it to its end.
fn balance(garland: &Garland<'_>, scratch: &Scratch, arguments: &[&str]) -> RunOutput {
    start(garland, scratch, arguments).end()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap_or_else(|| panic!("no {key} in {value}"))
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("no {key} in {value}"))
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

#[test]
fn every_number_of_remote_copies_is_measured_in_both_directions() {
    let scratch = Scratch::new("balance-all");
    let garland = garland_in(&scratch);
    let said = balance(&garland, &scratch, &["--json", "--sizes", "1MB,3MB", "local[1-4]:/"]);
    let result = said.with_code(0).json();
    assert_eq!(result["schema"], "garland.balance/2");
    assert_eq!(result["cache"], "cold");
    assert_eq!(list(&result, "pairs").len(), 2);
    let points = list(&result, "points");
    let shown: Vec<_> =
        points.iter().map(|point| (number(point, "size"), number(point, "remote"))).collect();
    let wanted = [1e6, 3e6].map(|size| [0.0, 1.0, 2.0].map(|remote| (size, remote)));
    assert_eq!(shown, wanted.concat());
    for point in points {
        let rounds = list(point, "rounds");
        let ways: Vec<_> = rounds.iter().map(|round| &round["backwards"]).collect();
        assert_eq!(ways, [false, true]);
        for faster in ["disk_twice", "network_twice"] {
            assert!(number(point, faster) >= number(point, "rate") * 0.999, "{point}");
        }
        for round in rounds {
            let copies = list(round, "copies");
            let remote = copies.iter().filter(|copy| copy["from"] != copy["to"]).count();
            assert_eq!((copies.len(), remote as f64), (2, number(point, "remote")), "{round}");
            for copy in copies {
                let seconds = number(copy, "seconds");
                assert!(seconds > 0.0 && seconds <= number(round, "seconds"), "{copy}");
                assert_eq!(list(copy, "lanes").len(), 1, "the kernel's account: {copy}");
                assert!(number(&copy["used"], "disk") > 0.0, "{copy}");
            }
        }
    }
    // On a disk the caches were cold, and the kernel says so.
    if list(&result, "nodes").iter().all(|node| node["place"]["in_memory"] == false) {
        let proof = list(&result, "notes")[0].as_str().unwrap();
        assert!(proof.starts_with("cold caches proven: 0 of "), "{proof}");
    }
    assert!(garland.runs()[0].join("result.json").exists());
    nothing_written(&scratch, &["local1", "local2", "local3", "local4"]);
}

#[test]
fn warm_caches_are_full_and_tables_are_for_people() {
    let scratch = Scratch::new("balance-warm");
    let arguments =
        ["--warm", "--sizes", "1MB", "--remote", "0,2", "--rounds", "1", "local[1-4]:/"];
    let said = balance(&garland_in(&scratch), &scratch, &arguments).with_code(0);
    for part in [
        "/ on 2 pairs, warm caches, one direction",
        "copies remote            0           2\n1MB  ",
        "\n1MB: ",
        "warm caches proven: all of ",
        "local[1-4]: ",
    ] {
        assert!(said.out.contains(part), "{part} in\n{}", said.out);
    }
    nothing_written(&scratch, &["local1", "local2", "local3", "local4"]);
}

#[test]
fn what_cannot_be_is_said_before_anything_is_copied() {
    let scratch = Scratch::new("balance-bad");
    let garland = garland_in(&scratch);
    for (arguments, reason) in [
        (["--sizes", "1MB", "local1"], "balance needs two nodes or more"),
        (["--sizes", "1MB", "local[1-3]"], "balance needs an even number of nodes, not 3"),
        (["--sizes", "0", "local[1-2]"], "--sizes 0: the size must be from 1.00 KiB to"),
        (["--sizes", "1MB,many", "local[1-2]"], "many"),
        (["--remote", "2", "local[1-2]"], "--remote 2: 2 nodes make only 1 copy"),
        (["--sizes", "1MB", "/tmp"], "`/tmp` is a path on this machine"),
        (["--sizes", "1MB", "local[1-2]:/dev/null"], "balance copies between disks"),
    ] {
        let said = balance(&garland, &scratch, &arguments).with_code(2);
        assert!(said.err.contains(reason), "{reason} in {}", said.err);
    }
    let has_hint = |sizes: &str| {
        let said = balance(&garland, &scratch, &["--sizes", sizes, "local[1-2]"]).with_code(2);
        assert!(said.err.contains("the size must be from 1.00 KiB to 64.00 TiB"), "{}", said.err);
        said.err.contains("shorter ones are not measured accurately")
    };
    assert_eq!([has_hint("1B"), has_hint("100TiB")], [true, false]);
    let missing = balance(&garland, &scratch, &["--sizes", "1MB", "local[1-2]:/none"]);
    insta::assert_snapshot!(
        missing.with_code(3).out,
        @"failed  local[1-2]: cannot open the directory /none: no such file or directory"
    );
    let full = balance(&garland, &scratch, &["--sizes", "1MB,60TiB", "local[1-2]:/"]).with_code(3);
    assert!(
        full.out.contains("not enough space on /: the test needs 60.00 TiB and"),
        "{}",
        full.out
    );
    nothing_written(&scratch, &["local1", "local2"]);
}

#[test]
fn a_pair_that_cannot_copy_is_left_out_and_the_others_do() {
    let scratch = Scratch::new("balance-read-only");
    let root = scratch.root("local1");
    std::fs::create_dir_all(&root).expect("it can be made");
    let wire = Wire::quick().and(&format!("mount -t tmpfs -o ro none '{}'", root.display()));
    let arguments = ["--json", "--sizes", "1MB", "local[1-4]:/"];
    let said = balance(&garland_in(&scratch).over(wire), &scratch, &arguments);
    let result = said.with_code(1).json();
    let verdicts: Vec<_> = list(&result, "nodes").iter().map(|node| &node["verdict"]).collect();
    assert_eq!(verdicts, ["failed", "skipped", "ok", "ok"]);
    let reason = &result["nodes"][0]["reason"];
    assert_eq!(reason, "cannot create a file in /: read-only file system");
    assert_eq!(list(&result, "points").len(), 2, "none and one of one pair");
    scratch.assert_nothing_left();
}

/// How many seconds a long test is given to measure something: how many it takes depends on what
/// else this machine does.
const PATIENCE: [u64; 3] = [3, 8, 16];

/// Starts a long test of two pairs, and gives it so many seconds.
fn long(scratch: &Scratch, seconds: u64) -> Running {
    let arguments =
        ["--json", "--sizes", "1MB,4MB", "--remote", "0,1,2", "--rounds", "100", "local[1-4]:/"];
    let running = start(&garland_in(scratch), scratch, &arguments);
    let _ = garland_in(scratch).agent("local3");
    std::thread::sleep(std::time::Duration::from_secs(seconds));
    running
}

#[test]
fn an_agent_that_dies_is_named_and_what_was_measured_is_kept() {
    let kept = PATIENCE.into_iter().any(|seconds| {
        let scratch = Scratch::new("balance-killed");
        let running = long(&scratch, seconds);
        garland_in(&scratch).agent("local3").kill();
        let said = running.end();
        let result = said.json();
        let nodes = list(&result, "nodes");
        assert_eq!(nodes[2]["verdict"], "dead", "{}", result["nodes"]);
        assert_eq!(nodes[0]["verdict"], "ok", "{}", result["nodes"]);
        nothing_written(&scratch, &["local1", "local2", "local3", "local4"]);
        let has_points = !list(&result, "points").is_empty();
        assert!(!has_points || said.code == 1, "it ended with {}", said.code);
        has_points
    });
    assert!(kept, "nothing was measured before the agent died");
}

#[test]
fn an_interrupted_test_keeps_what_was_measured() {
    let kept = PATIENCE.into_iter().any(|seconds| {
        let scratch = Scratch::new("balance-interrupted");
        let running = long(&scratch, seconds);
        running.process().interrupt();
        let result = running.end().with_code(130).json();
        assert_eq!(result["interrupted"], true);
        nothing_written(&scratch, &["local1", "local2", "local3", "local4"]);
        !list(&result, "points").is_empty()
    });
    assert!(kept, "nothing was measured before the interrupt");
}
