//! How standing agents end: by their age, and with the key that they obey.

use std::fs;
use std::process::Stdio;

use garland_testkit::{Sshd, said};

use crate::ssh::light::{garland, run};
use crate::ssh::{field_of, wait_for};

/// Runs a command that must succeed, and returns what it printed.
fn ends(field: &Sshd, arguments: &[&str]) -> String {
    let output = run(field, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", said(&output));
    said(&output)
}

/// The number of standing agents on all machines.
fn agents(field: &Sshd) -> usize {
    let lines = field.machines.processes().expect("ps");
    lines
        .iter()
        .filter(|line| line.contains("agent --controller") && line.contains("--stay"))
        .count()
}

/// The files of the controller's keys on the head, sorted.
fn key_files(field: &Sshd) -> Vec<String> {
    let state = field.machines.seen(0, "/mnt/head/state");
    let hosts = fs::read_dir(state).expect("the state").flatten();
    let files = hosts.flat_map(|host| fs::read_dir(host.path()).into_iter().flatten().flatten());
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("controller.key")).collect();
    names.sort();
    names
}

/// The fingerprint that `garland key show` prints.
fn shown_key(field: &Sshd) -> String {
    let text = ends(field, &["key", "show"]);
    let line = text.lines().find_map(|line| line.strip_prefix("key     ")).expect("a key");
    line.split_whitespace().next().expect("a fingerprint").to_owned()
}

#[test]
fn an_agent_ends_at_its_maximum_age_and_finishes_its_work_before() {
    let field = field_of(1);
    let up = ends(&field, &["up", "n1", "--max-life", "15s"]);
    assert!(up.contains("up      n1"), "{up}");
    let status = ends(&field, &["status"]);
    assert!(status.contains("life    agents end in "), "{status}");
    let json = ends(&field, &["status", "--json"]);
    assert!(json.contains("\"ends_in_s\":"), "{json}");
    // It works until it is told not to.
    let work = "until [ -e /mnt/home/go ]; do sleep 0.05; done; echo finished";
    let mut command = garland(&field, &["exec", "-s", "n1", work]);
    let working = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    // The age has come when status can reach it no more, and the record says so.
    wait_for(|| said(&run(&field, &["status", "--json"])).contains("\"ends_in_s\": 0"));
    assert_eq!(agents(&field), 1, "it still works");
    // Another command has an agent of its own, and `up` starts a successor.
    ends(&field, &["exec", "n1", "--", "true"]);
    ends(&field, &["up", "n1", "--max-life", "24h"]);
    assert_eq!(agents(&field), 2, "the old one still works");
    fs::write(field.machines.seen(1, "/mnt/home/go"), "").expect("written");
    let worked = working.wait_with_output().expect("it ends");
    assert!(said(&worked).contains("finished"), "{}", said(&worked));
    wait_for(|| agents(&field) == 1);
    let status = ends(&field, &["status"]);
    assert!(status.contains("life    agents end in 2"), "{status}");
    ends(&field, &["down"]);
}

#[test]
fn a_rotated_key_ends_all_agents_of_the_old_one_and_names_those_that_are_away() {
    let field = field_of(2);
    ends(&field, &["up", "n[1-2]"]);
    let first = shown_key(&field);
    assert_eq!(key_files(&field), ["controller.key", "controller.key.lock"]);
    field.machines.shell(0, "ip link set v2 down").expect("n2 is away");
    let rotated = run(&field, &["key", "rotate"]);
    let text = said(&rotated);
    assert_eq!(rotated.status.code(), Some(1), "{text}");
    assert!(text.contains("retired n1"), "{text}");
    assert!(text.contains("failed  n2: cannot end its standing agent"), "{text}");
    assert!(text.contains("garland key rotate --forget"), "{text}");
    let second = shown_key(&field);
    assert!(second != first && text.contains(&format!("{second} (before: {first})")), "{text}");
    assert!(key_files(&field).contains(&"controller.key.old".to_owned()));

    // The new key is used meanwhile.
    ends(&field, &["up", "n1"]);
    let up = run(&field, &["up", "n2"]);
    assert!(said(&up).contains("it obeys another key of this user"), "{}", said(&up));
    let status = said(&run(&field, &["status"]));
    assert!(status.contains("up      n1") && status.contains("garland key rotate"), "{status}");
    // One that is killed changes nothing of that.
    let mut killed = garland(&field, &["key", "rotate"]);
    let mut killed = killed.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    wait_for(|| {
        field.machines.processes().expect("ps").iter().any(|line| line.ends_with("key rotate"))
    });
    field.machines.shell(0, "pkill -KILL -f 'garland.*key rotate$' || true").expect("it runs");
    killed.wait().expect("it ends");
    assert!(key_files(&field).contains(&"controller.key.old".to_owned()));
    assert_eq!(shown_key(&field), second);

    field.machines.shell(0, "ip link set v2 up").expect("n2 is back");
    let rotated = ends(&field, &["key", "rotate"]);
    assert!(rotated.contains("retired n2") && !rotated.contains("n1"), "{rotated}");
    assert_eq!(shown_key(&field), second);
    assert!(!key_files(&field).contains(&"controller.key.old".to_owned()));
    wait_for(|| agents(&field) == 1);
    let status = ends(&field, &["status"]);
    assert!(status.contains("up      n1") && !status.contains("n2"), "{status}");
    ends(&field, &["down"]);
}

#[test]
fn a_rejected_connection_is_no_end_and_the_node_is_asked_by_a_login() {
    let field = field_of(1);
    ends(&field, &["up", "n1"]);
    let wall = "nft add table inet wall; \
                nft add chain inet wall in '{ type filter hook input priority 0; }'; \
                nft add rule inet wall in tcp dport != 22 reject with tcp reset";
    field.machines.shell(1, wall).expect("a firewall");
    let up = said(&run(&field, &["up", "n1"]));
    assert!(up.contains("although its standing agent runs (process "), "{up}");
    assert_eq!(agents(&field), 1);
    let rotated = ends(&field, &["key", "rotate"]);
    assert!(rotated.contains("retired n1"), "{rotated}");
    assert_eq!(agents(&field), 0, "an agent of the old key is left");
    // One that cannot be connected to is not left either.
    let up = said(&run(&field, &["up", "n1"]));
    assert!(up.contains("or a firewall rejects the connection"), "{up}");
    assert_eq!(agents(&field), 0, "an agent is left that nobody can use");
    let status = said(&run(&field, &["status"]));
    assert!(status.contains("no standing agents"), "{status}");
}
