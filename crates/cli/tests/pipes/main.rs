//! `garland cp` from and to pipes and commands, end to end, to agents that are processes of this
//! machine.

mod commands;
mod devices;
mod holes;
mod packed;
mod streams;

use std::path::{Path, PathBuf};

use garland_testkit::{Garland, Scratch, random_file, until};

/// The built binary in `scratch`.
fn garland(scratch: &Scratch) -> Garland<'_> {
    Garland::new(env!("CARGO_BIN_EXE_garland"), scratch)
}

/// A source of `length` bytes, `source.bin`.
fn source(scratch: &Scratch, length: u64) -> PathBuf {
    let path = scratch.path("source.bin");
    random_file(&path, length, length + 1);
    path
}

/// The names `local1` to `localN`.
fn locals(count: usize) -> impl Iterator<Item = String> {
    (1..=count).map(|number| format!("local{number}"))
}

/// Every one of `nodes` has the bytes of `source` under the path `name`.
#[track_caller]
fn assert_copied(
    scratch: &Scratch,
    nodes: impl Iterator<Item = String>,
    name: &str,
    source: &Path,
) {
    let wanted = std::fs::read(source).expect("the source is there");
    for node in nodes {
        let path = scratch.root(&node).join(name);
        let got =
            std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        // Not assert_eq: nobody wants to see the bytes.
        assert!(got == wanted, "{} of {} bytes differs", path.display(), got.len());
    }
}

/// Waits until a node's file has some bytes.
#[track_caller]
fn await_bytes(scratch: &Scratch, node: &str, name: &str) {
    let path = scratch.root(node).join(name);
    until(&format!("bytes in {}", path.display()), || {
        path.metadata().is_ok_and(|stat| stat.len() > 0)
    });
}
