//! Standing agents and their records, whatever happens during their start, and whoever says that
//! they have ended or that they are others. The nodes are processes of this machine, which a
//! program named ssh starts.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use garland_testkit::{Garland, Process, RunOutput, Running, Scratch, until};

use super::{garland_in, record_file};

/// What the program named ssh does for all logins.
const LOGIN: &str = "#!/bin/sh
for last; do :; done
node=; for word; do case $word in n[0-9]) node=$word;; esac; done
SSH_CONNECTION='127.0.0.1 50000 127.0.0.1 22'; export SSH_CONNECTION
case $last in *--controller*) starts=yes;; *) starts=;; esac
. \"$HOME/bin/hook\"
exec sh -c \"$last\"
";

/// A login that is refused.
const REFUSED: &str = "echo 'n1: Permission denied (publickey).' >&2; exit 255";

/// A start that waits for the file `go`, and says so by the file `asked`.
const WAITS: &str = "if [ \"$starts\" ]; then
    : >\"$HOME/asked\"; until [ -e \"$HOME/go\" ]; do sleep 0.01; done
fi";

/// Nodes that are logged in to by a program of the test.
pub(super) struct Site<'a> {
    scratch: &'a Scratch,
    garland: Garland<'a>,
}

impl<'a> Site<'a> {
    pub(super) fn new(scratch: &'a Scratch) -> Self {
        fs::create_dir(scratch.path("bin")).expect("a new directory");
        let site = Self { scratch, garland: garland_in(scratch) };
        site.program("ssh", LOGIN);
        site.hook("");
        site
    }

    /// Puts a program named `name` before those of the system.
    fn program(&self, name: &str, script: &str) {
        let path = self.scratch.path("bin").join(name);
        fs::write(&path, script).expect("it can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is this user's");
    }

    /// Sets what logins do first. `$starts` is set in those that start an agent, `$node` is the
    /// node.
    pub(super) fn hook(&self, script: &str) {
        fs::write(self.scratch.path("bin/hook"), script).expect("it can be written");
    }

    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.garland.command(words);
        let bin = self.scratch.path("bin");
        command.env("PATH", format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", bin.display()));
        command
    }

    pub(super) fn start(&self, words: &[&str]) -> Running {
        Running::start(self.command(words))
    }

    pub(super) fn run(&self, words: &[&str]) -> RunOutput {
        self.start(words).end()
    }

    pub(super) fn touch(&self, name: &str) {
        fs::write(self.scratch.path(name), "").expect("it can be written");
    }

    pub(super) fn await_file(&self, name: &str) {
        until(&format!("the file {name}"), || self.scratch.path(name).exists());
    }

    /// The standing agents that run.
    fn agents(&self) -> Vec<Process> {
        let mut agents = self.scratch.processes();
        agents.retain(|it| it.is_agent(None) && it.command.contains("--stay"));
        agents.retain(|it| !it.command.contains("--detach"));
        agents
    }

    fn record(&self, node: &str) -> serde_json::Value {
        let text = fs::read(record_file(self.scratch, node)).expect("it has a record");
        serde_json::from_slice(&text).expect("it is JSON")
    }

    /// Has connections to the agent of a node refused, as by one forged segment: the record has a
    /// port on which nobody listens.
    fn refuse(&self, node: &str) {
        let closed = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let mut record = self.record(node);
        record["port"] = closed.local_addr().expect("it listens").port().into();
        drop(closed);
        fs::write(record_file(self.scratch, node), record.to_string()).expect("it is this user's");
    }
}

#[test]
fn a_key_rotation_waits_for_commands_that_start_agents_and_names_them() {
    let scratch = Scratch::new("rotate-beside-up");
    let site = Site::new(&scratch);
    site.hook(WAITS);
    let up = site.start(&["up", "n1"]);
    site.await_file("asked");
    let rotating = site.start(&["key", "rotate"]);
    rotating.await_err("waiting to replace the key for process ");
    rotating.await_err("up n1)");
    site.touch("go");
    let _ = up.end().with_code(0);
    let rotated = rotating.end().with_code(0);
    assert!(rotated.out.starts_with("retired n1\n"), "{rotated:?}");
    assert_eq!(site.agents(), [], "an agent of the old key is left");
    scratch.assert_nothing_left();
}

