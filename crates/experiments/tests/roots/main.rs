//! The generated parts of docs/roots, from kept runs: every line of the documents with its grade,
//! and the pictures.

use std::fs;

use garland_experiments::{Judged, find};

mod lines;
mod picture;

const RUNS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/roots/runs");
const PAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/roots");

/// Returns the statements of the kept run of a scenario with their grades; `None` if no run of it
/// is kept.
fn kept(name: &str) -> Option<Vec<Judged>> {
    let text = fs::read_to_string(format!("{RUNS}/{name}.json")).ok()?;
    let all: Vec<Judged> =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let scenario = find(name).expect("a scenario");
    let error = scenario.experiment().expect("it can be run").emulation();
    Some(all.into_iter().map(|one| one.graded(error)).collect())
}

/// Checks that a generated file of docs/roots has this text, or writes it with
/// `GARLAND_ROOTS=write`.
fn must_be(name: &str, text: &str) {
    let path = format!("{PAGES}/{name}");
    if std::env::var_os("GARLAND_ROOTS").is_some() {
        fs::write(&path, text).expect("the file can be written");
    }
    let known = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert!(known == text, "docs/roots/{name} is out of date; write it with GARLAND_ROOTS=write");
}
