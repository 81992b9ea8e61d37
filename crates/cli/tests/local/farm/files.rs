//! Files of jobs: brought and taken back, or seen under a mount; whole or not at all.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;

use garland_testkit::{Scratch, random_file};

use super::{assert_sound, garland_in, list, records_in};

/// Copies the input to the output, and leaves something beside it.
const COPY: &str = "cat \"$1\" >\"$2\" && echo >beside";

fn write_inputs(scratch: &Scratch) -> Vec<OsString> {
    fs::create_dir(scratch.path("in")).unwrap();
    let names: [&[u8]; 4] = [b"in/a.wav", b"in/b c.wav", b"in/-d\n'\xff\\.wav", b"in/e.wav"];
    for (name, length) in names.iter().zip([3_000_000, 0, 70_000, 1]) {
        random_file(&scratch.path(OsStr::from_bytes(name)), length, length);
    }
    names.iter().map(|name| OsStr::from_bytes(name).to_owned()).collect()
}

fn assert_copied(scratch: &Scratch, inputs: &[OsString], ending: &str) {
    for input in inputs {
        let stem = input.as_bytes().strip_suffix(b".wav").unwrap();
        let output = scratch.path(OsStr::from_bytes(&[stem, ending.as_bytes()].concat()));
        let there = fs::read(&output).unwrap();
        let here = fs::read(scratch.path(input)).unwrap();
        assert!(there == here, "{} differs", output.display());
    }
    // Nothing is left of what was made on the way.
    let names = fs::read_dir(scratch.path("in")).unwrap().flatten();
    let hidden = names.filter(|entry| entry.file_name().as_bytes().starts_with(b"."));
    assert_eq!(hidden.count(), 0);
}

fn words(first: &[&str], inputs: &[OsString]) -> Vec<OsString> {
    let command = ["--", "sh", "-c", COPY, "x", "{in}", "{out}", ":::"];
    let words = first.iter().chain(&command).map(OsString::from);
    words.chain(inputs.iter().cloned()).collect()
}

#[test]
fn files_are_brought_and_results_taken_back() {
    let scratch = Scratch::new("farm-stage");
    let inputs = write_inputs(&scratch);
    let first = ["farm", "run", "local[1-2]", "--data", "stage", "--out", "{.}.two", "--json"];
    let said = garland_in(&scratch).run(&words(&first, &inputs)).with_code(0);
    for record in records_in(&said) {
        assert_sound(&record, "agents");
        assert!(record["staging"].is_f64() && record["staged_in"].is_f64(), "{record}");
        assert!(record["staged_out"].is_f64(), "{record}");
        assert_eq!(record["bytes_in"], record["bytes_out"], "{record}");
    }
    assert_copied(&scratch, &inputs, ".two");
    // What a job leaves on its node goes with it.
    let roots = scratch.state();
    let left = walk(&roots).into_iter().filter(|name| name.contains("beside"));
    assert_eq!(left.collect::<Vec<_>>(), [""; 0]);
    scratch.assert_nothing_left();
}

#[test]
fn no_other_user_of_a_node_may_enter_the_directory_of_a_job() {
    let scratch = Scratch::new("farm-private");
    let garland = garland_in(&scratch);
    let input = scratch.path("in");
    fs::write(&input, "secret").expect("it is written");
    let tell = "stat -c %a . > \"$2\"; cat \"$1\" >> \"$2\"";
    let command = ["--", "sh", "-c", tell, "x", "{in}", "{out}", ":::", input.to_str().unwrap()];
    let first = ["farm", "run", "local1", "--data", "stage", "--out", "{}.out"];
    let words = [&first[..], &command[..]].concat();
    let _ = garland.run(&words).with_code(0);
    let said = fs::read_to_string(scratch.path("in.out")).expect("the output");
    assert_eq!(said, "700\nsecret");
    scratch.assert_nothing_left();
}

#[test]
fn an_output_that_the_command_writes_by_itself_is_brought_back_or_missed() {
    let scratch = Scratch::new("farm-own-output");
    let inputs = write_inputs(&scratch);
    let run = |options: &[&str], script: &str| {
        let first = ["farm", "run", "local[1-2]", "--data", "stage", "--out", "{.}.two"];
        let command = ["--", "sh", "-c", script, "x", "{in}", ":::"];
        let words = first.iter().chain(options).chain(&command).map(OsString::from);
        garland_in(&scratch).run(&words.chain(inputs.iter().cloned()).collect::<Vec<_>>())
    };
    let missed = run(&[], "true").with_code(3);
    assert!(missed.err.contains("cannot find its output"), "{}", missed.err);
    let _ = run(&[], "cat \"$1\" > \"${1%.*}.two\"").with_code(0);
    assert_copied(&scratch, &inputs, ".two");
    scratch.assert_nothing_left();
}