#[test]
fn two_commands_that_start_an_agent_of_one_node_start_one() {
    let scratch = Scratch::new("up-beside-up");
    let site = Site::new(&scratch);
    site.hook(WAITS);
    let first = site.start(&["up", "n1"]);
    site.await_file("asked");
    let second = site.run(&["up", "n1"]).with_code(3);
    assert!(second.out.contains("another command (process "), "{second:?}");
    let status = site.run(&["status"]).with_code(3);
    assert!(status.out.starts_with("skipped n1: another command (process "), "{status:?}");
    site.touch("go");
    let _ = first.end().with_code(0);
    assert_eq!(site.agents().len(), 1);
    assert_eq!(site.run(&["down"]).with_code(0).out, "down    n1\n");
    scratch.assert_nothing_left();
}

#[test]
fn of_the_addresses_of_a_name_the_one_of_the_login_counts() {
    let scratch = Scratch::new("two-addresses");
    let site = Site::new(&scratch);
    // The first one belongs to nobody (RFC 5737). ssh has connected to the second.
    site.program("getent", "#!/bin/sh\necho '192.0.2.77 STREAM n1'\necho '127.0.0.1 STREAM'\n");
    fs::write(scratch.path("f"), "content").expect("it can be written");
    let target = format!("n1:{}", scratch.path("copy").display());
    let source = scratch.path("f");
    let copied = site.run(&["cp", &source.to_string_lossy(), &target]);
    assert_eq!(copied.code, 0, "{copied:?}");
    let _ = site.run(&["up", "n1"]).with_code(0);
    assert_eq!(site.record("n1")["addresses"], serde_json::json!(["127.0.0.1"]));
    let _ = site.run(&["down"]).with_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn the_agent_of_a_command_that_was_killed_is_found_and_ended() {
    // The agent runs, and the command never learns of it.
    let hook = "if [ \"$starts\" ]; then
        setsid sh -c \"$last\" >\"$HOME/said\" 2>&1 </dev/null &
        until grep -q '^garland-agent ' \"$HOME/said\"; do sleep 0.01; done
        : >\"$HOME/runs\"; read -r end; exit
    fi";
    for words in [&["key", "rotate"][..], &["down"], &["status"], &["up", "n1"]] {
        let scratch = Scratch::new(&format!("killed-up-{}", words[0]));
        let site = Site::new(&scratch);
        site.hook(hook);
        let up = site.start(&["up", "n1"]);
        site.await_file("runs");
        let orphans = site.agents();
        assert_eq!(orphans.len(), 1);
        up.process().kill();
        let _ = up.end();
        site.hook("");
        let said = site.run(words);
        let left = site.agents();
        assert!(!left.contains(&orphans[0]), "{words:?} leaves {left:?}: {said:?}");
        let code = if words == ["status"] { 3 } else { 0 };
        assert_eq!(said.code, code, "{said:?}");
        let _ = site.run(&["down"]).with_code(0);
        scratch.assert_nothing_left();
    }
}

#[test]
fn an_agent_that_was_started_and_cannot_be_asked_for_is_named_until_its_node_tells() {
    let scratch = Scratch::new("killed-up-away");
    let site = Site::new(&scratch);
    site.hook(WAITS);
    let up = site.start(&["up", "n1"]);
    site.await_file("asked");
    up.process().kill();
    let _ = up.end();
    site.touch("go");
    site.hook(REFUSED);
    let rotated = site.run(&["key", "rotate"]).with_code(1);
    let reason =
        "its start was interrupted, and its end is not confirmed: ssh: the login is refused";
    assert!(rotated.out.contains(reason), "{rotated:?}");
    let old =
        record_file(&scratch, "n1").parent().and_then(|path| path.parent()).map(PathBuf::from);
    let old = old.expect("the state of a host").join("controller.key.old");
    assert!(old.exists(), "a record names an agent of the old key");
    site.hook("");
    until("the end of the start", || scratch.processes().is_empty() || !site.agents().is_empty());
    let _ = site.run(&["key", "rotate"]).with_code(0);
    assert!(!old.exists() && site.agents().is_empty());
    scratch.assert_nothing_left();
}

#[test]
fn an_agent_whose_record_cannot_be_completed_is_ended() {
    let scratch = Scratch::new("no-record");
    let site = Site::new(&scratch);
    // A directory in its place, as if the disk were full from here on.
    site.hook(
        "if [ \"$starts\" ]; then
            record=$(echo \"$HOME\"/state/*/standing)/n1.json; rm -f \"$record\"; mkdir \"$record\"
        fi",
    );
    let said = site.run(&["up", "n1"]).with_code(3);
    assert!(said.out.contains("cannot write ") && said.out.contains("n1.json"), "{said:?}");
    assert_eq!(site.agents(), [], "an agent is left that nobody knows");
    fs::remove_dir(record_file(&scratch, "n1")).expect("it is empty");
    scratch.assert_nothing_left();
}

#[test]
fn an_agent_that_cannot_be_connected_to_is_ended_and_leaves_no_record() {
    let scratch = Scratch::new("blocked-port");
    let site = Site::new(&scratch);
    // It says another port than that on which it listens: nobody listens there.
    site.hook("if [ \"$starts\" ]; then sh -c \"$last\" | sed 's/^\\(garland-agent [^ ]*\\) [0-9]*/\\1 1/'; exit; fi");
    let said = site.run(&["up", "n1"]).with_code(3);
    assert!(said.out.contains("cannot connect to its agent at 127.0.0.1:1"), "{said:?}");
    assert_eq!(site.agents(), [], "an agent is left that nobody knows");
    assert!(!record_file(&scratch, "n1").exists());
    // A login that is refused starts nothing, so nothing is left to ask for.
    site.hook(REFUSED);
    let said = site.run(&["up", "n1"]).with_code(3);
    assert!(said.out.contains("ssh: the login is refused"), "{said:?}");
    assert!(!record_file(&scratch, "n1").exists());
    scratch.assert_nothing_left();
}

#[test]
fn a_refused_connection_ends_no_agent_and_hides_none() {
    let scratch = Scratch::new("refused");
    let site = Site::new(&scratch);
    let _ = site.run(&["up", "local1"]).with_code(0);
    let _ = site.run(&["up", "n1"]).with_code(0);
    let before = site.agents();
    assert_eq!(before.len(), 2);
    for node in ["local1", "n1"] {
        site.refuse(node);
        let said = site.run(&["up", node]).with_code(3);
        assert!(said.out.contains("although its standing agent runs (process "), "{said:?}");
        // What needs no agent that stays has one of its own.
        let _ = site.run(&["exec", node, "--", "true"]).with_code(0);
    }
    assert_eq!(site.agents(), before);
    // The processes of this machine and a login tell more than the port.
    let said = site.run(&["down"]).with_code(0);
    assert_eq!(said.out, "down    local1,n1\n");
    assert_eq!(site.agents(), []);
    scratch.assert_nothing_left();
}

#[test]
fn a_key_rotation_ends_agents_whose_connections_are_refused() {
    let scratch = Scratch::new("refused-rotate");
    let site = Site::new(&scratch);
    let _ = site.run(&["up", "local1"]).with_code(0);
    let _ = site.run(&["up", "n1"]).with_code(0);
    site.refuse("local1");
    site.refuse("n1");
    site.hook(REFUSED);
    let rotated = site.run(&["key", "rotate"]).with_code(1);
    assert!(rotated.out.contains("retired local1"), "{rotated:?}");
    let reason = "connection refused, and its end is not confirmed: ssh: the login is refused";
    assert!(rotated.out.contains(reason), "{rotated:?}");
    assert_eq!(site.agents().len(), 1);
    site.hook("");
    let rotated = site.run(&["key", "rotate"]).with_code(0);
    assert!(rotated.out.starts_with("retired n1\n"), "{rotated:?}");
    assert_eq!(site.agents(), []);
    scratch.assert_nothing_left();
}

#[test]
fn an_end_that_the_node_does_not_confirm_is_named_with_advice_that_works() {
    let scratch = Scratch::new("unconfirmed");
    let site = Site::new(&scratch);
    let _ = site.run(&["up", "local1"]).with_code(0);
    let _ = site.run(&["up", "n1"]).with_code(0);
    site.refuse("n1");
    site.hook(REFUSED);
    let said = site.run(&["down"]).with_code(1);
    assert!(said.out.contains("down    local1"), "{said:?}");
    assert!(said.out.contains("that its agent has ended is not confirmed: ssh: "), "{said:?}");
    let (_, advice) = said.out.split_once("garland down --forget '").expect("advice");
    assert!(advice.starts_with("n1'"), "{said:?}");
    let said = site.run(&["down", "--forget", "n1"]).with_code(0);
    assert!(said.out.starts_with("skipped n1: its record is removed: "), "{said:?}");
    assert!(!record_file(&scratch, "n1").exists());
    site.agents().iter().for_each(Process::kill);
    scratch.assert_nothing_left();
}

#[test]
fn agents_that_have_ended_by_themselves_are_no_trouble() {
    let scratch = Scratch::new("ended");
    let site = Site::new(&scratch);
    for last in [&["down"][..], &["key", "rotate"], &["up", "n1"]] {
        let _ = site.run(&["up", "n1"]).with_code(0);
        site.agents().iter().for_each(Process::kill);
        until("the agent's end", || site.agents().is_empty());
        let said = site.run(last).with_code(0);
        if last == ["down"] {
            assert_eq!(said.out, "skipped n1: no agent was up\n");
        }
    }
    assert_eq!(site.agents().len(), 1);
    assert_eq!(site.run(&["down"]).with_code(0).out, "down    n1\n");
    scratch.assert_nothing_left();
}

#[test]
fn an_agent_is_found_at_any_of_its_addresses() {
    let scratch = Scratch::new("rails");
    let site = Site::new(&scratch);
    let _ = site.run(&["up", "local1"]).with_code(0);
    let mut record = site.record("local1");
    record["addresses"] = serde_json::json!(["127.0.0.7", "127.0.0.1"]);
    fs::write(record_file(&scratch, "local1"), record.to_string()).expect("it is this user's");
    let status = site.run(&["status"]).with_code(0);
    assert!(status.out.starts_with("up      local1\n"), "{status:?}");
    assert_eq!(site.run(&["down"]).with_code(0).out, "down    local1\n");
    scratch.assert_nothing_left();
}

#[test]
fn a_node_does_not_pass_for_another_one() {
    let scratch = Scratch::new("lies");
    let site = Site::new(&scratch);
    let _ = site.run(&["up", "n1"]).with_code(0);
    let before = site.agents();
    let record = site.record("n1");
    let key = record["key"].as_array().expect("bytes").iter();
    let key: String = key.map(|byte| format!("{:02x}", byte.as_u64().expect("a byte"))).collect();
    let lie = |port: &serde_json::Value, key: &str| {
        site.hook(&format!(
            "if [ \"$starts\" ] && [ $node = n3 ]; then
                echo 'AT - 127.0.0.1 50000 127.0.0.1 22'
                echo 'garland-agent 0.1.0 {port} {key} at=127.0.0.1 /x'; read -r end; exit
            fi"
        ));
    };
    lie(&record["port"], &key);
    for words in [&["up", "n3"][..], &["exec", "n3", "--", "true"]] {
        let said = site.run(words).with_code(3);
        let text = format!("{}{}", said.out, said.err);
        assert!(
            text.contains("n3: its agent says that it has the key of the agent of n1"),
            "{text}"
        );
    }
    lie(&record["port"], &"07".repeat(32));
    let said = site.run(&["up", "n3"]).with_code(3);
    let address = format!("it has the address 127.0.0.1:{} of the agent of n1", record["port"]);
    assert!(said.out.contains(&address), "{said:?}");
    assert!(!record_file(&scratch, "n3").exists());
    // The other node is not harmed.
    assert_eq!(site.agents(), before);
    let _ = site.run(&["status", "n1"]).with_code(0);
    assert_eq!(site.run(&["down"]).with_code(0).out, "down    n1\n");
    scratch.assert_nothing_left();
}

#[test]
fn who_claims_the_address_of_a_node_first_does_not_keep_it_from_its_agent() {
    let scratch = Scratch::new("claims-first");
    let site = Site::new(&scratch);
    let free = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = free.local_addr().expect("it listens").port();
    drop(free);
    // n3 says that it has the address of n1, and n1 starts its agent when this is known.
    let claimed = scratch.path("claimed");
    let key = "07".repeat(32);
    site.hook(&format!(
        "if [ \"$starts\" ] && [ $node = n3 ]; then
            echo 'AT - 127.0.0.1 50000 127.0.0.1 22'
            echo 'garland-agent 0.1.0 {port} {key} at=127.0.0.1 /x'
            sleep 1; >'{claimed}'; read -r end; exit
        elif [ \"$starts\" ]; then
            while [ ! -e '{claimed}' ]; do sleep 0.05; done
        fi",
        claimed = claimed.display()
    ));
    let port = port.to_string();
    let said = site.run(&["exec", "--port", &port, "n[1,3]", "--", "echo", "here"]).with_code(1);
    let text = format!("{}{}", said.out, said.err);
    assert!(text.contains("n1: here") && text.contains("failed  n3: "), "{text}");
    scratch.assert_nothing_left();
}
