//! Runs by name, path and `last`; what is missing or broken in them.

use std::fs;
use std::path::PathBuf;

use garland_testkit::{Garland, Scratch, random_file};

use crate::explain::stage::{assert_sums, json};

/// A copy to two local nodes; its run's folder.
fn copied(garland: &Garland<'_>, scratch: &Scratch) -> PathBuf {
    random_file(&scratch.path("source"), 20 << 20, 7);
    let _ = garland.cp(&["--quiet", "source", "local[1-2]:/x"]).with_code(0);
    garland.runs().pop().unwrap()
}

#[test]
fn a_run_is_named_by_its_name_its_folder_or_last() {
    let scratch = Scratch::new("explain-names");
    let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), &scratch);
    let said = garland.run(&["explain"]).with_code(2);
    assert!(said.err.contains("no run has a trace"), "{}", said.err);
    let folder = copied(&garland, &scratch);
    let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
    for asked in ["last", &name, folder.to_str().unwrap()] {
        let explained = json(&garland.run(&["--json", "explain", asked]).with_code(0).out);
        assert_eq!(explained["run"], name);
        assert_eq!(explained["schema"], "garland.explain/2");
        assert_sums(&explained);
    }
    let said = garland.run(&["explain", "20010101-000000-cp-0000"]).with_code(2);
    assert!(said.err.contains("run 20010101-000000-cp-0000 does not exist"), "{}", said.err);
}

#[test]
fn a_rerun_names_who_was_waited_for_while_files_were_compared() {
    let scratch = Scratch::new("explain-rerun");
    let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), &scratch);
    let _ = copied(&garland, &scratch);
    let _ = garland.cp(&["--quiet", "source", "local[1-2]:/x"]).with_code(0);
    let explained = json(&garland.run(&["explain", "--json"]).with_code(0).out);
    assert_sums(&explained);
    let rows = explained["rows"].as_array().unwrap();
    let of = |cause: &'static str| rows.iter().filter(move |row| row["cause"] == cause);
    assert!(of("comparison").any(|row| row["node"].is_string()), "{explained:#}");
    assert!(of("comparison").all(|row| row["node"].is_string()), "{explained:#}");
    assert!(of("unattributed").all(|row| row["node"].is_string()), "{explained:#}");
    assert!(explained["faults"].as_array().unwrap().is_empty(), "{explained:#}");
}

#[test]
fn standing_agents_are_not_advised_again_and_equal_short_copies_have_no_faults() {
    let scratch = Scratch::new("explain-advice");
    let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), &scratch);
    let _ = garland.run(&["up", "local[1-2]"]).with_code(0);
    let source = scratch.path("source");
    random_file(&source, 1 << 20, 7);
    let source = source.display().to_string();
    for _ in 0..3 {
        let words = ["cp", "--quiet", "--whole", &source, "local[1-2]:/x"];
        let _ = garland.run(&words).with_code(0);
        let explained = json(&garland.run(&["explain", "--json"]).with_code(0).out);
        assert_ne!(explained["fix"]["cause"], "set-up", "{explained:#}");
        // A busy machine may stretch a short copy until it can be judged.
        let is_short = explained["too_short"] == true;
        assert!(!is_short || explained["faults"].as_array().unwrap().is_empty(), "{explained:#}");
    }
    let _ = garland.run(&["down", "local[1-2]"]).with_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn a_copy_that_ended_with_an_error_is_not_passed_over() {
    let scratch = Scratch::new("explain-failed");
    let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), &scratch);
    let copy = |source| garland.cp(&["--quiet", source, "local[1-2]:/x"]);
    let why = "cannot open absent: no such file or directory";
    let told = format!("error: cannot explain the last copy: it ended with an error: {why}\n");
    let _ = copy("absent").with_code(3);
    assert_eq!(garland.run(&["explain"]).with_code(3).err, told);
    let run = copied(&garland, &scratch);
    let _ = garland.run(&["explain"]).with_code(0);
    let _ = copy("absent").with_code(3);
    let name = run.file_name().unwrap().to_str().unwrap();
    let hint = format!("hint: to explain the copy before it: garland explain {name}\n");
    assert_eq!(garland.run(&["explain"]).with_code(3).err, format!("{told}{hint}"));
    let _ = garland.run(&["explain", name]).with_code(0);
    let _ = copy("source").with_code(0);
    let _ = garland.run(&["explain"]).with_code(0);
}

