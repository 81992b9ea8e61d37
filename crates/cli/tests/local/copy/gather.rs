//! Files that are gathered from nodes.

use std::fs;

use garland_testkit::{Scratch, Wire, random_file, until};

use crate::copy::{garland_in, names_in, source, verdict};

/// A file of `length` bytes under the path `log/x` of each of `nodes` nodes, each its own.
fn logs(scratch: &Scratch, nodes: u64, length: u64) {
    for number in 1..=nodes {
        let folder = scratch.root(&format!("local{number}")).join("log");
        fs::create_dir_all(&folder).expect("it can be made");
        random_file(&folder.join("x"), length + number, number);
    }
}

#[track_caller]
fn assert_gathered(scratch: &Scratch, number: u64, path: &str) {
    let wanted = fs::read(scratch.root(&format!("local{number}")).join("log/x")).expect("a log");
    let got = fs::read(scratch.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    // Not assert_eq: nobody wants to see the bytes.
    assert!(got == wanted, "{path} differs");
}

#[test]
fn every_nodes_file_goes_to_a_folder_of_its_own() {
    let scratch = Scratch::new("gather");
    logs(&scratch, 3, 300_000);
    let garland = garland_in(&scratch);
    let result = garland.cp(&["--json", "-p", "local[1-3]:/log/x", "all"]).with_code(0).json();
    assert_eq!(result["bytes"], 900_006);
    for number in 1..=3 {
        assert_gathered(&scratch, number, &format!("all/local{number}/x"));
        let node = format!("local{number}");
        assert_eq!(verdict(&result, &node), ("ok", ""));
        let time = |path: std::path::PathBuf| fs::metadata(path).and_then(|at| at.modified()).ok();
        let there = time(scratch.root(&node).join("log/x"));
        assert_eq!(time(scratch.path(format!("all/{node}/x"))), there, "as -p says");
    }
    let again = garland.cp(&["--no-encrypt", "--block-size", "8KiB", "local[1-3]:log/x", "all/"]);
    let said = again.with_code(0);
    assert!(said.out.starts_with("878.91 KiB from 3 of 3 nodes in "), "{}", said.out);
    scratch.assert_nothing_left();
}

#[test]
fn each_copy_of_a_gathering_run_can_be_explained() {
    let scratch = Scratch::new("gather-traced");
    logs(&scratch, 3, 300_000);
    let garland = garland_in(&scratch);
    let _ = garland.cp(&["local[1-3]:/log/x", "all"]).with_code(0);
    let last = garland.run(&["explain", "--json"]).with_code(0).json();
    let of_last = last["warnings"][0].as_str().expect("it says which copy this is").to_owned();
    assert!(of_last.contains("one copy per node; this is the copy of local"), "{of_last}");
    let told = garland.run(&["explain", "--node", "local2", "--json"]).with_code(0).json();
    assert_eq!([&told["bytes"], &told["ok"], &told["of"]], [300_002, 1, 1]);
    let rows = told["rows"].as_array().expect("rows").iter();
    let sum: u64 = rows.map(|row| row["ns"].as_u64().expect("nanoseconds")).sum();
    assert_eq!(told["wall_ns"], sum);
    let csv = garland.run(&["trace", "export", "--format", "csv", "--node", "local3"]).with_code(0);
    assert!(csv.out.contains("local3") && !csv.out.contains("local2"), "{}", csv.out);
    let said = garland.run(&["explain", "--node", "local9"]).with_code(2);
    assert!(said.err.contains("has no trace of local9"), "{}", said.err);
    let _ = garland.cp(&["local1:/log/x", "x"]).with_code(0);
    let said = garland.run(&["explain", "--node", "local1"]).with_code(2);
    assert!(said.err.contains("--node applies to runs that gathered"), "{}", said.err);
    scratch.assert_nothing_left();
}

#[test]
fn one_nodes_file_goes_where_it_is_told() {
    let scratch = Scratch::new("gather-one");
    logs(&scratch, 1, 100_000);
    let garland = garland_in(&scratch);
    let _ = garland.cp(&["local1:/log/x", "here"]).with_code(0);
    assert_gathered(&scratch, 1, "here");
    fs::create_dir(scratch.path("folder")).expect("it can be made");
    let _ = garland.cp(&["local1:/log/x", "folder"]).with_code(0);
    assert_gathered(&scratch, 1, "folder/x");
    let _ = garland.cp(&["local1:/log/x", "."]).with_code(0);
    assert_gathered(&scratch, 1, "x");
    let said = garland.cp(&["--dry-run", "local1:/log/x", "nowhere"]).with_code(0);
    assert!(said.out.ends_with("  local1 -> head\n"), "{}", said.out);
    assert!(!scratch.path("nowhere").exists());
    // It is no copy that could go on.
    let said = garland.run(&["cp", "--resume", "last"]).with_code(0);
    assert!(said.out.contains("local1") && !said.out.contains("-> head"), "{}", said.out);
    scratch.assert_nothing_left();
}

#[test]
fn a_node_without_the_file_fails_alone() {
    let scratch = Scratch::new("gather-missing");
    logs(&scratch, 2, 10);
    fs::create_dir_all(scratch.root("local4").join("log/x")).expect("it can be made");
    let garland = garland_in(&scratch);
    let result = garland.cp(&["--json", "local[1-4]:/log/x", "all"]).with_code(1).json();
    let none = "cannot open /log/x: no such file or directory";
    assert_eq!(verdict(&result, "local3"), ("failed", none));
    let folder = "cannot copy /log/x: it is a directory, and directories are copied with -r";
    assert_eq!(verdict(&result, "local4"), ("failed", folder));
    assert_gathered(&scratch, 1, "all/local1/x");
    assert!(!scratch.path("all/local3").exists());
    let enough = ["--min-ok", "2", "local[1-4]:/log/x", "all"];
    let _ = garland.cp(&enough).with_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn a_node_that_is_killed_costs_only_its_own_file() {
    let scratch = Scratch::new("gather-kill");
    logs(&scratch, 3, 8 << 20);
    let garland = garland_in(&scratch).over(Wire::slow(100));
    let copy = garland.start_cp(&["--json", "local[1-3]:/log/x", "all"]);
    until("the files to come", || scratch.partial_files().len() == 3);
    garland.agent("local2").kill();
    let result = copy.end().with_code(1).json();
    assert_eq!(verdict(&result, "local2").0, "dead", "{result}");
    for number in [1, 3] {
        assert_gathered(&scratch, number, &format!("all/local{number}/x"));
    }
    assert!(!scratch.path("all/local2/x").exists());
    scratch.assert_nothing_left();
}

#[test]
fn an_interrupt_ends_all_of_them() {
    let scratch = Scratch::new("gather-interrupt");
    logs(&scratch, 3, 16 << 20);
    let garland = garland_in(&scratch).over(Wire::slow(100));
    let copy = garland.start_cp(&["--json", "local[1-3]:/log/x", "all"]);
    until("the files to come", || scratch.partial_files().len() == 3);
    copy.process().interrupt();
    let result = copy.end().with_code(130).json();
    assert_eq!(result["interrupted"], true);
    for number in 1..=3 {
        assert_eq!(verdict(&result, &format!("local{number}")), ("failed", "interrupted"));
    }
    scratch.assert_nothing_left();
}

#[test]
fn what_was_interrupted_goes_on_with_the_command_that_is_told() {
    let scratch = Scratch::new("gather-goes-on");
    logs(&scratch, 1, 16 << 20);
    let garland = garland_in(&scratch).over(Wire::slow(40));
    let copy = garland.start_cp(&["local1:/log/x", "here"]);
    until("the file to come", || scratch.partial_files().len() == 1);
    copy.process().interrupt();
    let said = copy.end().with_code(130);
    let command = said.err.lines().find_map(|line| line.strip_prefix("to go on: garland "));
    let words: Vec<&str> = command.expect("it is told").split(' ').collect();
    let _ = garland.run(&words).with_code(0);
    assert!(scratch.path("here").is_file());
    scratch.assert_nothing_left();
}

#[test]
fn what_changes_while_it_is_given_is_not_kept() {
    let scratch = Scratch::new("gather-changed");
    logs(&scratch, 1, 8 << 20);
    let garland = garland_in(&scratch).over(Wire::slow(100));
    let copy = garland.start_cp(&["--json", "local1:/log/x", "here"]);
    let path = scratch.root("local1").join("log/x");
    let mut bytes = fs::read(&path).expect("a log");
    until("the first bytes of the file", || {
        let mut partial = scratch.partial_files().into_iter().map(|path| scratch.path(path));
        partial.any(|path| fs::read(path).is_ok_and(|here| here.starts_with(&bytes[..64])))
    });
    // A byte that was given: what is read after a change is the file as it is then.
    *bytes.first_mut().expect("it has bytes") ^= 1;
    fs::write(&path, bytes).expect("it can be written");
    let result = copy.end().with_code(3).json();
    let (said, reason) = verdict(&result, "local1");
    assert_eq!(said, "failed");
    assert!(reason.contains("changed"), "{reason}");
    assert!(!scratch.path("here").exists());
    scratch.assert_nothing_left();
}

#[test]
fn a_node_s_file_goes_to_standard_output_and_the_result_doesn_t() {
    let scratch = Scratch::new("gather-output");
    logs(&scratch, 1, 9_000_000);
    let wanted = fs::read(scratch.root("local1").join("log/x")).expect("a log");
    let garland = garland_in(&scratch);
    for words in [&["local1:/log/x", "-"][..], &["--rails", "3", "--json", "local1:/log/x", "-"]] {
        let said = garland.cp(words).with_code(0);
        assert!(said.bytes == wanted, "{words:?}: {} bytes differ", said.bytes.len());
        assert!(said.err.contains("local1"), "{}", said.err);
    }
    let said = garland.cp(&["local1:/log/nothing", "-"]).with_code(3);
    assert_eq!(said.bytes, b"");
    assert!(said.err.contains("no such file"), "{}", said.err);
    scratch.assert_nothing_left();
}

#[test]
fn stripes_are_put_together_on_their_way_into_a_pipe() {
    let scratch = Scratch::new("gather-stripes-output");
    let wanted = fs::read(source(&scratch, 20_000_001)).expect("the file exists");
    let garland = garland_in(&scratch);
    let _ = garland.cp(&["--stripe=64KiB", "source.bin", "local[1-4]:/x"]).with_code(0);
    let said = garland.cp(&["--stripe", "local[1-4]:/x", "-"]).with_code(0);
    assert!(said.bytes == wanted, "{} bytes differ", said.bytes.len());
    let _ = garland.cp(&["--stripe", "local[1-4]:/x", "|cat > here"]).with_code(0);
    assert!(fs::read(scratch.path("here")).expect("the file exists") == wanted);
    scratch.assert_nothing_left();
}

#[test]
fn a_command_here_gets_a_node_s_file_and_its_exit_code_is_the_verdict() {
    let scratch = Scratch::new("gather-command");
    logs(&scratch, 1, 60_000_000);
    let garland = garland_in(&scratch);
    let _ = garland.cp(&["local1:/log/x", "|cat > here"]).with_code(0);
    assert_gathered(&scratch, 1, "here");
    let late = "|cat > here; echo full >&2; exit 3";
    let result = garland.cp(&["--json", "local1:/log/x", late]).with_code(3).json();
    let (word, reason) = verdict(&result, "local1");
    assert_eq!(word, "failed");
    assert!(reason.ends_with("ended with code 3: full"), "{reason}");
    let slow = garland.over(Wire::slow(200));
    let early = "|head -c 100000 > /dev/null; echo broken >&2; exit 7";
    let result = slow.cp(&["--json", "local1:/log/x", early]).with_code(3).json();
    let (word, reason) = verdict(&result, "local1");
    assert_eq!(word, "failed");
    assert!(reason.ends_with("ended with code 7: broken"), "{reason}");
    let bytes = result["nodes"][0]["bytes"].as_u64().expect("it is a number");
    assert!(bytes < 60_000_000, "it failed at once: {bytes}");
    scratch.assert_nothing_left();
}

#[test]
fn ends_that_cannot_be_are_refused() {
    let scratch = Scratch::new("gather-refused");
    let _ = source(&scratch, 10);
    // An option of these tests, which the commands in hints have, too.
    let of_tests = format!(" --local-root={}", scratch.path("roots").display());
    let refused =
        |words: &[&str]| garland_in(&scratch).cp(words).with_code(2).err.replace(&of_tests, "");
    insta::assert_snapshot!(refused(&["local1:/x", "local2:/x"]), @r"
    error: cannot copy from nodes to nodes: one end of a copy must be a path of this machine
    hint: copy to this machine first: garland cp local1:/x gathered/ && garland cp -r gathered/ local2:/x
    hint: to name a file of this machine, write ./local1:/x or ./local2:/x
    ");
    insta::assert_snapshot!(refused(&["local[1-2]:/log/", "all"]), @r"
    error: /log/ does not name a file
    hint: directories are copied with -r
    ");
    insta::assert_snapshot!(refused(&["local[1-2]:/x", "-"]), @r"
    error: the files of 2 nodes cannot be written to one pipe
    hint: name one node, or a directory as the destination
    ");
    insta::assert_snapshot!(refused(&["-r", "local1:/x", "|tar x"]), @r"
    error: a tree cannot be written to a pipe
    hint: for a stream, use tar: garland exec NODE -- tar c PATH
    ");
    insta::assert_snapshot!(refused(&["local1:/x", "|"]), @r"
    error: no command after `|`
    hint: specify one, such as garland cp n1:/x '|zstd -d > x'
    ");
    insta::assert_snapshot!(refused(&["--verify", "local1:/x", "-"]), @r"
    error: data that goes to /dev/null or a pipe cannot be read back
    hint: omit --verify and --digest
    ");
    assert_eq!(names_in(&scratch, "local1", ""), Vec::<String>::new());
    scratch.assert_nothing_left();
}
