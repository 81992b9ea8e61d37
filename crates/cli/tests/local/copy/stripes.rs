//! Files that lie in stripes on several nodes, there and back.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use garland_testkit::{Garland, RunOutput, Scratch, Wire, random_file, until};
use serde_json::Value;

use crate::copy::full_disk::small_disk;
use crate::copy::{garland_in, locals, names_in, source, verdict};

/// The rule that puts stripes together, as it is documented.
const RULE: &str = include_str!("../../../../../docs/stripes.md");

/// Puts the stripes of `source.bin` on `nodes` together with `dd` alone, by the documented script.
fn by_dd(scratch: &Scratch, nodes: usize, unit: u64, size: u64) -> PathBuf {
    let folder = scratch.path("by-dd");
    fs::create_dir(&folder).expect("it can be made");
    for (number, node) in (1..).zip(locals(nodes)) {
        let name = format!("source.bin.stripe-{number}of{nodes}");
        fs::copy(scratch.root(&node).join("d").join(&name), folder.join(&name)).expect("a stripe");
    }
    let (_, script) = RULE.split_once("```sh\n").expect("there is a script");
    let (script, _) = script.split_once("```").expect("it has an end");
    let (settings, rest) = script.split_once('\n').expect("it begins with what the manifest says");
    assert!(settings.starts_with("file="));
    let settings = format!("file=source.bin servers={nodes} unit={unit} size={size}");
    let script = format!("set -e\n{settings}\n{rest}");
    let status = Command::new("sh").args(["-c", &script]).current_dir(&folder).status();
    assert!(status.expect("there is a shell").success());
    folder.join("source.bin")
}

