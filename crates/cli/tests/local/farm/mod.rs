//! Jobs on nodes: whatever becomes of these, each job ends once, its results are whole, and all is
//! told.

mod bad;
mod deaths;
mod figures;
mod files;
mod moves;
mod outputs;
mod over_ssh;
mod placements;
mod runs;
mod slurm;

use std::fs;
use std::path::{Path, PathBuf};

use garland_testkit::{Garland, RunOutput, Scratch};
use serde_json::Value;

use crate::garland_in;

const GARLAND: &str = env!("CARGO_BIN_EXE_garland");

/// A list of jobs in the scratch folder.
fn list(scratch: &Scratch, name: &str, text: &str) {
    fs::write(scratch.path(name), text).expect("room for a list");
}

/// The records of a run, in the list's order.
fn records_in(said: &RunOutput) -> Vec<Value> {
    said.json()["records"].as_array().expect("a list of records").clone()
}

/// What became of each job, with its node if that is asked for.
fn outcomes(said: &RunOutput) -> Vec<String> {
    records_in(said).iter().map(|record| record["outcome"].to_string()).collect()
}

/// The folder of the only run that there is.
fn only_run(garland: &Garland<'_>) -> PathBuf {
    let runs = garland.runs();
    let farms: Vec<&PathBuf> =
        runs.iter().filter(|run| run.to_string_lossy().contains("-farm-")).collect();
    assert_eq!(farms.len(), 1, "{runs:?}");
    farms[0].clone()
}

/// What a job has said.
fn output(run: &Path, job: u32) -> String {
    fs::read_to_string(run.join(format!("output/{job}"))).unwrap_or_default()
}

/// What every record must be, whatever the engine: complete, and in the order of time.
fn assert_sound(record: &Value, engine: &str) {
    let time = |name: &str| record[name].as_f64();
    assert_eq!(record["engine"], engine, "{record}");
    assert_eq!(record["outcome"], serde_json::json!({ "exit": 0 }), "{record}");
    assert!(record["node"].is_string() && record["tries"].as_u64() >= Some(1), "{record}");
    let times: Vec<f64> = ["queued", "staging", "staged_in", "started", "ended", "staged_out"]
        .into_iter()
        .filter_map(time)
        .collect();
    assert!(times.len() >= 3, "{record}");
    // Clocks of nodes are known to a millisecond or so.
    assert!(times.windows(2).all(|pair| pair[0] <= pair[1] + 0.05), "{record}");
    assert!(record["cpu"].as_f64().is_some_and(|cpu| cpu >= 0.0), "{record}");
    assert!(record["memory"].as_u64().is_some_and(|memory| memory > 100_000), "{record}");
}
