//! Nodes that do not answer their logins as the others do.

use std::fs;

use garland_testkit::{Running, Scratch, until};

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
