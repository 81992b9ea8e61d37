//! The generated parts of docs/roots, from kept runs: every fact of the documents with its grade,
//! and the pictures.

use std::fs;

use garland_experiments::{Judged, Measure, find};

mod lines;
mod picture;

const RUNS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/roots/runs");
const PAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/roots");

/// Returns the statements of the kept run of a scenario with their grades.
fn kept(name: &str) -> Vec<Judged> {
    let path = format!("{RUNS}/{name}.json");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let measures: Vec<Measure> =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let scenario = find(name).expect("a scenario");
    scenario.experiment().expect("it can be run").account(name).judge(&measures)
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
