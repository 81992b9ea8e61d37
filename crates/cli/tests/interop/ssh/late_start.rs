//! Nodes that do not answer their logins as the others do: the others do not wait for them.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};

use garland_testkit::{Sshd, said};

use crate::ssh::reach::N2_IS_HEAD;
use crate::ssh::{assert_nothing_left, assert_whole, field_of, garland, read, run, wait_for};

/// The packets to this address of the cluster file's n4 go nowhere, and nobody says so.
const DEAD: &str = "ip neigh replace 10.99.0.4 lladdr 02:00:00:00:00:04 dev br0 nud permanent; \
                    echo 10.99.0.4 n4 >>/mnt/hosts";

/// Three nodes, and n4, which is dead. ssh would wait for it for ten minutes.
fn field_with_dead() -> Sshd {
    let field = field_of(3);
    field.machines.shell(0, DEAD).expect("set");
    field.cluster_file("\"-oConnectTimeout=600\"").expect("written");
    field
}

/// Has n3 answer logins only after the file `/mnt/n3/answer` exists there.
fn hold_n3(field: &Sshd) {
    let hold = "mkdir -p /mnt/home/.ssh; echo 'until test -e /mnt/n3/answer; do sleep 0.05; done' \
                >/mnt/home/.ssh/rc";
    field.machines.shell(3, hold).expect("set");
}

fn answer(field: &Sshd) {
    field.machines.shell(3, "touch /mnt/n3/answer").expect("set");
}

fn start(field: &Sshd, arguments: &[&str]) -> Child {
    let mut command = garland(field, arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("garland starts")
}

#[test]
fn a_dead_node_delays_no_copy_to_the_others() {
    let field = field_with_dead();
    let copy = start(&field, &["cp", "/mnt/head/source", "n[1-4]:/mnt/home/copy"]);
    // The copy is killed after 30 s: long before ssh gives n4 up.
    wait_for(|| (1..=3).all(|node| read(&field, node, "/mnt/home/copy").is_some()));
    let interrupt = "kill -INT $(pgrep -f '^[^ ]*garland --cluster')";
    field.machines.shell(0, interrupt).expect("it runs still");
    let output = copy.wait_with_output().expect("it ends");
    let text = said(&output);
    for node in 1..=3 {
        assert_whole(&field, node, "/mnt/home/copy");
    }
    assert!(text.contains("failed  n4: it did not answer before the interrupt"), "{text}");
    assert_nothing_left(&field);

    // A login that ends says why.
    field.cluster_file("\"-oConnectTimeout=4\"").expect("written");
    let output = run(&field, &["cp", "/mnt/head/source", "n[1-4]:/mnt/home/copy"]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("failed  n4: ssh: it does not answer"), "{text}");
    assert!(text.contains("to go on: garland cp --resume "), "{text}");
    assert_nothing_left(&field);
}

#[test]
fn a_node_that_answers_late_joins_the_copy() {
    let field = field_of(3);
    hold_n3(&field);
    let copy = start(&field, &["cp", "/mnt/head/source", "n[1-3]:/mnt/home/copy"]);
    wait_for(|| (1..=2).all(|node| read(&field, node, "/mnt/home/copy").is_some()));
    assert!(read(&field, 3, "/mnt/home/copy").is_none(), "its login waits");
    answer(&field);
    let output = copy.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", said(&output));
    assert_whole(&field, 3, "/mnt/home/copy");
    assert_nothing_left(&field);
}

#[test]
fn a_node_that_answers_late_gets_all_of_a_tree() {
    let field = field_of(3);
    let tree = "mkdir -p /mnt/head/tree/in; cp /mnt/head/source /mnt/head/tree/in/; \
                echo new >/mnt/head/tree/new";
    field.machines.shell(0, tree).expect("made");
    let arguments = ["cp", "-r", "/mnt/head/tree", "n[1-3]:/mnt/home"];
    let output = run(&field, &arguments);
    assert!(output.status.success(), "{}", said(&output));
    field.machines.shell(0, "echo newer >/mnt/head/tree/new").expect("changed");
    hold_n3(&field);
    let copy = start(&field, &arguments);
    let is_new =
        |node| read(&field, node, "/mnt/home/tree/new").is_some_and(|new| new == b"newer\n");
    wait_for(|| (1..=2).all(is_new));
    assert!(!is_new(3), "its login waits");
    answer(&field);
    let output = copy.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", said(&output));
    assert!(is_new(3));
    assert_whole(&field, 3, "/mnt/home/tree/in/source");
    assert_nothing_left(&field);
}

#[test]
fn a_command_runs_where_a_login_is_answered_and_later_elsewhere() {
    let field = field_of(3);
    hold_n3(&field);
    let mut command = start(&field, &["exec", "-n", "n[1-3]", "--", "hostname"]);
    let mut output = BufReader::new(command.stdout.take().expect("a pipe"));
    let mut lines = [String::new(), String::new()];
    for line in &mut lines {
        output.read_line(line).expect("a line");
    }
    lines.sort_unstable();
    assert_eq!(lines, ["n1: n1\n", "n2: n2\n"], "n3 has not answered");
    answer(&field);
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("the rest");
    assert_eq!(rest, "n3: n3\n");
    assert!(command.wait().expect("it ends").success());
    assert_nothing_left(&field);
}

#[test]
fn a_late_node_whose_name_leads_to_the_machine_itself_is_told() {
    let field = field_of(3);
    // The head's sshd runs this for each login.
    let held = "echo 'until test -e /mnt/head/answer; do sleep 0.05; done; \
                exec sh -c \"$SSH_ORIGINAL_COMMAND\"' >/mnt/head/held";
    let server = "-oForceCommand='sh /mnt/head/held' -oListenAddress";
    let begin = N2_IS_HEAD.replace("-oListenAddress", server);
    field.machines.shell(0, &format!("{held}; {begin}")).expect("it runs");
    let copy = start(&field, &["cp", "/mnt/head/source", "n[1-3]:/mnt/home/copy"]);
    wait_for(|| [1, 3].iter().all(|node| read(&field, *node, "/mnt/home/copy").is_some()));
    field.machines.shell(0, "touch /mnt/head/answer").expect("set");
    let output = copy.wait_with_output().expect("it ends");
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let reason = "failed  n2: its name resolves to the loopback address 127.0.1.1 on this machine";
    assert!(text.contains(reason), "{text}");
    assert_whole(&field, 1, "/mnt/home/copy");
    assert_whole(&field, 3, "/mnt/home/copy");
    assert_nothing_left(&field);
}
