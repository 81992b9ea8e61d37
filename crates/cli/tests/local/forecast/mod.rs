//! `garland forecast` and `garland plan suggest`: from points, from kept runs, from topologies
//! alone.

mod points;
mod runs;
mod suggest;

use garland_testkit::{Garland, RunOutput, Scratch};
use serde_json::Value;

fn garland(scratch: &Scratch, words: &[&str]) -> RunOutput {
    Garland::new(env!("CARGO_BIN_EXE_garland"), scratch).run(words)
}

/// The result object of a command that does what it is asked.
fn told(scratch: &Scratch, words: &[&str]) -> Value {
    garland(scratch, &[words, &["--json"]].concat()).with_code(0).json()
}

/// The row of a node count.
fn at(told: &Value, nodes: u32) -> &Value {
    let curve = told["forecast"]["curve"].as_array().expect("a forecast has a curve");
    curve.iter().find(|at| at["nodes"] == nodes).expect("it was asked for")
}
