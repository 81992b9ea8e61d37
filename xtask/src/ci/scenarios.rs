//! All scenarios in one report, as `garland scenario run --all` makes it.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::package;
use xtask::clock::Watch;
use xtask::packages;

/// They take no longer than this on two processors, in seconds.
const MOST_S: u64 = 20 * 60;

/// Runs them by the optimised build. The report is `target/scenarios/report.html`, and their runs lie
/// beside it.
///
/// # Errors
/// When one isn't reproduced, or all together take longer than they may.
pub(crate) fn scenarios(root: &Path) -> Result<()> {
    packages::install(packages::TESTS)?;
    let program = package::built(root)?;
    let state = root.join("target/scenarios");
    std::fs::create_dir_all(&state).with_context(|| format!("make {}", state.display()))?;
    let report = state.join("report.html");
    let watch = Watch::start();
    let mut command = Command::new(program);
    command.args(["scenario", "run", "--all", "-o"]).arg(&report);
    let status = command.env("GARLAND_STATE", &state).stdin(Stdio::null()).status();
    let status = status.context("start garland")?;
    let took = watch.read().as_secs();
    println!("all scenarios in {took} s: {}", report.display());
    if !status.success() {
        bail!("garland scenario run --all: {status}");
    }
    if took > MOST_S {
        bail!("they took {took} s, more than {MOST_S}");
    }
    Ok(())
}
