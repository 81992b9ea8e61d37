//! A file that is copied, the local nodes that it is copied to, and whether they have it.

use std::path::{Path, PathBuf};

use crate::{Scratch, random_file};

/// A source of `length` bytes, `source.bin` in `scratch`.
///
/// # Panics
/// When it can't be written.
#[must_use]
pub fn source(scratch: &Scratch, length: u64) -> PathBuf {
    let path = scratch.path("source.bin");
    random_file(&path, length, length + 1);
    path
}

/// The names `local1` to `localN`.
pub fn locals(count: usize) -> impl Iterator<Item = String> {
    (1..=count).map(|number| format!("local{number}"))
}

/// Every one of `nodes` has the bytes of `source` under the path `name`.
///
/// # Panics
/// When one hasn't.
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
