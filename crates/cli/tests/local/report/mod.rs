//! `garland report`: the page of real runs in a real browser, and of whatever a run can leave
//! behind.

mod left;
mod opened;
mod wired;

use std::path::PathBuf;

use garland_testkit::{Garland, Scratch, random_file};
use serde_json::Value;

use crate::garland_in;

/// A copy to this many local nodes; its result.
fn copied(scratch: &Scratch, garland: &Garland<'_>, nodes: usize) -> Value {
    let file = scratch.path("file");
    if !file.exists() {
        random_file(&file, 24 << 20, 9);
    }
    let to = format!("local[1-{nodes}]:/of-{nodes}");
    garland.cp(&["--json", "file", &to]).with_code(0).json()
}

/// Writes a report of these runs; its file.
fn reported(scratch: &Scratch, garland: &Garland<'_>, runs: &[&str]) -> PathBuf {
    let said = garland.run(&[&["report", "--json", "-o", "report.html"], runs].concat());
    let result = said.with_code(0).json();
    let file = scratch.path("report.html");
    assert_eq!(result["bytes"].as_u64(), Some(file.metadata().unwrap().len()));
    file
}

/// The data that a page's scripts read.
fn embedded(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"data\">").expect("a page has data");
    serde_json::from_str(rest.split_once("</script>").expect("which end").0).expect("as JSON")
}
