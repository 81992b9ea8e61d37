//! `garland cp` of what is elsewhere: from a store that speaks S3, from web servers, and from one
//! that misbehaves.

mod faults;
mod http;
mod names;
mod prefix;
mod s3;
mod server;

use std::path::PathBuf;

use garland_testkit::{RunOutput, Running, Scratch, random_file};

use crate::garland_in;

/// Random bytes, as a file `name` below the scratch folder.
fn file(scratch: &Scratch, name: &str, length: u64) -> PathBuf {
    let path = scratch.path(name);
    std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it can be made");
    random_file(&path, length, length + 1);
    path
}

/// Begins to copy `source` to local nodes in an environment with these variables, too.
fn start(
    scratch: &Scratch,
    source: &str,
    destination: &str,
    more: &[&str],
    variables: &[(&str, &str)],
) -> Running {
    let roots = scratch.path("roots").display().to_string();
    let words = [&["cp", "--local-root", &roots, source, destination], more].concat();
    let mut command = garland_in(scratch).command(&words);
    // The servers are on loopback, where no proxy leads.
    command.env("NO_PROXY", "*").envs(variables.iter().copied());
    Running::start(command)
}

/// Copies `source` to local nodes.
fn copy(scratch: &Scratch, source: &str, destination: &str) -> RunOutput {
    start(scratch, source, destination, &[], &[]).end()
}

/// Every one of `count` local nodes has exactly `bytes` under `name`.
#[track_caller]
fn assert_at_all(scratch: &Scratch, count: usize, name: &str, bytes: &[u8]) {
    for number in 1..=count {
        let path = scratch.root(&format!("local{number}")).join(name);
        let got = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(got == bytes, "{} of {} bytes differs", path.display(), got.len());
    }
}

/// No local node has anything but folders.
#[track_caller]
fn assert_nowhere(scratch: &Scratch, count: usize) {
    for (root, files) in files(scratch, count) {
        assert!(files.is_empty(), "{root}: {files:?}");
    }
}

/// No local node has anything but folders, and what a copy left for the next one to go on with.
#[track_caller]
fn assert_hidden(scratch: &Scratch, count: usize) {
    for (root, files) in files(scratch, count) {
        assert!(files.iter().all(|name| name.ends_with(".garland-part")), "{root}: {files:?}");
    }
}

/// What local nodes have at the top of their roots.
fn files(scratch: &Scratch, count: usize) -> impl Iterator<Item = (String, Vec<String>)> {
    (1..=count).map(|number| {
        let root = scratch.root(&format!("local{number}"));
        let entries = std::fs::read_dir(&root).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        (root.display().to_string(), names.collect())
    })
}