#[track_caller]
fn assert_same(one: &Path, other: &Path) {
    let read = |path: &Path| fs::read(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    // Not assert_eq: nobody wants to see the bytes.
    assert!(read(one) == read(other), "{} differs from {}", one.display(), other.display());
}

/// A file of `size` bytes to `nodes` nodes and back: equal, and equal when put together by dd.
fn there_and_back(name: &str, size: u64, nodes: usize, unit: u64, more: &[&str]) -> [Value; 2] {
    let scratch = Scratch::new(name);
    let from = source(&scratch, size);
    let garland = garland_in(&scratch);
    let stripe = format!("--stripe={unit}");
    let to = format!("local[1-{nodes}]:/d/");
    let there = [&["--json", &stripe, "source.bin", &to], more].concat();
    let there = garland.cp(&there).with_code(0).json();
    for node in locals(nodes) {
        let files = names_in(&scratch, &node, "d");
        assert_eq!(files.len(), 2, "{node} has {files:?}");
    }
    assert_same(&by_dd(&scratch, nodes, unit, size), &from);
    // In another order, which the manifests put right.
    let back = format!("local[2-{nodes}],local1:/d/source.bin");
    let back = if nodes == 1 { "local1:/d/source.bin".to_owned() } else { back };
    let back = garland.cp(&["--json", "--stripe", &back, "back"]).with_code(0).json();
    assert_same(&scratch.path("back"), &from);
    scratch.assert_nothing_left();
    [there, back]
}

#[test]
fn any_size_over_any_number_of_nodes_comes_back() {
    there_and_back("stripe-0", 0, 2, 4096, &[]);
    there_and_back("stripe-1", 1, 3, 4096, &[]);
    there_and_back("stripe-unit", 65_536, 4, 16 << 10, &["--no-encrypt"]);
    let [there, back] = there_and_back("stripe-odd", 1_234_567, 3, 64 << 10, &["--no-fsync"]);
    assert_eq!(
        (&there["direction"], &back["direction"]),
        (&Value::from("out"), &Value::from("in"))
    );
    for result in [there, back] {
        assert_eq!(result["bytes"], 1_234_567);
        let nodes = result["nodes"].as_array().expect("it has nodes");
        let bytes: u64 = nodes.iter().filter_map(|node| node["bytes"].as_u64()).sum();
        assert_eq!(bytes, 1_234_567, "each node has its part: {result}");
    }
}

/// More than the pipeline holds, in units as they are by default.
#[test]
fn a_large_file_to_four_servers_comes_back_and_dd_puts_it_together() {
    let size = (96 << 20) + 54_321;
    let [there, back] = there_and_back("stripe-large", size, 4, 1 << 20, &[]);
    for result in [there, back] {
        let nodes = result["nodes"].as_array().expect("it has nodes").iter();
        let bytes: Vec<u64> = nodes.filter_map(|node| node["bytes"].as_u64()).collect();
        assert_eq!(bytes.len(), 4, "{result}");
        assert!(bytes.iter().all(|&part| part >= 24 << 20), "each has its part: {result}");
    }
}

#[test]
fn buffers_and_operations_change_the_depth_and_not_the_bytes() {
    let most = |result: &Value, stage: &str| -> u64 {
        let stages = result["stages"].as_array().expect("it has stages").iter();
        let stages = stages.filter(|entry| entry["stage"] == stage);
        stages.filter_map(|entry| entry["most"].as_u64()).max().expect("the stage had blocks")
    };
    let more = ["--buffer-size", "16KiB", "--buffers", "2"];
    let [there, _] = there_and_back("stripe-buffers", 3 << 20, 2, 64 << 10, &more);
    assert!(most(&there, "ready") <= 2 * 2, "two a lane: {}", there["stages"]);
    let more = ["--op-size", "64KiB", "--op-overlap", "0", "--buffer-size", "64KiB"];
    let [there, back] = there_and_back("stripe-operations", 3 << 20, 2, 64 << 10, &more);
    assert_eq!(most(&there, "read"), 1, "an operation is a block: {}", there["stages"]);
    assert_eq!(most(&there, "write"), 1, "{}", there["stages"]);
    assert!(most(&back, "write") >= 1);
}

#[test]
fn the_plan_is_a_lane_a_server() {
    let scratch = Scratch::new("stripe-plan");
    let _ = source(&scratch, 10 << 20);
    let garland = garland_in(&scratch);
    let said = garland.cp(&["--stripe", "--dry-run", "source.bin", "local[1-2]:/d/"]).with_code(0);
    insta::assert_snapshot!(said.out, @r"
    10485760 bytes in 80 blocks of 131072 bytes
    lane 0: 40 blocks (0-7, +16), rail 0
      head -> local1
    lane 1: 40 blocks (8-15, +16), rail 0
      head -> local2
    ");
    let _ = garland.cp(&["--stripe", "source.bin", "local[1-2]:/d/"]).with_code(0);
    let back = ["--stripe", "--dry-run", "local[1-2]:/d/source.bin", "x"];
    let said = garland.cp(&back).with_code(0);
    assert!(said.out.ends_with("(8-15, +16), rail 0\n  local2 -> head\n"), "{}", said.out);
    assert!(!scratch.path("x").exists());
    scratch.assert_nothing_left();
}

#[test]
fn a_server_that_is_killed_ends_the_copy_and_is_named() {
    let scratch = Scratch::new("stripe-kill");
    let _ = source(&scratch, 16 << 20);
    let garland = garland_in(&scratch).over(Wire::slow(100));
    let old = |node: &str| scratch.root(node).join("x.stripe-1of3");
    fs::create_dir_all(scratch.root("local1")).expect("it can be made");
    fs::write(old("local1"), b"old").expect("it can be written");
    let copy = garland.start_cp(&["--json", "--stripe", "source.bin", "local[1-3]:/x"]);
    until("the stripes to come", || scratch.partial_files().len() == 3);
    garland.agent("local2").kill();
    let result = copy.end().with_code(3).json();
    assert_eq!(verdict(&result, "local2").0, "dead", "{result}");
    for node in ["local1", "local3"] {
        let (verdict, reason) = verdict(&result, node);
        assert_eq!(verdict, "failed");
        assert!(
            reason.starts_with("all servers of a striped file are needed, and local2 failed: "),
            "{reason}"
        );
    }
    assert_eq!(names_in(&scratch, "local1", ""), ["x.stripe-1of3"], "the old one alone");
    assert_eq!(fs::read(old("local1")).expect("the file exists"), b"old");
    assert_eq!(names_in(&scratch, "local3", ""), Vec::<String>::new());
    scratch.assert_nobody_left();
}

#[test]
fn a_server_that_is_killed_on_the_way_back_leaves_nothing_here() {
    let scratch = Scratch::new("stripe-kill-back");
    let _ = source(&scratch, 16 << 20);
    let _ = garland_in(&scratch).cp(&["--stripe", "source.bin", "local[1-3]:/x"]).with_code(0);
    let garland = garland_in(&scratch).over(Wire::slow(100));
    let copy = garland.start_cp(&["--json", "--stripe", "local[1-3]:/x", "back"]);
    until("the file to come", || !scratch.partial_files().is_empty());
    garland.agent("local2").kill();
    let result = copy.end().with_code(3).json();
    assert_eq!(verdict(&result, "local2").0, "dead", "{result}");
    assert!(verdict(&result, "local1").1.contains("and local2 failed"), "{result}");
    assert!(!scratch.path("back").exists());
    scratch.assert_nothing_left();
}

/// Three servers have the stripes of an older file, and `local2` is killed at a `moment` of the
/// copy that replaces them, which goes on with a known fault and gives it the verdict `word`: the
/// older file can still be read. What that says.
fn killed_while_replacing(
    scratch: &Scratch,
    fault: &str,
    word: &str,
    moment: impl FnOnce(&Garland<'_>),
) -> RunOutput {
    let old = scratch.path("old");
    random_file(&old, 200_000, 7);
    let _ = source(scratch, 300_000);
    let garland = garland_in(scratch);
    let _ = garland.cp(&["--stripe=4KiB", "old", "local[1-3]:/x"]).with_code(0);
    let copy = ["--json", "--stripe=4KiB", "--inject", fault, "source.bin", "local[1-3]:/x"];
    let copy = garland.start_cp(&copy);
    moment(&garland);
    garland.agent("local2").kill();
    let result = copy.end().with_code(3).json();
    assert_eq!(verdict(&result, "local2").0, word, "{result}");
    for (node, number) in [("local1", 1), ("local3", 3)] {
        let (verdict, reason) = verdict(&result, node);
        assert_eq!(verdict, "failed", "{result}");
        assert!(
            reason.starts_with("all servers of a striped file are needed, and local2 failed: "),
            "{reason}"
        );
        let stripe = format!("x.stripe-{number}of3");
        assert_eq!(names_in(scratch, node, ""), [stripe.clone(), format!("{stripe}.toml")]);
    }
    let said = garland.cp(&["--stripe", "local[1-3]:/x", "back"]).with_code(0);
    assert_same(&scratch.path("back"), &old);
    said
}

#[test]
fn a_server_that_is_killed_while_it_syncs_leaves_the_older_set() {
    let scratch = Scratch::new("stripe-kill-fsync");
    let said = killed_while_replacing(&scratch, "fsync:local2:2500ms", "dead", |_| {
        until("the stripes to come", || !scratch.partial_files().is_empty());
        // The others have had the time to do all they are allowed to.
        std::thread::sleep(Duration::from_secs(1));
    });
    assert_eq!(said.err, "");
}

/// It has renamed its stripe, and the head hasn't heard of it.
#[test]
fn a_server_that_is_killed_when_it_has_committed_leaves_the_older_set() {
    let scratch = Scratch::new("stripe-kill-commit");
    let old = |node: &str| {
        let mut names = names_in(&scratch, node, "");
        names.retain(|name| name.starts_with("x.old-"));
        names.len()
    };
    let said = killed_while_replacing(&scratch, "control:local2:800ms", "unknown", |_| {
        until("its new manifest has its name", || {
            let manifest = scratch.root("local2").join("x.stripe-2of3.toml");
            let text = fs::read_to_string(manifest).unwrap_or_default();
            text.contains("size = 300000")
        });
    });
    assert!(
        said.err.contains("/x: the last striped copy did not finish on all nodes"),
        "{}",
        said.err
    );
    assert_eq!(["local1", "local2", "local3"].map(old), [0, 2, 0]);
    // The next copy is whole, and leaves nothing of the older ones.
    let garland = garland_in(&scratch);
    let _ = garland.cp(&["--stripe=4KiB", "source.bin", "local[1-3]:/x"]).with_code(0);
    assert_eq!(["local1", "local2", "local3"].map(old), [0; 3]);
    let said = garland.cp(&["--stripe", "local[1-3]:/x", "new"]).with_code(0);
    assert_same(&scratch.path("new"), &scratch.path("source.bin"));
    assert_eq!(said.err, "");
}

#[test]
fn a_server_without_room_for_its_manifest_ends_the_copy_before_any_commits() {
    let scratch = Scratch::new("stripe-manifest-room");
    let _ = source(&scratch, 3 << 20);
    let plain = garland_in(&scratch);
    let _ = plain.cp(&["--stripe", "source.bin", "local[1-3]:/x"]).with_code(0);
    let manifest =
        || fs::read(scratch.root("local1").join("x.stripe-1of3.toml")).expect("the file exists");
    let before = manifest();
    // The stripe fills the disk of local2 to its last byte.
    let garland = garland_in(&scratch).over(small_disk(&scratch, Wire::quick(), 1));
    let copy = ["--json", "--stripe", "source.bin", "local[1-3]:/x"];
    let result = garland.cp(&copy).with_code(3).json();
    let (said, reason) = verdict(&result, "local2");
    assert_eq!(said, "failed", "{result}");
    assert!(reason.starts_with("no space left on /: ") && reason.ends_with(" 0 free"), "{reason}");
    assert_eq!(verdict(&result, "local1").0, "failed", "{result}");
    assert!(manifest() == before, "the older set is still there");
    scratch.assert_nothing_left();
}

#[test]
fn a_full_server_ends_the_copy_before_it_begins() {
    let scratch = Scratch::new("stripe-full");
    let _ = source(&scratch, 6 << 20);
    let garland = garland_in(&scratch).over(small_disk(&scratch, Wire::quick(), 1));
    let copy = ["--json", "--stripe", "source.bin", "local[1-3]:/x"];
    let result = garland.cp(&copy).with_code(3).json();
    let full = "no space left on /: 2097152 bytes needed, 1048576 free";
    assert_eq!(verdict(&result, "local2"), ("failed", full));
    let others = format!("all servers of a striped file are needed, and local2 failed: {full}");
    assert_eq!(verdict(&result, "local3"), ("failed", others.as_str()));
    for node in ["local1", "local3"] {
        assert_eq!(names_in(&scratch, node, ""), Vec::<String>::new());
    }
    scratch.assert_nothing_left();
}

/// Three stripes of 20 units of 4 KiB; `spoil` is done to the nodes' folders before they are read.
fn spoilt(name: &str, spoil: impl FnOnce(&dyn Fn(u8, &str) -> PathBuf)) -> RunOutput {
    let scratch = Scratch::new(name);
    let _ = source(&scratch, 20 * 4096 - 5);
    let garland = garland_in(&scratch);
    let _ = garland.cp(&["--stripe=4KiB", "source.bin", "local[1-3]:/x"]).with_code(0);
    spoil(&|number, end| {
        scratch.root(&format!("local{number}")).join(format!("x.stripe-{number}of3{end}"))
    });
    let said = garland.cp(&["--stripe", "local[1-3]:/x", "back"]).with_code(3);
    assert!(!scratch.path("back").exists());
    scratch.assert_nothing_left();
    said
}

#[test]
fn a_set_that_is_not_whole_is_not_read() {
    let said = spoilt("stripe-none", |file| {
        (1..=3).for_each(|n| fs::remove_file(file(n, ".toml")).expect("the file exists"));
    });
    insta::assert_snapshot!(said.err, @r"
    error: cannot assemble /x: none of these nodes has stripes of the file
    hint: name all nodes to which it was written with --stripe; any other file is copied without --stripe
    ");
    let said = spoilt("stripe-manifest", |file| {
        fs::remove_file(file(2, ".toml")).expect("the file exists");
    });
    insta::assert_snapshot!(said.err, @"error: cannot assemble /x: the stripe set is incomplete: stripe 2 of 3 is missing (written to local2)");
    let said = spoilt("stripe-parts", |file| {
        fs::remove_file(file(3, "")).expect("the file exists");
        fs::write(file(1, ""), b"short").expect("it can be written");
    });
    insta::assert_snapshot!(said.err, @"error: cannot assemble /x: the stripe set is incomplete: stripe 1 of 3: local1 has 5 of 28672 bytes; stripe 3 of 3: local3 has only its manifest");
}

#[test]
fn a_striped_file_that_is_read_from_too_few_nodes_names_all_of_them() {
    let scratch = Scratch::new("stripe-few");
    let whole = source(&scratch, 20 * 4096 - 5);
    let garland = garland_in(&scratch);
    let _ = garland.cp(&["--stripe=4KiB", "source.bin", "local[1-3]:/x"]).with_code(0);
    let said = garland.cp(&["--stripe", "local[1,3]:/x", "back"]).with_code(3);
    insta::assert_snapshot!(said.err, @r"
    error: cannot assemble /x: the stripe set is incomplete: stripe 2 of 3 is missing (written to local2)
    hint: name all nodes to which it was written: 'local[1-3]:/x'
    ");
    let _ = garland.cp(&["--stripe", "local[1-3]:/x", "back"]).with_code(0);
    assert_same(&scratch.path("back"), &whole);
    scratch.assert_nothing_left();
}

#[test]
fn a_manifest_that_is_wrong_is_said_to_be() {
    let edit = |path: PathBuf, from: &str, to: &str| {
        let text = fs::read_to_string(&path).expect("it is text");
        assert!(text.contains(from), "{text}");
        fs::write(&path, text.replace(from, to)).expect("it can be written");
    };
    let said = spoilt("stripe-version", |file| {
        (1..=3).for_each(|n| edit(file(n, ".toml"), "version = 1", "version = 9"));
    });
    let wanted =
        "error: cannot assemble /x: the manifest .stripe-1of3.toml on local1: version 9 is not";
    assert!(said.err.starts_with(wanted), "{}", said.err);
    let said = spoilt("stripe-differ", |file| edit(file(3, ".toml"), "0o644", "0o600"));
    insta::assert_snapshot!(said.err, @"error: cannot assemble /x: the manifests on local1 and local3 belong to the same copy but differ: one of them was changed");
    let said = spoilt("stripe-huge", |file| {
        fs::write(file(1, ".toml"), vec![b'#'; 40 << 10]).expect("it can be written");
    });
    assert!(said.err.contains("is not a manifest: it has 40960 bytes"), "{}", said.err);
}

#[test]
fn a_stripe_that_rots_is_found_by_its_digest() {
    let said = spoilt("stripe-rot", |file| {
        let mut bytes = fs::read(file(2, "")).expect("the file exists");
        bytes[5000] ^= 1;
        fs::write(file(2, ""), bytes).expect("it can be written");
    });
    let reason = "failed  local2: its stripe has changed: its digest differs from the manifest's\n";
    assert!(said.out.contains(reason), "{}", said.out);
}

#[test]
fn what_cannot_be_striped_is_refused() {
    let scratch = Scratch::new("stripe-refused");
    let _ = source(&scratch, 10);
    let refused = |more: &[&str]| {
        let said = garland_in(&scratch).cp(&[more, &["source.bin", "local[1-2]:/x"]].concat());
        said.with_code(2).err
    };
    insta::assert_snapshot!(refused(&["--stripe=5000"]), @"error: the stripe unit is 5000 bytes: use a multiple of 4 KiB up to 4 GiB");
    insta::assert_snapshot!(refused(&["--stripe=64KiB", "--buffer-size", "48KiB"]), @"error: stripe units of 65536 bytes cannot be divided into blocks of 49152 bytes: use a block size that divides the unit");
    insta::assert_snapshot!(refused(&["--stripe", "--op-size", "0"]), @"error: --op-size must be at least 1");
    assert!(refused(&["--op-size", "1MiB"]).contains("--stripe"));
    assert!(refused(&["--stripe", "--min-ok", "1"]).contains("--min-ok"));
    assert!(refused(&["--stripe", "--buffers", "0"]).contains("--buffers"));
    let many = garland_in(&scratch).cp(&["--stripe", "source.bin", "local[1-65]:/x"]).with_code(2);
    insta::assert_snapshot!(many.err, @"error: the file cannot be striped over 65 servers: use 1 to 64");
    scratch.assert_nothing_left();
}
