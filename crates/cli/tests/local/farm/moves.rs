//! Running jobs move from a slow node to an idle one.

use std::fs;

use garland_testkit::{Scratch, TestLab};
use serde_json::Value;

use super::{assert_sound, garland_in, list, only_run, output, records_in};

/// The first node has a twentieth of a processor.
const LAB: &str = "version = 1
[topology]
shape = \"switch\"
nodes = \"srv,n[1-2]\"
rate = \"100mbit\"
[[topology.node]]
names = \"n1\"
cpu = 0.05
[[topology.node]]
names = \"n2\"
cpu = 0.8
";

const RUN: [&str; 7] = ["farm", "run", "jobs.toml", "--slots", "1", "--migrate", "--json"];

/// A job that takes about a second of a processor.
const WORK: &str = "i=0; while [ $i -lt 900000 ]; do i=$((i+1)); done";

/// Asserts that one of two jobs has moved from node `from` to node `to`, and returns its record.
fn moved(records: &[Value], from: &str, to: &str, kind: &str) -> Value {
    records.iter().for_each(|record| assert_sound(record, "agents"));
    let has_moved = |record: &&Value| record["moves"] != serde_json::json!([]);
    let moved: Vec<&Value> = records.iter().filter(has_moved).collect();
    let [record] = &moved[..] else { panic!("{records:?}") };
    let one = &record["moves"][0];
    assert_eq!((&record["tries"], &record["node"]), (&1.into(), &to.into()), "{record}");
    assert_eq!((&one["from"], &one["to"]), (&from.into(), &to.into()), "{record}");
    assert_eq!((&one["kind"], &one["tries"]), (&kind.into(), &1.into()), "{record}");
    let time = |value: &Value| value.as_f64().expect("a time");
    assert!(time(&one["at"]) <= time(&record["started"]) + 0.05, "{record}");
    (*record).clone()
}

/// The words that John the Ripper tries: some seconds of work.
const WORDS: u32 = 6_000;

/// No word has this hash, so that all words are tried.
const HASH: &str = "u:$2b$05$abcdefghijklmnopqrstuurJy28QSuQq.txKmxqDYIk.s6in47Dx6\n";

/// A real program with checkpoints: when John is ended, it saves how far it has come, and goes on
/// from there with `--restore`. It runs with a home directory of its own, since it looks for its
/// configuration there, and usually yields to all other programs.
#[test]
fn john_goes_on_where_another_node_has_stopped_it() {
    let scratch = Scratch::new("farm-john");
    fs::create_dir(scratch.path("home")).unwrap();
    fs::create_dir(scratch.path("home/.john")).unwrap();
    fs::write(scratch.path("home/.john/john.conf"), "[Options]\nIdle = N\n").unwrap();
    fs::write(scratch.path("hash"), HASH).unwrap();
    fs::write(
        scratch.path("words"),
        (1..=WORDS).map(|word| format!("w{word}\n")).collect::<String>(),
    )
    .unwrap();
    let john = |words: &str| {
        let own = "mount --bind home ~root && exec env OMP_NUM_THREADS=1 john";
        format!("exec unshare --mount sh -c '{own} {words}'")
    };
    let job = |name: &str| {
        let first = john(&format!("--session={name} --wordlist=words --format=bcrypt hash"));
        let again = john(&format!("--restore={name}"));
        let save = format!(
            "kill -TERM $GARLAND_JOB_PID && while kill -0 $GARLAND_JOB_PID; do sleep 0.05; done; test -s {name}.rec"
        );
        format!(
            "[[job]]\nname = '{name}'\ninputs = ['hash', 'words', 'home/.john/john.conf']\n\
             outputs = ['{name}.log']\nstate = ['{name}.rec', '{name}.log']\n\
             command = \"{first}\"\nrestore = \"{again}\"\ncheckpoint = \"{save}\"\n"
        )
    };
    list(&scratch, "jobs.toml", &["one", "two"].map(job).concat());
    let lab = TestLab::with_topology(garland_in(&scratch), &scratch, LAB);
    let said = lab.garland.run(&[&RUN[..], &["lab:n[1-2]", "--data", "stage"]].concat());
    let record = moved(&records_in(&said.with_code(0)), "lab:n1", "lab:n2", "migrated");
    let log = |name: &str| fs::read_to_string(scratch.path(format!("{name}.log"))).unwrap();
    for name in ["one", "two"] {
        let text = log(name);
        let goes_on = text.contains("Continuing an interrupted session");
        assert_eq!(goes_on, record["name"] == name, "{text}");
        assert!(text.contains("Session completed"), "{text}");
    }
    let states = only_run(&lab.garland).join("states");
    assert!(!states.exists(), "the state is removed with the end of the run");
    lab.down();
    scratch.assert_nothing_left();
}

