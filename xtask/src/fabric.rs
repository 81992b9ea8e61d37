//! Builds `garland-fabric`, the helper that loads libfabric. It is the only program of ours that is
//! linked dynamically: all others are static, which is why it needs flags and a folder of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

const NAME: &str = "garland-fabric";

/// Builds it, puts it beside `garland`, and prints where that is.
///
/// # Errors
/// When it can't be built.
pub(crate) fn build(root: &Path, release: bool) -> Result<()> {
    println!("{}", built(root, release)?.display());
    Ok(())
}

fn built(root: &Path, release: bool) -> Result<PathBuf> {
    let (target, own) = folders(root);
    let host = host()?;
    let mut command = cargo(root);
    command.args(["build", "--quiet", "--locked", "--package", NAME, "--features", "helper"]);
    command.args(["--target", &host]).arg("--target-dir").arg(&own);
    if release {
        command.arg("--release");
    }
    run(&mut command)?;
    let place = Path::new(&host).join(if release { "release" } else { "debug" });
    let beside = target.join(&place);
    fs::create_dir_all(&beside).with_context(|| format!("make {}", beside.display()))?;
    // Under another name first: the one that is there may be running.
    let (fresh, file) = (beside.join(format!(".{NAME}")), beside.join(NAME));
    fs::copy(own.join(&place).join(NAME), &fresh)
        .and_then(|_| fs::rename(&fresh, &file))
        .with_context(|| format!("put {}", file.display()))?;
    Ok(file)
}

/// Checks its code as the rest of the workspace is checked, and runs its own tests.
///
/// # Errors
/// When a check or a test fails.
pub(crate) fn check(root: &Path) -> Result<()> {
    let (_, own) = folders(root);
    let package =
        ["--quiet", "--locked", "--package", NAME, "--features", "helper", "--target-dir"];
    run(cargo(root).arg("clippy").args(package).arg(&own).args([
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))?;
    run(cargo(root).arg("test").args(package).arg(&own))
}

/// Where cargo builds, and where this is built: other flags in one folder would build all anew.
fn folders(root: &Path) -> (PathBuf, PathBuf) {
    let named = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = named.unwrap_or_else(|| root.join("target"));
    let own = target.join("fabric");
    (target, own)
}

/// Cargo, whose flags from the environment take the place of those in `.cargo/config.toml`.
fn cargo(root: &Path) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root).stdin(Stdio::null());
    command.env_remove("CARGO_ENCODED_RUSTFLAGS");
    command.env("RUSTFLAGS", "-Ctarget-feature=-crt-static");
    command
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status().context("start cargo")?;
    if !status.success() {
        bail!(
            "`cargo {}` failed: {status}",
            command.get_args().next().unwrap_or_default().display()
        );
    }
    Ok(())
}

/// This machine's name, as the compiler has it.
fn host() -> Result<String> {
    let said = Command::new("rustc").arg("-vV").output().context("start rustc")?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc doesn't say what it builds for")
}