/// Puts `count` runs of `command` beside `run`, which are newer.
fn add_runs(run: &std::path::Path, command: &str, count: usize) {
    for number in 0..count {
        let name = format!("20991231-235959-{command}-{number:04x}");
        fs::create_dir_all(run.with_file_name(name)).unwrap();
    }
}

#[test]
fn a_trace_that_was_removed_is_told_with_the_reason() {
    let scratch = Scratch::new("explain-removed");
    let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), &scratch);
    let run = copied(&garland, &scratch);
    let name = run.file_name().unwrap().to_str().unwrap();
    let traced = run.join("trace");
    // Other commands remove nothing of a copy, many as they are.
    add_runs(&run, "exec", 300);
    let _ = garland.run(&["exec", "local1", "--", "true"]).with_code(0);
    assert!(traced.is_dir() && !run.with_file_name("20991231-235959-exec-0000").exists());
    let _ = garland.cp(&["--quiet", "--keep-traces", "2", "source", "local1:/y"]).with_code(0);
    assert!(traced.is_dir());
    let _ = garland.cp(&["--quiet", "--keep-traces", "2", "source", "local1:/z"]).with_code(0);
    assert!(!traced.exists());
    let why = "its trace was removed (only the last 2 are kept; see --keep-traces)";
    let said = garland.run(&["explain", name]).with_code(2);
    assert_eq!(said.err, format!("error: run {name}: {why}\n"));
    let said = garland.run(&["report", name]).with_code(0);
    assert!(said.out.contains(&format!("note    {name}: {why}\n")), "{}", said.out);
}

#[test]
fn a_run_of_the_demo_can_be_explained_when_that_is_over() {
    let scratch = Scratch::new("explain-demo");
    let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), &scratch);
    let said = garland.run(&["demo", "--nodes", "2", "--size", "8MiB"]).with_code(0);
    let run = said.out.lines().find_map(|line| line.strip_prefix("run ")).unwrap().trim();
    let said = garland.run(&["explain", run]).with_code(0);
    assert!(said.out.contains("8.00 MiB to 2 of 2 nodes"), "{}", said.out);
}

#[test]
fn a_trace_that_is_cut_or_missing_or_strange_is_told_and_the_rest_explained() {
    let scratch = Scratch::new("explain-cut");
    let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), &scratch);
    let folder = copied(&garland, &scratch);
    let trace = folder.join("trace/local2.trace");
    let whole = fs::read(&trace).unwrap();
    fs::write(&trace, &whole[..whole.len() / 2]).unwrap();
    let said = garland.run(&["explain"]).with_code(0);
    assert!(said.out.contains("the trace of local2 is incomplete"), "{}", said.out);

    let mut other = whole.clone();
    other[8] = 99;
    fs::write(&trace, other).unwrap();
    let said = garland.run(&["explain"]).with_code(1);
    assert!(said.out.contains("version 99"), "{}", said.out);

    fs::remove_file(&trace).unwrap();
    let said = garland.run(&["explain"]).with_code(1);
    assert!(said.out.contains("local2: it has no trace"), "{}", said.out);
    let explained = json(&garland.run(&["explain", "--json"]).with_code(1).out);
    assert_sums(&explained);

    fs::remove_file(folder.join("trace/head.trace")).unwrap();
    let explained = json(&garland.run(&["explain", "--json"]).with_code(1).out);
    assert_sums(&explained);
    assert_eq!(explained["undecided"].as_array().unwrap().len(), 3, "{explained:#}");

    fs::write(folder.join("trace/local1.trace"), b"GARbage").unwrap();
    let said = garland.run(&["explain"]).with_code(3);
    assert!(said.err.contains("cannot read any trace of"), "{}", said.err);
}

#[test]
fn a_run_without_a_result_or_of_another_kind_is_refused() {
    let scratch = Scratch::new("explain-kinds");
    let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), &scratch);
    let folder = copied(&garland, &scratch);
    let result = fs::read_to_string(folder.join("result.json")).unwrap();
    let wires = result.replace("garland.cp/2", "garland.wires/2");
    fs::write(folder.join("result.json"), wires).unwrap();
    let said = garland.run(&["explain"]).with_code(2);
    assert!(said.err.contains("only copies can be explained"), "{}", said.err);
    fs::write(folder.join("result.json"), b"{").unwrap();
    let said = garland.run(&["explain"]).with_code(3);
    assert!(said.err.contains("result.json"), "{}", said.err);
    fs::remove_file(folder.join("result.json")).unwrap();
    let said = garland.run(&["explain"]).with_code(3);
    assert!(said.err.contains("has no result"), "{}", said.err);
}
