//! Runs all scenarios with `garland scenario run --all`, which makes one report.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use xtask::clock::Watch;
use xtask::packages;

use crate::package;

/// Upper limit of the time of three repetitions of all scenarios on two processors, in seconds.
const MOST_S: u64 = 90 * 60;

/// The exit code if a published fact did not come out, which is a result and no failure.
const OPEN: i32 = 4;

/// Runs all scenarios with the optimised build. Writes `target/scenarios/report.html`, and the runs
/// into the same directory.
///
/// # Errors
/// If a scenario fails, or all together take longer than the limit. What differs is in the report.
pub(crate) fn scenarios(root: &Path) -> Result<()> {
    packages::install(packages::TESTS)?;
    let program = package::built(root)?;
    let state = root.join("target/scenarios");
    std::fs::create_dir_all(&state)
        .with_context(|| format!("failed to create {}", state.display()))?;
    let report = state.join("report.html");
    let watch = Watch::start();
    let mut command = Command::new(program);
    command.args(["scenario", "run", "--all", "-o"]).arg(&report);
    let status = command.env("GARLAND_STATE", &state).stdin(Stdio::null()).status();
    let status = status.context("failed to start garland")?;
    let took = watch.read().as_secs();
    println!("ran all scenarios in {took} s; report: {}", report.display());
    if !matches!(status.code(), Some(0 | OPEN)) {
        bail!("`garland scenario run --all` failed: {status}");
    }
    if took > MOST_S {
        bail!("the scenarios took {took} s; the limit is {MOST_S} s");
    }
    Ok(())
}
