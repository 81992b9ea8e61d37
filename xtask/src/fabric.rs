//! Builds `garland-fabric`, the helper that loads libfabric. It is the only program of ours that is
//! linked dynamically: all others are static, which is why it needs flags of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

const NAME: &str = "garland-fabric";

const PACKAGE: [&str; 5] = ["--locked", "--package", NAME, "--features", "helper"];

/// Builds it beside `garland`, and prints where that is.
///
/// # Errors
/// When it can't be built.
pub(crate) fn build(root: &Path, release: bool) -> Result<()> {
    println!("{}", built(root, release)?.display());
    Ok(())
}

fn built(root: &Path, release: bool) -> Result<PathBuf> {
    let host = host()?;
    let mut command = cargo(root);
    command.args(["build", "--quiet"]).args(PACKAGE).args(["--target", &host]);
    if release {
        command.arg("--release");
    }
    run(&mut command)?;
    Ok(target(root).join(host).join(if release { "release" } else { "debug" }).join(NAME))
}

/// Checks its code as the rest of the workspace is checked, by a compiler with these variables, and
/// runs its own tests.
///
/// # Errors
/// When a check or a test fails.
pub(crate) fn check(root: &Path, linting: &[(&'static str, String)]) -> Result<()> {
    let mut command = cargo(root);
    command.args(["test", "--quiet", "--all-targets"]).args(PACKAGE);
    run(command.envs(linting.iter().cloned()))
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

/// The folder that cargo builds in.
pub(crate) fn target(root: &Path) -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    named.unwrap_or_else(|| root.join("target"))
}

/// This machine's name, as the compiler has it.
pub(crate) fn host() -> Result<String> {
    let said = Command::new("rustc").arg("-vV").output().context("start rustc")?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc doesn't say what it builds for")
}
