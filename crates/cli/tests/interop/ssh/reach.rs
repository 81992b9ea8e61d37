//! Agents that run and can't be reached, and such that aren't there.

use std::process::Stdio;
use std::time::Duration;

use garland_sys::clock;
use garland_testkit::{Sshd, said, soon};

use crate::ssh::light::{garland, run};
use crate::ssh::{assert_nothing_left, assert_whole, cached, field_of, read, wait_for};

/// As Debian writes it for a machine's own name: n2 is the head too. A login to it is answered.
pub(super) const N2_IS_HEAD: &str = "sed 's/^10.99.0.2 n2$/127.0.1.1 n2/' /mnt/hosts >/mnt/own; \
    cat /mnt/own >/mnt/hosts; \
    sed -i 's/^n2,/n2,127.0.1.1,/' /mnt/ssh/known; \
    /usr/sbin/sshd -f /mnt/ssh/sshd_config -oListenAddress=127.0.1.1 2>/dev/null";

const COPY: [&str; 3] = ["cp", "/mnt/head/source", "n[1-3]:/mnt/home/copy"];

#[test]
fn a_firewall_before_the_agent_on_the_node_itself_is_named_with_its_port() {
    let field = field_of(3);
    // A login on the node does not reach the port either.
    let rules = "nft add table inet wall; \
                 nft add chain inet wall in '{ type filter hook input priority 0; }'; \
                 nft add rule inet wall in tcp dport != 22 ct state new drop";
    field.machines.shell(2, rules).expect("a firewall");
    let output = run(&field, &COPY);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("failed  n2: cannot connect to its agent at 10.99.0.2:"), "{text}");
    assert!(
        text.contains("timed out; the login worked, so a firewall probably blocks TCP port "),
        "{text}"
    );
    assert!(text.contains("`port` in the cluster file /mnt/head/cluster.toml"), "{text}");
    assert!(!text.contains("/etc/hosts"), "{text}");
    assert_whole(&field, 1, "/mnt/home/copy");
    assert_whole(&field, 3, "/mnt/home/copy");
    assert_eq!(read(&field, 2, "/mnt/home/copy"), None);
    assert_nothing_left(&field);
}

#[test]
fn a_firewall_between_nodes_is_a_fault_before_any_copy() {
    let field = field_of(3);
    let rules = "nft add table inet wall; \
                 nft add chain inet wall in '{ type filter hook input priority 0; }'; \
                 nft add rule inet wall in ip saddr 10.99.0.1 tcp dport != 22 reject";
    field.machines.shell(2, rules).expect("a firewall");
    let output = run(&field, &["doctor", "n[1-3]:/mnt/home"]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(4), "{text}");
    assert!(text.contains("fault   n1: no link to the next node: "), "{text}");
    assert!(text.contains("is there a firewall between nodes?"), "{text}");
    assert!(!text.contains("fault   n2") && !text.contains("fault   n3"), "{text}");
    assert_nothing_left(&field);
}

#[test]
fn a_name_that_leads_to_the_machine_itself_is_told_and_the_others_finish() {
    let field = field_of(3);
    field.machines.shell(0, N2_IS_HEAD).expect("it runs");
    for command in [&COPY[..], &["up", "n[1-3]"], &["exec", "n[1-3]", "--", "true"]] {
        let output = run(&field, command);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        let reason = "failed  n2: its name resolves to the loopback address 127.0.1.1 on this machine: \
                      set its `address` in the cluster file /mnt/head/cluster.toml, or correct /etc/hosts";
        assert!(text.contains(reason), "{text}");
        assert!(!text.contains("firewall"), "{text}");
    }
    assert_whole(&field, 1, "/mnt/home/copy");
    assert_whole(&field, 3, "/mnt/home/copy");
    // Alone it can be reached.
    let output = run(&field, &["exec", "n2", "--", "true"]);
    assert!(output.status.success(), "{}", said(&output));
    let output = run(&field, &["down", "n[1-3]"]);
    assert!(output.status.success(), "{}", said(&output));
    assert_nothing_left(&field);
    assert!(cached(&field, 2).is_empty());
}

#[test]
fn ctrl_c_does_not_wait_for_a_login_that_hangs() {
    soon("from Ctrl-C to the end", Duration::from_secs(2), || {
        let field = field_of(3);
        let rules = "nft add table inet wall; \
                     nft add chain inet wall in '{ type filter hook input priority 0; }'; \
                     nft add rule inet wall in tcp dport 22 drop";
        field.machines.shell(2, rules).expect("a firewall");
        // It has an input, which all nodes must get.
        let mut exec = garland(&field, &["exec", "n[1-3]", "--", "true"]);
        let exec = exec.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        // The others' agents are there, and wait for n2's.
        wait_for(|| agents(&field) == 2);
        let began = clock::now_ns();
        field
            .machines
            .shell(0, "kill -INT $(pgrep -f '^[^ ]*/garland[^ /]* --cluster ')")
            .expect("it runs");
        let output = exec.wait_with_output().expect("it ends");
        let waited = Duration::from_nanos(clock::now_ns() - began);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(130), "{text}");
        assert!(text.contains("error: starting agents: interrupted\n"), "{text}");
        assert_nothing_left(&field);
        waited
    });
}

fn agents(field: &Sshd) -> usize {
    let processes = field.machines.processes().expect("ps");
    let is_agent = |line: &&String| line.starts_with("garland agent ");
    processes.iter().filter(is_agent).count()
}

#[test]
fn down_says_where_no_agent_was_up() {
    let field = field_of(3);
    let up = run(&field, &["up", "n[1-2]"]);
    assert!(up.status.success(), "{}", said(&up));
    // Gone with its port: a connection to one that is just dying would break instead.
    let kill = "agent=$(pgrep -o -f '^garland agent '); kill -9 $agent; \
                while [ -n \"$(ls /proc/$agent/fd 2>&-)\" ]; do sleep 0.01; done";
    field.machines.shell(0, kill).expect("it runs");
    let output = run(&field, &["down", "n[1-3]"]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    let lines: Vec<&str> = text.lines().filter(|line| line.contains('n')).collect();
    let down = lines.iter().filter(|line| line.starts_with("down    n")).count();
    let skipped = lines.iter().filter(|line| line.ends_with(": no agent was up")).count();
    assert_eq!((down, skipped), (1, 1), "{text}");
    let output = run(&field, &["down", "--json", "n[1-3]"]);
    let text = said(&output);
    assert_eq!(text.matches("\"verdict\": \"skipped\"").count(), 3, "{text}");
    assert_nothing_left(&field);
}
