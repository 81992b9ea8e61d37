//! Nodes that do not answer their logins as the others do.

use std::fs;
use std::process::Command;

use garland_testkit::{Process, Running, Scratch, until};

use super::standing::Site;

/// Has the logins that start agents on these nodes wait for the file `go`.
fn hold(site: &Site<'_>, nodes: &str, first: &str) {
    site.hook(&format!(
        "if [ \"$starts\" ]; then case $node in {nodes}) {first}
            until [ -e \"$HOME/go\" ]; do sleep 0.05; done;; esac; fi"
    ));
}

/// Writes the cluster file of nine nodes, at most `fanout` of which are logged in to at the same
/// time.
fn write_cluster(scratch: &Scratch, fanout: u32) {
    let text = format!("version = 1\nnodes = \"n[1-9]\"\n[ssh]\nfanout = {fanout}\n");
    fs::write(scratch.path("cluster.toml"), text).expect("it can be written");
}

/// Begins a command on `nodes` of the cluster file, by `script`.
fn start(site: &Site<'_>, nodes: &str, script: &str) -> Running {
    let words = ["--cluster", "cluster.toml", "exec", "-n", nodes, "--", "sh", "-c", script];
    site.start(&words)
}

/// Returns the script that leaves a file in the scratch directory, and then does `more`.
fn leave_file(scratch: &Scratch, more: &str) -> String {
    format!("mktemp {}; {more}", scratch.path("ran-XXXXXX").display())
}

/// Waits until the command has run `wanted` times.
fn await_runs(scratch: &Scratch, wanted: usize) {
    let is_one = |name: &fs::DirEntry| name.file_name().to_string_lossy().starts_with("ran-");
    until(&format!("{wanted} runs"), || {
        let entries = fs::read_dir(scratch.folder()).expect("the directory exists");
        entries.filter_map(Result::ok).filter(is_one).count() >= wanted
    });
}

#[test]
fn dead_nodes_leave_the_places_of_their_logins_to_others() {
    let scratch = Scratch::new("late-slots");
    let site = Site::new(&scratch);
    write_cluster(&scratch, 2);
    hold(&site, "n1|n2", "");
    let command = start(&site, "n[1-9]", &leave_file(&scratch, ":"));
    await_runs(&scratch, 7);
    site.touch("go");
    await_runs(&scratch, 9);
    let _ = command.end().with_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn commands_on_late_nodes_run_side_by_side_and_hold_up_no_key_rotation() {
    let scratch = Scratch::new("late-commands");
    let site = Site::new(&scratch);
    write_cluster(&scratch, 1);
    hold(&site, "n4|n5", "");
    let until_end = format!("until [ -e {} ]; do sleep 0.05; done", scratch.path("end").display());
    let command = start(&site, "n[1-5]", &leave_file(&scratch, &until_end));
    await_runs(&scratch, 3);
    site.touch("go");
    await_runs(&scratch, 5);
    let _ = site.run(&["key", "rotate"]).with_code(0);
    site.touch("end");
    let _ = command.end().with_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn a_late_node_is_interrupted_as_the_others_are() {
    let scratch = Scratch::new("late-interrupt");
    let site = Site::new(&scratch);
    write_cluster(&scratch, 9);
    hold(&site, "n3", "");
    // Nobody reads more than a line of the endless output.
    let words = ["--cluster", "cluster.toml", "exec", "-n", "--line-buffer", "n[1-3]", "yes"];
    let command = site.command(&words);
    let line = r#"{ "$0" "$@"; echo $? >code; } | head -n 1"#;
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).arg(command.get_program()).args(command.get_args());
    shell.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.current_dir(scratch.folder());
    let head = Running::start(shell).end().with_code(0);
    assert!(head.out.ends_with(": y\n") && !head.err.contains("failed"), "{head:?}");
    assert_eq!(fs::read_to_string(scratch.path("code")).expect("written"), "0\n");
    until("the end of the agents", || scratch.processes().is_empty());

    let mut command = start(&site, "n[1-3]", &leave_file(&scratch, ":"));
    await_runs(&scratch, 2);
    let is_run = |it: &Process| it.command.contains("ran-") && !it.command.contains("exec -n");
    until("the end of the commands", || !scratch.processes().iter().any(is_run));
    assert!(command.is_running(), "n3 is awaited");
    command.process().interrupt();
    let interrupted = command.end().with_code(130);
    // The head may not know yet that the command has ended on the others.
    let named = interrupted.err.lines().find_map(|line| line.strip_suffix(": interrupted"));
    assert!(named.is_some_and(|nodes| nodes.contains('3')), "{interrupted:?}");
    scratch.assert_nothing_left();
}

#[test]
fn a_late_node_has_the_launcher_of_the_command() {
    let scratch = Scratch::new("late-launcher");
    let site = Site::new(&scratch);
    write_cluster(&scratch, 9);
    hold(&site, "n1", "");
    // The late one alone is in the allocation.
    let words = ["--cluster", "cluster.toml", "exec", "-n", "n[1-4]", "--", "sh", "-c"];
    let script = leave_file(&scratch, ":");
    let mut command = site.command(&[&words[..], &[&script]].concat());
    command.env("SLURM_JOB_NODELIST", "n[1-2]");
    let command = Running::start(command);
    await_runs(&scratch, 3);
    site.touch("go");
    let _ = command.end().with_code(0);
    await_runs(&scratch, 4);
    scratch.assert_nothing_left();
}

#[test]
fn a_node_whose_home_directory_hangs_delays_no_other() {
    let scratch = Scratch::new("late-home");
    let site = Site::new(&scratch);
    write_cluster(&scratch, 9);
    // The script says this before it looks into the home directory.
    hold(&site, "n3", "echo Welcome; echo AT - 127.0.0.1 50000 127.0.0.1 22");
    let command = start(&site, "n[1-3]", &leave_file(&scratch, ":"));
    await_runs(&scratch, 2);
    site.touch("go");
    let _ = command.end().with_code(0);
    await_runs(&scratch, 3);
    scratch.assert_nothing_left();
}
