//! The binary on its way to nodes that lack it, through nodes that have it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

use garland_sys::clock;
use garland_testkit::{Sshd, said, soon};

use crate::ssh::{
    assert_nothing_left, assert_whole, cached, digest, field_of, garland, half_binaries,
    noted_ways, run, wait_for,
};

fn from_the_head(ways: &[String]) -> usize {
    ways.iter().filter(|line| line.contains(": from the head")).count()
}

#[test]
fn eight_nodes_cost_the_head_two_uploads() {
    let field = field_of(8);
    let output = run(&field, &["cp", "/mnt/head/source", "n[1-8]:/mnt/home/copy"]);
    assert!(output.status.success(), "{}", said(&output));
    let ways = noted_ways(&field, "cp");
    assert_eq!((ways.len(), from_the_head(&ways)), (8, 2), "{ways:#?}");
    for node in 1..=8 {
        assert_whole(&field, node, "/mnt/home/copy");
        let kept = cached(&field, node);
        assert_eq!(kept.len(), 1, "{kept:?}");
        let name = kept[0].file_name().expect("a name").to_string_lossy().into_owned();
        assert_eq!(digest(&kept[0]), name, "it is known by its digest");
    }
    assert_nothing_left(&field);
}

#[test]
fn a_standing_agent_gives_it_and_the_head_needs_not() {
    let field = field_of(3);
    let up = run(&field, &["up", "n1"]);
    assert!(up.status.success(), "{}", said(&up));
    let output = run(&field, &["cp", "/mnt/head/source", "n[1-3]:/mnt/home/copy"]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(noted_ways(&field, "up"), ["n1: from the head"]);
    let mut ways = noted_ways(&field, "cp");
    ways.sort();
    assert_eq!(ways, ["n2: from n1", "n3: from n1"]);
    let down = run(&field, &["down", "n1"]);
    assert!(down.status.success(), "{}", said(&down));
    assert_nothing_left(&field);
}

#[test]
fn a_node_without_bash_gets_it_from_the_head() {
    let field = field_of(4);
    field.machines.shell(4, "mount --bind /dev/null /usr/bin/bash").expect("mounted");
    let output = run(&field, &["cp", "/mnt/head/source", "n[1-4]:/mnt/home/copy"]);
    assert!(output.status.success(), "{}", said(&output));
    assert_whole(&field, 4, "/mnt/home/copy");
    let ways = noted_ways(&field, "cp");
    let line = "n4: from the head, since the node has no bash".to_owned();
    assert!(ways.contains(&line), "{ways:#?}");
}

#[test]
fn a_node_that_gives_other_bytes_is_asked_once_and_the_head_sends_the_right_ones() {
    let field = field_of(2);
    let first = run(&field, &["cp", "/mnt/head/source", "n1:/mnt/home/copy"]);
    assert!(first.status.success(), "{}", said(&first));
    // Still a program, but not the same one.
    let kept = cached(&field, 1).pop().expect("n1 has it");
    let mut bytes = fs::read(&kept).expect("it can be read");
    let words = b"no standing agent";
    let at = bytes.windows(words.len()).position(|part| part == words).expect("it is in it");
    bytes[at] = b'N';
    // It stands there because the user says that it is meant.
    let other = field.machines.seen(1, "/mnt/home/other");
    fs::write(&other, &bytes).expect("there is room");
    fs::set_permissions(&other, fs::Permissions::from_mode(0o700)).expect("it is ours");
    let cluster = field.machines.seen(0, "/mnt/head/cluster.toml");
    let usual = fs::read_to_string(&cluster).expect("it was written");
    let named = format!("binary = \"/mnt/home/other\"\nsha256 = [\"{}\"]\n", digest(&other));
    fs::write(&cluster, format!("{usual}{named}")).expect("there is room");
    let up = run(&field, &["up", "n1"]);
    assert!(up.status.success(), "{}", said(&up));
    fs::write(&cluster, usual).expect("there is room");
    let output = run(&field, &["cp", "/mnt/head/source", "n[1-2]:/mnt/home/again"]);
    assert!(output.status.success(), "{}", said(&output));
    let last = "n2: from the head, since it could not be fetched from n1: other bytes came";
    assert_eq!(noted_ways(&field, "cp").last().map(String::as_str), Some(last));
    let kept = cached(&field, 2).pop().expect("n2 has it");
    assert!(kept.ends_with(digest(&kept)), "{kept:?}");
    assert!(run(&field, &["down", "n1"]).status.success());
}

/// Two nodes; the agent on n1 stays, and gives slowly enough to be caught at it.
fn slow_giver() -> Sshd {
    let field = field_of(2);
    let up = run(&field, &["up", "n1"]);
    assert!(up.status.success(), "{}", said(&up));
    field
        .machines
        .shell(1, "tc qdisc add dev eth0 root tbf rate 20mbit burst 20000 limit 200000")
        .expect("tc");
    field
}

/// Waits until n2 has some of the binary.
fn wait_for_a_half(field: &Sshd) {
    wait_for(|| {
        let halves = half_binaries(field, 2);
        halves.iter().any(|half| fs::metadata(half).is_ok_and(|meta| meta.len() > 100_000))
    });
}

#[test]
fn a_node_that_dies_while_it_gives_is_replaced_by_the_head() {
    let field = slow_giver();
    let mut copy = garland(&field, &["cp", "/mnt/head/source", "n[1-2]:/mnt/home/copy"]);
    let copy = copy.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    wait_for_a_half(&field);
    field.machines.shell(0, "kill -9 $(pgrep -f '^garland agent ')").expect("it runs");
    let output = copy.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert_whole(&field, 2, "/mnt/home/copy");
    let ways = noted_ways(&field, "cp");
    let last = ways.last().expect("it is noted");
    assert!(
        last.starts_with("n2: from the head, since it could not be fetched from n1: "),
        "{last}"
    );
    assert!(last.ends_with(" bytes came"), "{last}");
    assert_nothing_left(&field);
}

#[test]
fn a_node_that_vanishes_while_it_gives_is_replaced_by_the_head() {
    let field = slow_giver();
    let mut exec = garland(&field, &["exec", "n[1-2]", "--", "true"]);
    let exec = exec.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    wait_for_a_half(&field);
    field.machines.shell(0, "ip link set v1 down").expect("it runs");
    let output = exec.wait_with_output().expect("it ends");
    let text = said(&output);
    assert!(text.contains("failed  n1: "), "{text}");
    assert!(!text.contains("n2"), "{text}");
    let ways = noted_ways(&field, "exec");
    let last = ways.last().expect("it is noted");
    assert!(
        last.starts_with("n2: from the head, since it could not be fetched from n1: "),
        "{last}"
    );
}

#[test]
fn a_node_that_reaches_no_other_gets_it_from_the_head_soon() {
    // Three in vain and one upload.
    soon("an upload after all", Duration::from_secs(10), || {
        let field = field_of(2);
        let up = run(&field, &["up", "n1"]);
        assert!(up.status.success(), "{}", said(&up));
        let rules = "nft add table inet wall; \
                     nft add chain inet wall in '{ type filter hook input priority 0; }'; \
                     nft add rule inet wall in ip saddr 10.99.0.2 drop";
        field.machines.shell(1, rules).expect("a firewall");
        let began = clock::now_ns();
        let output = run(&field, &["exec", "n[1-2]", "--", "true"]);
        let waited = Duration::from_nanos(clock::now_ns() - began);
        assert!(output.status.success(), "{}", said(&output));
        let ways = noted_ways(&field, "exec");
        let last = ways.last().expect("it is noted");
        assert!(
            last.starts_with("n2: from the head, since it could not be fetched from n1: 0 of "),
            "{last}"
        );
        let down = run(&field, &["down", "n1"]);
        assert!(down.status.success(), "{}", said(&down));
        assert_nothing_left(&field);
        waited
    });
}

#[test]
fn a_node_with_another_processor_is_refused_and_the_others_finish() {
    let field = field_of(3);
    field
        .machines
        .shell(2, "printf '#!/bin/sh\necho aarch64\n' >/tmp/uname; chmod 755 /tmp/uname; mount --bind /tmp/uname /usr/bin/uname")
        .expect("mounted");
    let output = run(&field, &["cp", "/mnt/head/source", "n[1-3]:/mnt/home/copy"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let text = said(&output);
    let reason =
        "failed  n2: the node is aarch64, this program is for x86_64; install garland there";
    assert!(text.contains(reason), "{text}");
    // The node removes what it began when it notices that its login has ended.
    wait_for(|| cached(&field, 2).is_empty());
    assert_whole(&field, 1, "/mnt/home/copy");
    assert_whole(&field, 3, "/mnt/home/copy");
}
