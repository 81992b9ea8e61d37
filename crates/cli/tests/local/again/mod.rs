//! Copies of what nodes have already, in whole or in part: only what they lack is sent.

mod changes;
mod interrupted;
mod lab;
mod moments;
mod records;
mod unchanged;

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use garland_testkit::{Scratch, source, until};
use serde_json::Value;

use crate::garland_in;

/// A block of a file of 64 MiB or more; of [`LENGTH`] it is half of that.
const BLOCK: u64 = 256 << 10;

/// Long enough to be remembered, and of blocks of [`BLOCK`].
const LENGTH: u64 = 24 << 20;

/// Where `node` has its copy.
fn at(scratch: &Scratch, node: &str) -> PathBuf {
    scratch.root(node).join("x")
}

/// Every one of `nodes` has the source, and none has anything else.
#[track_caller]
fn assert_same(scratch: &Scratch, nodes: &[&str]) {
    let wanted = std::fs::read(scratch.path("source.bin")).expect("the source is there");
    for node in nodes {
        let got = std::fs::read(at(scratch, node)).expect("the copy is there");
        assert!(got == wanted, "{node} differs");
        let names = std::fs::read_dir(scratch.root(node)).expect("its folder is there").count();
        assert_eq!(names, 1, "{node} has more than the file: {:?}", scratch.partial_files());
    }
}

/// Bytes that a node was sent.
#[track_caller]
fn bytes_sent(result: &Value, node: &str) -> u64 {
    let nodes = result["nodes"].as_array().expect("a result has nodes");
    let node = nodes.iter().find(|it| it["name"] == node).unwrap_or_else(|| panic!("{result}"));
    assert_eq!(node["verdict"], "ok", "{result}");
    node["bytes"].as_u64().unwrap() - node["already"].as_u64().unwrap()
}

/// Changes the byte at `offset` of a file.
fn change(path: &PathBuf, offset: u64) {
    let file = OpenOptions::new().read(true).write(true).open(path).expect("it can be written");
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).expect("it is long enough");
    file.write_all_at(&[!byte[0]], offset).expect("it can be written");
}

/// Changes a byte, and sets the file's time back to what it was.
fn change_secretly(path: &PathBuf, offset: u64) {
    let before = std::fs::metadata(path).and_then(|stat| stat.modified()).expect("the file exists");
    change(path, offset);
    let file = File::options().write(true).open(path).expect("it can be written");
    file.set_modified(before).expect("its time can be set");
}

/// Waits until the partial file at `node` has the source's bytes at `offset`.
#[track_caller]
fn await_middle(scratch: &Scratch, node: &str, offset: u64) {
    let read = |path: PathBuf| -> Option<[u8; 64]> {
        let mut bytes = [0; 64];
        File::open(path).ok()?.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    };
    let wanted = read(scratch.path("source.bin"));
    let start = format!("roots/{node}/");
    until(&format!("the bytes at {offset} at {node}"), || {
        let partial = scratch.partial_files().into_iter().find(|path| path.starts_with(&start));
        partial.is_some_and(|path| read(scratch.folder().join(path)) == wanted)
    });
}
