//! Jobs on nodes over a real sshd.

use std::fs;
use std::path::Path;
use std::process::Output;

use garland_testkit::{Sshd, said};

use super::{GARLAND, assert_sound};

fn run(field: &Sshd, words: &[&str]) -> Output {
    let mut command = field.machines.command(0, "timeout");
    command
        .args(["--signal=KILL", "60", "env"])
        .args(["HOME=/mnt/head", "GARLAND_STATE=/mnt/head/state", "LC_ALL=C", GARLAND])
        .args(["--cluster", "/mnt/head/cluster.toml", "farm", "run"]);
    command.args(words).output().expect("garland starts")
}

#[test]
fn jobs_over_ssh_have_sound_records_and_their_output_is_kept() {
    let folder = Path::new(GARLAND).parent().expect("a binary lies in a folder");
    let field = Sshd::start(2, folder).expect("an sshd on every node");
    let jobs =
        "hostname\necho \"$GARLAND_JOB\" it\\'s; hostname >&2\ntrue \\;\necho why >&2; exit 5\n";
    fs::write(field.machines.seen(0, "/mnt/head/jobs"), jobs).expect("room for a list");
    let output = run(&field, &["/mnt/head/jobs", "n[1-2]", "--retries", "1", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let result: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
    let records = result["records"].as_array().expect("records");
    assert_eq!(records.len(), 4);
    assert!(records[3]["node"].is_string(), "{}", said(&output));
    records[..3].iter().for_each(|record| assert_sound(record, "agents"));
    assert_eq!(records[3]["outcome"], serde_json::json!({ "exit": 5 }));
    assert_eq!(records[3]["tries"], 2);
    assert_eq!(records[3]["last_words"], serde_json::json!(["why"]));
    let run = field.machines.seen(0, "/mnt/head/state/");
    let output = find(&run, &format!("{}/output/2", result["run"].as_str().expect("a name")));
    let node = records[1]["node"].as_str().expect("a node");
    assert_eq!(output, format!("2 it's\n{node}\n"));
}

/// What stands in the file whose path ends so, in the runs of the head.
fn find(state: &Path, end: &str) -> String {
    let hosts = fs::read_dir(state).expect("the state").flatten();
    let file = hosts.map(|host| host.path().join("runs").join(end)).find(|path| path.exists());
    fs::read_to_string(file.expect("the job has said something")).expect("text")
}
