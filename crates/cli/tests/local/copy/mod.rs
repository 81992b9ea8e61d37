//! `garland cp` end to end, to agents that are processes of this machine.

mod chain;
mod checks;
mod deaths;
mod destinations;
mod dolly;
mod endings;
mod full_disk;
mod gather;
mod hangs;
mod large;
mod options;
mod plans;
mod readers;
mod refusals;
mod result;
mod routes;
mod scarcity;
mod sizes;
mod sources;
mod stripes;
mod taking;
mod terminal;
mod traces;
mod ways;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use garland_testkit::{Scratch, assert_copied, locals, source, until, verdict};

use crate::garland_in;

/// The names in a folder of the node `node`, sorted.
fn names_in(scratch: &Scratch, node: &str, folder: &str) -> Vec<String> {
    let path = scratch.root(node).join(folder);
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The names in `folder`, except the partial files of interrupted copies.
fn visible_in(scratch: &Scratch, node: &str, folder: &str) -> Vec<String> {
    let mut names = names_in(scratch, node, folder);
    names.retain(|name| !name.ends_with(".garland-part"));
    names
}

/// Waits until the partial file in the folder of `node` has the source's bytes at `offset`: the
/// copy is in its middle.
#[track_caller]
fn await_middle(scratch: &Scratch, node: &str, source: &Path, offset: u64) {
    let source = File::open(source).expect("the source is there");
    let mut wanted = [0; 64];
    source.read_exact_at(&mut wanted, offset).expect("the source is longer");
    until(&format!("the bytes at {offset} at {node}"), || {
        let mut partial = names_in(scratch, node, "").into_iter();
        let Some(name) = partial.find(|name| name.ends_with(".garland-part")) else { return false };
        let mut got = [0; 64];
        let file = File::open(scratch.root(node).join(name));
        file.is_ok_and(|file| file.read_exact_at(&mut got, offset).is_ok()) && got == wanted
    });
}
