//! A lab of a topology, and copies in it.

use std::ops::Deref;

use garland_testkit::{Garland, Scratch, TestLab, random_file};
use serde_json::Value;

/// A lab of the test's own.
pub struct Stage<'a>(TestLab<'a>);

impl<'a> Stage<'a> {
    /// Builds the lab that `topology` describes: a file's text, or a scenario's name.
    #[track_caller]
    pub fn new(scratch: &'a Scratch, topology: &str) -> Self {
        let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), scratch);
        Self(match topology.contains('\n') {
            true => TestLab::with_topology(garland, scratch, topology),
            false => TestLab::up(garland, scratch, &[topology]),
        })
    }

    /// Copies a new file of `bytes` bytes to `nodes`, and returns the result.
    #[track_caller]
    pub fn copies(&self, bytes: u64, nodes: &str, more: &[&str]) -> Value {
        let source = self.scratch.path("source");
        random_file(&source, bytes, bytes);
        let source = source.display().to_string();
        let target = format!("{nodes}:/x");
        let words = [&["cp", "--json", "--whole", "--no-fsync", &source, &target], more];
        self.garland.run(&words.concat()).with_code(0).json()
    }
}

impl<'a> Deref for Stage<'a> {
    type Target = TestLab<'a>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

/// The rate of the whole command in bytes per second.
pub fn rate(result: &Value) -> f64 {
    let bytes = result["bytes"].as_f64().unwrap_or_else(|| panic!("no bytes: {result}"));
    bytes / (result["elapsed_ns"].as_f64().unwrap() / 1e9)
}
