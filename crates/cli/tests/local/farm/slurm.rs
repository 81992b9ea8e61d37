//! Real Slurm, with a node that dies in mid-run.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use garland_testkit::{Slurm, said, until};

use super::{GARLAND, assert_sound};

fn garland(slurm: &Slurm, words: &[&str]) -> Command {
    let mut command = slurm.machines.command(0, "env");
    command
        .args(["HOME=/mnt/head", "GARLAND_STATE=/mnt/head/state"])
        .arg(format!("SLURM_CONF={}", Slurm::CONF))
        .args(["timeout", "--signal=KILL", "120", GARLAND, "farm", "run"]);
    command.args(words);
    command
}

#[test]
fn slurm_does_all_jobs_though_a_node_dies() {
    let folder = Path::new(GARLAND).parent().expect("a binary lies in a folder");
    let slurm = Slurm::start(4, folder).expect("a Slurm cluster");
    let seen = |path: &str| slurm.machines.seen(0, path);
    fs::create_dir(seen("/mnt/head/notes")).expect("room");
    fs::create_dir(seen("/mnt/head/begun")).expect("room");
    let line = |number| {
        format!(
            "hostname >/mnt/head/begun/{number}; sleep 1.5; hostname >>/mnt/head/notes/{number}\n"
        )
    };
    let jobs: String = (1..=24).map(line).collect();
    fs::write(seen("/mnt/head/jobs"), jobs).expect("room for a list");
    let mut command = garland(&slurm, &["/mnt/head/jobs", "--engine", "slurm", "--json"]);
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let notes = || fs::read_dir(seen("/mnt/head/notes")).map_or(0, Iterator::count);
    until("n2 has a job", || {
        let begun = fs::read_dir(seen("/mnt/head/begun")).into_iter().flatten().flatten();
        begun.filter_map(|file| fs::read_to_string(file.path()).ok()).any(|node| node == "n2\n")
    });
    slurm.machines.shell(2, "for p in $(pgrep -f 'slurmd|farm work|sleep 1.5'); do [ \"$(readlink /proc/$p/ns/uts)\" = \"$(readlink /proc/self/ns/uts)\" ] && [ $p != $$ ] && kill -9 $p; done; true").expect("n2 dies");
    let output = running.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", said(&output));
    let result: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
    let records = result["records"].as_array().expect("records");
    assert_eq!(records.len(), 24);
    records.iter().for_each(|record| assert_sound(record, "slurm"));
    let again = records.iter().filter(|record| record["tries"].as_u64() > Some(1)).count();
    assert!(again > 0, "n2 died without a job: {records:?}");
    assert_eq!(notes(), 24);
}
