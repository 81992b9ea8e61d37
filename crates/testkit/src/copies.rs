//! A source file, the names of local nodes, and the check that nodes have a copy.

use std::path::{Path, PathBuf};

use crate::{Scratch, random_file};

/// Creates the file `source.bin` of `length` pseudorandom bytes in `scratch`, and returns its path.
///
/// # Panics
/// When the file cannot be written.
#[must_use]
pub fn source(scratch: &Scratch, length: u64) -> PathBuf {
    let path = scratch.path("source.bin");
    random_file(&path, length, length + 1);
    path
}

/// Returns the names of `count` local nodes: `local1`, `local2` and so on.
pub fn locals(count: usize) -> impl Iterator<Item = String> {
    (1..=count).map(|number| format!("local{number}"))
}

/// Asserts that each of `nodes` has a file named `name` with the bytes of `source`.
///
/// # Panics
/// When the file of a node is missing or differs.
#[track_caller]
pub fn assert_copied(
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
        // Not assert_eq, which would print the bytes.
        assert!(got == wanted, "{} of {} bytes differs", path.display(), got.len());
    }
}