#[test]
fn an_output_may_replace_the_input_that_it_is_made_from() {
    let scratch = Scratch::new("farm-in-place");
    fs::write(scratch.path("s"), "c\nb\na\n").unwrap();
    let files = ["--out", "{}", "--overwrite", "--", "sh", "-c", "sort {in} > {out}", ":::", "s"];
    let said = garland_in(&scratch)
        .run(&[&["farm", "run", "local1", "--data", "stage"][..], &files].concat());
    let _ = said.with_code(0);
    assert_eq!(fs::read_to_string(scratch.path("s")).unwrap(), "a\nb\nc\n");
    scratch.assert_nothing_left();
}

#[test]
fn a_job_that_fails_removes_no_file_that_its_command_names_itself() {
    let scratch = Scratch::new("farm-kept");
    fs::write(scratch.path("s"), "mine").unwrap();
    let words = ["farm", "run", "--overwrite", "--out", "{}", "--", "sh", "-c", "exit 7", "x"];
    let said = garland_in(&scratch).run(&[&words[..], &[":::", "s"]].concat()).with_code(3);
    assert!(said.err.contains("exit code 7"), "{}", said.err);
    assert_eq!(fs::read_to_string(scratch.path("s")).unwrap(), "mine");
    scratch.assert_nothing_left();
}

#[test]
fn jobs_see_files_under_a_mount() {
    let scratch = Scratch::new("farm-mount");
    let inputs = write_inputs(&scratch);
    let first = ["farm", "run", "local[1-2]", "--data", "mount", "--out", "{.}.two", "--json"];
    let said = garland_in(&scratch).run(&words(&first, &inputs)).with_code(0);
    for record in records_in(&said) {
        assert_sound(&record, "agents");
        assert_eq!(record["bytes_in"], record["bytes_out"], "{record}");
    }
    assert_copied(&scratch, &inputs, ".two");
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains(&*scratch.folder().to_string_lossy()), "{mounts}");
    scratch.assert_nothing_left();
}

#[test]
fn what_is_there_is_not_replaced_unasked() {
    let scratch = Scratch::new("farm-exists");
    let inputs = write_inputs(&scratch);
    fs::write(scratch.path("in/a.two"), "mine").unwrap();
    let first = ["farm", "run", "--out", "{.}.two"];
    let said = garland_in(&scratch).run(&words(&first, &inputs)).with_code(2);
    assert!(
        said.err.contains("output exists: in/a.two") && said.err.contains("--overwrite"),
        "{}",
        said.err
    );
    assert_eq!(fs::read_to_string(scratch.path("in/a.two")).unwrap(), "mine");
    assert!(!scratch.path("in/e.two").exists(), "no job may have run");
    let first = ["farm", "run", "--overwrite", "--out", "{.}.two"];
    let said = garland_in(&scratch).run(&words(&first, &inputs));
    assert!(said.with_code(0).err.contains("4 of 4 jobs"));
    assert_copied(&scratch, &inputs, ".two");
}

#[test]
fn a_job_that_fails_leaves_no_half_result() {
    let scratch = Scratch::new("farm-half");
    let inputs = write_inputs(&scratch);
    for data in [&["local1", "--data", "stage"][..], &["local1", "--data", "mount"], &[]] {
        let command = ["--retries", "1", "--json", "--", "sh", "-c", "echo half >\"$0\"; exit 7"];
        let words = ["farm", "run"].iter().chain(data).chain(&command).chain(&["{out}", ":::"]);
        let words: Vec<OsString> =
            words.map(OsString::from).chain(inputs.iter().cloned()).collect();
        let said = garland_in(&scratch).run(&words).with_code(3);
        for record in records_in(&said) {
            assert_eq!(record["outcome"], serde_json::json!({ "exit": 7 }), "{record}");
            assert_eq!(record["tries"], 2, "{record}");
        }
        assert_eq!(fs::read_dir(scratch.path("in")).unwrap().count(), 4, "{data:?}");
    }
}

#[test]
fn a_result_that_finds_no_room_is_told_and_not_there() {
    let scratch = Scratch::new("farm-full");
    let inputs = write_inputs(&scratch);
    // A file where the result's folder should be: nothing can be written there.
    fs::write(scratch.path("full"), "").unwrap();
    let first = [
        "farm",
        "run",
        "local1",
        "--data",
        "stage",
        "--out",
        "full/{/.}",
        "--tries",
        "2",
        "--json",
    ];
    let said = garland_in(&scratch).run(&words(&first, &inputs[..1])).with_code(3);
    let outcome = records_in(&said)[0]["outcome"].to_string();
    assert!(outcome.contains("cannot copy output full/a back"), "{outcome}");
    scratch.assert_nothing_left();
}

/// The value of one of TCP's counters, of the text of /proc/net/snmp.
fn counter(counters: &str, wanted: &str) -> u64 {
    let mut lines = counters.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let names = lines.next().unwrap();
    let values = lines.next().unwrap();
    let mut both = names.split_whitespace().zip(values.split_whitespace());
    let (_, value) = both.find(|(name, _)| *name == wanted).unwrap();
    value.parse().unwrap()
}

