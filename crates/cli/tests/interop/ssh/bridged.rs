//! Nodes behind firewalls that let in ssh only.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use garland_testkit::{Sshd, said};

use crate::ssh::light::{garland, run};
use crate::ssh::{assert_nothing_left, assert_whole, field_of, read, wait_for};

/// Has node `node` drop what comes to it, but for ssh and what `also` lets in.
fn wall(field: &Sshd, node: u8, also: &str) {
    let rules = format!(
        "nft add table inet wall; \
         nft add chain inet wall in '{{ type filter hook input priority 0; policy drop; }}'; \
         nft add rule inet wall in iif lo accept; \
         nft add rule inet wall in ct state established,related accept; \
         nft add rule inet wall in meta l4proto icmp accept; \
         nft add rule inet wall in meta l4proto icmpv6 accept; \
         nft add rule inet wall in tcp dport 22 accept; {also}"
    );
    field.machines.shell(node, &rules).expect("a firewall");
}

/// Three nodes that let in ssh only.
fn walled() -> Sshd {
    let field = field_of(3);
    (1..=3).for_each(|node| wall(&field, node, ""));
    field
}

fn succeeded(field: &Sshd, arguments: &[&str]) -> String {
    let output = run(field, arguments);
    let text = said(&output);
    assert!(output.status.success(), "{arguments:?}: {text}");
    text
}

#[test]
fn ssh_is_enough_for_commands_and_copies_in_both_directions() {
    let field = walled();
    let text = succeeded(&field, &["exec", "n[1-3]", "--", "echo", "here"]);
    assert!(text.contains("here"), "{text}");
    assert!(text.contains("by ssh  n[1-3]: its agent's port is closed "), "{text}");
    assert!(text.contains("open a TCP port to the nodes, and name it by --port"), "{text}");
    let text = succeeded(&field, &["cp", "/mnt/head/source", "n[1-3]:/mnt/home/copy"]);
    assert!(!text.contains("by ssh"), "it was said before: {text}");
    let star = "star    n[1-3]: fed by this machine, since no other node reaches them";
    assert!(text.contains(star), "{text}");
    (1..=3).for_each(|node| assert_whole(&field, node, "/mnt/home/copy"));
    succeeded(&field, &["cp", "n[1-3]:/mnt/home/copy", "/mnt/head/from/"]);
    let source = read(&field, 0, "/mnt/head/source");
    for node in 1..=3 {
        assert!(read(&field, 0, &format!("/mnt/head/from/n{node}/copy")) == source, "n{node}");
    }
    assert_nothing_left(&field);
}

#[test]
fn an_agent_that_stays_is_reached_by_ssh_at_once_and_ends_at_a_request() {
    let field = walled();
    let text = succeeded(&field, &["up", "n[1-3]"]);
    assert!(text.contains("by ssh  n[1-3]: "), "{text}");
    let text = succeeded(&field, &["exec", "n[1-3]", "--", "echo", "here"]);
    assert!(!text.contains("by ssh"), "the record has the way: {text}");
    let text = succeeded(&field, &["status"]);
    assert!(text.contains("n1") && !text.contains("cannot"), "{text}");
    succeeded(&field, &["cp", "/mnt/head/source", "n[1-3]:/mnt/home/copy"]);
    (1..=3).for_each(|node| assert_whole(&field, node, "/mnt/home/copy"));
    let text = succeeded(&field, &["cp", "-n", "/mnt/head/source", "n[1-3]:/mnt/home/copy"]);
    assert!(
        text.contains("shape: this machine feeds the nodes that no other one reaches"),
        "{text}"
    );
    assert!(text.contains("head -> n1, n2, n3\n"), "{text}");
    succeeded(&field, &["down", "n[1-3]"]);
    assert_nothing_left(&field);
}

#[test]
fn agents_of_an_interrupted_start_behind_firewalls_are_found_by_the_next_one() {
    let field = walled();
    let mut up = garland(&field, &["up", "n[1-3]"]);
    let mut up = up.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    // The agents run, and their ports are tried for more than a second.
    let agents = "pgrep -c -f ' agent --controlle[r] .* --stay ' | grep -qx 3";
    wait_for(|| field.machines.shell(0, agents).is_ok());
    std::thread::sleep(Duration::from_millis(300));
    field.machines.shell(0, "pkill -INT -f ' u[p] n.1-3.'").expect("it runs");
    assert!(!up.wait().expect("it ends").success());
    succeeded(&field, &["up", "n[1-3]"]);
    let text = succeeded(&field, &["status"]);
    assert!(text.contains("n1") && !text.contains("cannot"), "{text}");
    succeeded(&field, &["down", "n[1-3]"]);
    assert_nothing_left(&field);
}