/// The first job waits for ever, unless it is started again.
#[test]
fn a_job_without_a_checkpoint_restarts() {
    let scratch = Scratch::new("farm-restart");
    let note = scratch.path("note");
    let again = format!("[ -e {0} ] || {{ echo >{0}; exec sleep 1000; }}", note.display());
    let job = |line: &str| format!("[[job]]\ncommand = 'echo begun; {line}; echo done'\n");
    list(&scratch, "jobs.toml", &[job(&again), job(WORK)].concat());
    let garland = garland_in(&scratch);
    let said = garland.run(&[&RUN[..], &["local[1-2]"]].concat()).with_code(0);
    let record = moved(&records_in(&said), "local1", "local2", "restart");
    assert_eq!(record["job"], 1);
    assert_eq!(output(&only_run(&garland), 1), "begun\ndone\n", "of its last start");
    // The table of the same run.
    let said = garland.run(&["farm", "run", "--resume", "last", "--analysis"]).with_code(0);
    assert!(said.out.contains("\nrestart   job 1, from local1 to local2 at "), "{}", said.out);
    scratch.assert_nothing_left();
}

/// The first job ends only because its checkpoint is tried, and after that has ended.
#[test]
fn a_checkpoint_that_fails_leaves_the_job_where_it_is() {
    let scratch = Scratch::new("farm-stays");
    let pipe = scratch.path("pipe");
    let status = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(status.is_ok_and(|status| status.success()));
    let jobs = format!(
        "[[job]]\ncommand = 'read saver <{0}; while kill -0 $saver; do sleep 0.05; done; true'\n\
         checkpoint = 'echo $$ >{0}; exit 7'\n\
         restore = 'exit 1'\n[[job]]\ncommand = '{WORK}'\n",
        pipe.display()
    );
    list(&scratch, "jobs.toml", &jobs);
    let said = garland_in(&scratch).run(&[&RUN[..], &["local[1-2]"]].concat()).with_code(0);
    for record in records_in(&said) {
        assert_sound(&record, "agents");
        assert_eq!(record["moves"], serde_json::json!([]), "{record}");
    }
    let note = "note    job 1 on local1: stays there: its checkpoint command failed: exit code 7\n";
    assert!(said.err.contains(note), "{}", said.err);
    scratch.assert_nothing_left();
}

#[test]
fn what_has_no_effect_is_refused() {
    let scratch = Scratch::new("farm-move-options");
    list(&scratch, "jobs", "true\n");
    let garland = garland_in(&scratch);
    let said =
        |more: &[&str]| garland.run(&[&["farm", "run", "jobs"], more].concat()).with_code(2).err;
    for engine in ["slurm", "local"] {
        let err = said(&["--engine", engine, "--migrate"]);
        assert!(
            err.contains("--migrate has no effect") && err.contains("--engine agents"),
            "{err}"
        );
    }
    let commands = ["--checkpoint", "x", "--restore", "y"];
    let err = said(&[&["local1"], &commands[..]].concat());
    assert!(err.contains("--migrate"), "{err}");
    let err = said(&[&["local1", "--migrate", "--state", "f"], &commands[..]].concat());
    assert!(err.contains("--data stage"), "{err}");
    let _ = said(&["local1", "--migrate", "--checkpoint", "x"]);
}