#[test]
fn many_files_need_few_connections() {
    const FILES: usize = 150;
    let scratch = Scratch::new("farm-few");
    fs::create_dir(scratch.path("in")).unwrap();
    fs::create_dir(scratch.path("out")).unwrap();
    for at in 0..FILES {
        fs::write(scratch.path(format!("in/{at}")), format!("file {at}")).unwrap();
    }
    let all = |folder: &str| (0..FILES).map(|at| format!("'{folder}/{at}'")).collect::<Vec<_>>();
    let job = format!(
        "[[job]]\ncommand = 'cp in/* out'\ninputs = [{}]\noutputs = [{}]\n",
        all("in").join(", "),
        all("out").join(", ")
    );
    list(&scratch, "jobs.toml", &job);
    let garland = garland_in(&scratch);
    let _ = garland.run(&["lab", "up", "--nodes", "1"]).with_code(0);
    let test = || {
        let accepted = || {
            let counters = garland.run(&["lab", "exec", "n1", "--", "cat", "/proc/net/snmp"]);
            counter(&counters.with_code(0).out, "PassiveOpens")
        };
        let before = accepted();
        let said = garland.run(&["farm", "run", "jobs.toml", "lab:n1", "--data", "stage"]);
        let _ = said.with_code(0);
        accepted() - before
    };
    let tested = std::panic::catch_unwind(std::panic::AssertUnwindSafe(test));
    let _ = garland.run(&["lab", "down"]).with_code(0);
    let connections = tested.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    for at in 0..FILES {
        let output = fs::read_to_string(scratch.path(format!("out/{at}"))).unwrap();
        assert_eq!(output, format!("file {at}"));
    }
    // Three control channels, a data link for each direction, and some that were tried again.
    assert!((5..20).contains(&connections), "{connections} connections");
}

/// A job that reads in order has the kernel read ahead, in pieces of its own; each byte crosses the
/// wire once all the same.
#[test]
fn what_a_job_reads_under_a_mount_crosses_the_wire_once() {
    let scratch = Scratch::new("farm-once");
    fs::create_dir(scratch.path("in")).unwrap();
    random_file(&scratch.path("in/long"), 4_000_000, 1);
    let garland = garland_in(&scratch);
    let _ = garland.run(&["lab", "up", "--nodes", "1", "--rate", "30mbit"]).with_code(0);
    let test = || {
        let first = ["farm", "run", "lab:n1", "--data", "mount", "--json"];
        let job = ["--", "sh", "-c", "cat \"$0\" >/dev/null", "{in}", ":::", "in/long"];
        let result = garland.run(&[&first[..], &job].concat()).with_code(0).json();
        let counters = garland.run(&["lab", "exec", "n0", "--", "cat", "/proc/net/snmp"]);
        (result, counter(&counters.with_code(0).out, "RetransSegs"))
    };
    let tested = std::panic::catch_unwind(std::panic::AssertUnwindSafe(test));
    let _ = garland.run(&["lab", "down"]).with_code(0);
    let (result, resent) = tested.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let received = result["nodes"][0]["nics"][0]["received"].as_u64().unwrap();
    // What TCP sends again where this machine is busy was asked for once.
    let asked = received.saturating_sub(resent * 1514);
    let shown = format!("{received} bytes for 4 000 000, {resent} segments were sent again");
    assert!(received >= 4_000_000 && asked < 4_600_000, "{shown}");
}

#[test]
fn the_home_directory_is_not_given_to_nodes() {
    let scratch = Scratch::new("farm-home");
    fs::create_dir(scratch.path("in")).unwrap();
    for file in ["word", "in/word"] {
        fs::write(scratch.path(file), "a word").unwrap();
    }
    let first = ["farm", "run", "local1", "--data", "mount"];
    let job = ["--", "sh", "-c", "cat \"$0\" >\"$1\"", "{in}", "{out}", ":::"];
    let refused = garland_in(&scratch).run(&[&first[..], &job, &["in/word", "word"]].concat());
    let why = "--data mount would give the nodes all of ";
    assert!(refused.err.contains(why) && refused.err.contains("--data stage"), "{}", refused.err);
    assert_eq!(refused.code, 2);
    // What a job names by hand beside its own files is not there for it.
    fs::write(scratch.path("secret"), "a secret").unwrap();
    let other = "cat \"${0%/in/word}/secret\" >\"$1\"";
    let job = ["--tries", "1", "--", "sh", "-c", other, "{in}", "{out}", ":::", "in/word"];
    let failed = garland_in(&scratch).run(&[&first[..], &job].concat()).with_code(3);
    assert!(!scratch.path("in/word.out").exists(), "{}", failed.out);
    scratch.assert_nothing_left();
}

/// The paths of all files below.
fn walk(folder: &std::path::Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => names.extend(walk(&entry.path())),
            _ => names.push(entry.path().to_string_lossy().into_owned()),
        }
    }
    names
}
