//! Garland, with standing agents or with agents started for each copy, encrypted or not.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;
use xtask::clock::Watch;

use super::super::field::{DIR, Field, LAB};
use super::super::peer::{Extra, Facts, Job, Peer, Timing};
use super::super::processes::{Processes, alone};

/// Garland with one set of options.
pub(crate) struct Garland {
    name: &'static str,
    about: &'static str,
    /// Whether agents stay between copies.
    up: bool,
    clear: bool,
    traced: bool,
    congestion: String,
}

impl Garland {
    /// Returns all ways, with data links that use the congestion control `congestion`.
    pub(crate) fn ways(congestion: &str) -> [Self; 5] {
        let up = "agents stay between copies; CPU time by control groups";
        let cold = "every copy starts and ends the agents; CPU time as the agents report it";
        [
            ("garland", up, true, false, true),
            ("garland-clear", up, true, true, true),
            ("garland-cold", cold, false, false, true),
            ("garland-cold-clear", cold, false, true, true),
            (
                "garland-untraced",
                "as garland, but without a trace, to measure its cost",
                true,
                false,
                false,
            ),
        ]
        .map(|(name, about, up, clear, traced)| Self {
            name,
            about,
            up,
            clear,
            traced,
            congestion: congestion.to_owned(),
        })
    }

    fn nodes(job: &Job) -> String {
        format!("lab:n[1-{}]", job.receivers)
    }
}

impl Peer for Garland {
    fn facts(&self) -> Facts {
        Facts { name: self.name, about: self.about, needs: &[], version: &[], forwards: true }
    }

    fn prepare(&mut self, _root: &Path, field: &Field, job: &Job) -> Result<Processes> {
        if !self.up {
            return Ok(Processes::default());
        }
        let mut command = field.outside(&program()?)?;
        command.args(["up", "--lab", LAB, &Self::nodes(job)]);
        alone(field, 0, command).context("garland up")?;
        field.adopt()?;
        Ok(Processes::default())
    }

    fn copy(&mut self, field: &Field, job: &Job) -> Result<Timing> {
        let mut command = field.outside(&program()?)?;
        command.args([
            "--json",
            "cp",
            "--quiet",
            "--whole",
            "--lab",
            LAB,
            "--congestion",
            &self.congestion,
        ]);
        if self.clear {
            command.arg("--no-encrypt");
        }
        if !self.traced {
            command.arg("--no-trace");
        }
        let result = fs::File::create(result()).context("failed to create the result's file")?;
        command.arg(&job.source).arg(format!("{}:/{}", Self::nodes(job), Job::COPY)).stdout(result);
        let watch = Watch::start();
        alone(field, 0, command).context("garland cp")?;
        Ok(Timing { start: Duration::ZERO, transfer: watch.read() })
    }

    fn possible(&mut self, field: &Field, job: &Job) -> Result<Option<f64>> {
        let mut command = field.outside(&program()?)?;
        command.args(["--json", "plan", "suggest", "--lab", LAB, &job.bytes.to_string()]);
        if self.clear {
            command.arg("--no-encrypt");
        }
        let out = fs::File::create(result()).context("failed to create the result's file")?;
        command.arg(Self::nodes(job)).stdout(out);
        alone(field, 0, command).context("garland plan suggest")?;
        Ok(read()?["plans"][0]["seconds"].as_f64())
    }

    fn extra(&mut self, _field: &Field, _job: &Job) -> Result<Extra> {
        told(!self.up)
    }

    fn finish(&mut self, field: &Field) -> Result<()> {
        if self.up {
            let mut command = field.outside(&program()?)?;
            let nodes = format!("lab:n[1-{}]", field.receivers);
            command.args(["down", "--lab", LAB, &nodes]);
            alone(field, 0, command).context("garland down")?;
        }
        Ok(())
    }
}

/// Returns the figures of the last copy's result; the agents' CPU time only if they are `fresh`.
pub(super) fn told(fresh: bool) -> Result<Extra> {
    account(&read()?, fresh)
}

/// Reads the result of the last command.
fn read() -> Result<Value> {
    let text = fs::read(result()).context("failed to read garland's result")?;
    serde_json::from_slice(&text).context("failed to parse garland's result")
}

/// Returns the figures of a `garland.cp/2`; the agents' CPU time only if they are `fresh`.
fn account(result: &Value, fresh: bool) -> Result<Extra> {
    let elapsed = result["elapsed_ns"].as_u64().context("the result has no elapsed_ns")?;
    let phases = result["phases"].as_array().context("the result has no phases")?;
    let phase = |phase: &Value| Some((phase["name"].as_str()?.to_owned(), phase["ns"].as_u64()?));
    let nodes = result["nodes"].as_array().context("the result has no nodes")?;
    let figures =
        |name: &str| -> Option<Vec<u64>> { nodes.iter().map(|node| node[name].as_u64()).collect() };
    let seconds = |figures: Vec<u64>| figures.into_iter().map(|ns| ns as f64 / 1e9).collect();
    Ok(Extra {
        elapsed_ns: Some(elapsed),
        phases: phases.iter().filter_map(phase).collect(),
        resident_kib: figures("memory").and_then(|all| all.into_iter().max()).map(|b| b / 1024),
        opening: figures("opening_ns").map(seconds),
        cpu: figures("cpu_ns").map(seconds).filter(|_| fresh),
    })
}

/// Returns the release build beside this program.
pub(crate) fn program() -> Result<String> {
    let own = std::env::current_exe().context("failed to find the path of this program")?;
    let target =
        own.ancestors().nth(2).context("this program is not in a target directory of cargo")?;
    let path = target.join("release/garland");
    path.to_str().map(str::to_owned).context("the path of garland is not valid UTF-8")
}

/// Returns the path of the last copy's result.
pub(super) fn result() -> PathBuf {
    PathBuf::from(DIR).join("garland.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_object_is_understood() {
        let result = serde_json::json!({
            "elapsed_ns": 30,
            "phases": [{"name": "set-up", "ns": 10}, {"name": "stream", "ns": 20}],
            "nodes": [
                {"memory": 2048, "opening_ns": 500_000_000, "cpu_ns": 1_000_000_000},
                {"memory": 4096, "opening_ns": 250_000_000, "cpu_ns": 2_000_000_000},
            ],
        });
        let extra = account(&result, true).unwrap();
        assert_eq!(extra.resident_kib, Some(4));
        assert_eq!(extra.opening, Some(vec![0.5, 0.25]));
        assert_eq!(extra.cpu, Some(vec![1.0, 2.0]));
        assert_eq!(extra.phases[1], ("stream".to_owned(), 20));
        assert_eq!(account(&result, false).unwrap().cpu, None);
        assert!(account(&serde_json::json!({}), false).is_err());
    }
}