#[test]
fn a_login_that_breaks_is_made_again_and_ends_no_session() {
    let field = walled();
    let line = "echo >begun; while ! test -e go; do sleep 0.05; done; echo done";
    let mut exec = garland(&field, &["exec", "n1", "--", "sh", "-c", line]);
    let exec = exec.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    wait_for(|| read(&field, 1, "/mnt/home/begun").is_some());
    field.machines.shell(0, "pkill -KILL -f '^ssh .* bridge 10.99.0.1:'").expect("there is one");
    fs::write(field.machines.seen(1, "/mnt/home/go"), "").expect("it has room");
    let output = exec.wait_with_output().expect("it ends");
    let text = said(&output);
    assert!(output.status.success() && text.contains("done"), "{text}");
    assert_nothing_left(&field);
}

#[test]
fn a_login_that_takes_long_to_be_made_again_ends_no_session_either() {
    let field = walled();
    // One login takes longer than silent agents are waited for otherwise.
    let script = "#!/bin/sh\ncase \"$SSH_ORIGINAL_COMMAND\" in \
                  *' bridge '*) mv /mnt/ssh/slow /mnt/ssh/slept && sleep 5.5;; esac 2>/dev/null\n\
                  exec sh -c \"$SSH_ORIGINAL_COMMAND\"\n";
    fs::write(field.machines.seen(0, "/mnt/ssh/slowly"), script).expect("a script");
    let force = "cd /mnt/ssh; chmod +x slowly; sed -i 's,^,command=\"/mnt/ssh/slowly\" ,' user.pub";
    field.machines.shell(0, force).expect("it is forced");
    let line = "echo >begun; while ! test -e go; do sleep 0.05; done; echo done";
    let mut exec = garland(&field, &["exec", "n1", "--", "sh", "-c", line]);
    let exec = exec.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    wait_for(|| read(&field, 1, "/mnt/home/begun").is_some());
    fs::write(field.machines.seen(0, "/mnt/ssh/slow"), "").expect("it has room");
    let ended = "pkill -KILL -f '^ssh .* bridge 10.99.0.1:'";
    field.machines.shell(0, ended).expect("there is one");
    wait_for(|| read(&field, 0, "/mnt/ssh/slept").is_some());
    field.machines.shell(0, "sleep 5.5").expect("the login takes so long");
    fs::write(field.machines.seen(1, "/mnt/home/go"), "").expect("it has room");
    let output = exec.wait_with_output().expect("it ends");
    let text = said(&output);
    assert!(output.status.success() && text.contains("done"), "{text}");
    assert_nothing_left(&field);
}

#[test]
fn a_node_that_cannot_be_logged_in_to_keeps_the_others_from_nothing() {
    let field = walled();
    let closed = "nft insert rule inet wall in tcp dport 22 reject with tcp reset";
    field.machines.shell(2, closed).expect("a rule");
    let output = run(&field, &["cp", "/mnt/head/source", "n[1-3]:/mnt/home/copy"]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("star    n[1,3]: fed by this machine"), "{text}");
    assert!(text.contains("failed  n2: "), "{text}");
    assert_whole(&field, 1, "/mnt/home/copy");
    assert_whole(&field, 3, "/mnt/home/copy");
    assert_nothing_left(&field);
}

#[test]
fn nodes_that_reach_each_other_copy_from_one_to_the_next() {
    let field = field_of(3);
    // Only the head is kept out.
    for node in 1..=3 {
        wall(&field, node, "nft add rule inet wall in ip saddr != 10.99.0.254 accept");
    }
    let text = succeeded(&field, &["cp", "/mnt/head/source", "n[1-3]:/mnt/home/copy"]);
    assert!(text.contains("by ssh  n[1-3]: "), "{text}");
    assert!(!text.contains("star "), "{text}");
    (1..=3).for_each(|node| assert_whole(&field, node, "/mnt/home/copy"));
    assert_nothing_left(&field);
}

#[test]
fn a_login_that_stands_for_an_agent_opens_no_session() {
    let field = walled();
    // n1's login is no bridge, but says so. What it says then: other bytes, its input, nothing.
    let script = "#!/bin/sh\ncase \"$SSH_CONNECTION $SSH_ORIGINAL_COMMAND\" in \
                  *' 10.99.0.1 '*' bridge '*) ;; \
                  *) exec sh -c \"$SSH_ORIGINAL_COMMAND\";; esac\n\
                  echo 'garland-bridge open'\n. /mnt/ssh/then\n";
    fs::write(field.machines.seen(0, "/mnt/ssh/stands"), script).expect("a script");
    let force = "cd /mnt/ssh; chmod +x stands; sed -i 's,^,command=\"/mnt/ssh/stands\" ,' user.pub";
    field.machines.shell(0, force).expect("it is forced");
    for then in ["head -c 1000000 /dev/urandom; sleep 9", "exec cat", "sleep 9", "exit 1"] {
        fs::write(field.machines.seen(0, "/mnt/ssh/then"), then).expect("a script");
        let output = run(&field, &["exec", "n[1-2]", "--", "echo", "here"]);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(1), "{then}: {text}");
        assert!(text.contains("failed  n1: cannot connect to its agent at "), "{then}: {text}");
        assert!(text.contains("; through ssh: "), "{then}: {text}");
        assert_eq!(text.matches("here").count(), 1, "{then}: {text}");
    }
    assert_nothing_left(&field);
}

#[test]
fn wires_between_nodes_that_do_not_reach_each_other_are_not_measured_in_vain() {
    let field = walled();
    for command in ["wires", "ping"] {
        let output = run(&field, &[command, "n[1-3]"]);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(text.contains("cannot measure: no node of n[1-3] reaches the next one"), "{text}");
        assert!(text.contains("open a TCP port on the nodes, and name it with --port"), "{text}");
    }
    assert_nothing_left(&field);
}

#[test]
fn who_was_not_reached_is_not_tried_again_by_the_next_command() {
    let field = walled();
    // The second node's firewall counts what the first one sends to it.
    let counted = "nft list chain inet wall in | grep 'saddr 10.99.0.1 counter'";
    let shell = |script: &str| field.machines.shell(2, script).expect("that holds");
    shell("nft add rule inet wall in ip saddr 10.99.0.1 counter");
    succeeded(&field, &["up", "n[1-3]"]);
    shell(&format!("{counted} >/mnt/home/tried; ! grep 'packets 0 ' /mnt/home/tried"));
    succeeded(&field, &["cp", "/mnt/head/source", "n[1-3]:/mnt/home/copy"]);
    shell(&format!("{counted} >/mnt/home/then; cmp /mnt/home/tried /mnt/home/then"));
    (1..=3).for_each(|node| assert_whole(&field, node, "/mnt/home/copy"));
    succeeded(&field, &["down", "n[1-3]"]);
    assert_nothing_left(&field);
}

#[test]
fn a_command_that_is_given_up_ends_on_nodes_behind_firewalls_too() {
    let field = walled();
    succeeded(&field, &["up", "n[1-3]"]);
    let line = "echo $$ >began; exec sleep 60";
    let output = run(&field, &["exec", "--timeout", "1s", "n[1-3]", "--", "sh", "-c", line]);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    // Longer than an agent takes to end what it runs, and much shorter than it waits for a session
    // that is lost.
    for node in 1..=3 {
        let ends = "for i in $(seq 50); do kill -0 $(cat /mnt/home/began) 2>/dev/null || exit 0; sleep 0.1; done; exit 1";
        field.machines.shell(node, ends).expect("it has ended");
    }
    succeeded(&field, &["down", "n[1-3]"]);
    assert_nothing_left(&field);
}

#[test]
fn doctor_finds_no_fault_in_nodes_that_this_machine_feeds_through_ssh() {
    let field = walled();
    let text = succeeded(&field, &["doctor", "n[1-3]:/mnt/home"]);
    assert!(text.contains("no connection to the next node's agent (a firewall?)"), "{text}");
    assert!(!text.contains("fault "), "{text}");
    assert_nothing_left(&field);
}
