//! Builds `garland-fabric`, the helper that loads libfabric. It needs compiler flags of its own,
//! since it is linked dynamically and all other programs statically.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

const NAME: &str = "garland-fabric";

const PACKAGE: [&str; 5] = ["--locked", "--package", NAME, "--features", "helper"];

/// Builds the helper into the directory of `garland`, and prints its path.
///
/// # Errors
/// If the helper cannot be built.
pub(crate) fn build(root: &Path, release: bool) -> Result<()> {
    println!("{}", built(root, release)?.display());
    Ok(())
}

fn built(root: &Path, release: bool) -> Result<PathBuf> {
    let host = host_triple()?;
    let mut command = cargo(root);
    command.args(["build", "--quiet"]).args(PACKAGE).args(["--target", &host]);
    if release {
        command.arg("--release");
    }
    run(&mut command)?;
    Ok(target(root).join(host).join(if release { "release" } else { "debug" }).join(NAME))
}

/// Lints the helper by a compiler with the environment variables `linting`, as the rest of the
/// workspace, and runs its tests.
///
/// # Errors
/// If a lint or a test fails.
pub(crate) fn check(root: &Path, linting: &[(&'static str, String)]) -> Result<()> {
    let mut command = cargo(root);
    command.args(["test", "--quiet", "--all-targets"]).args(PACKAGE);
    run(command.envs(linting.iter().cloned()))
}

/// Returns a cargo command with compiler flags in the environment, which override
/// `.cargo/config.toml`.
fn cargo(root: &Path) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root).stdin(Stdio::null());
    command.env_remove("CARGO_ENCODED_RUSTFLAGS");
    command.env("RUSTFLAGS", "-Ctarget-feature=-crt-static");
    command
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status().context("failed to start cargo")?;
    if !status.success() {
        bail!(
            "`cargo {}` failed: {status}",
            command.get_args().next().unwrap_or_default().display()
        );
    }
    Ok(())
}

/// Returns the directory that cargo builds in.
pub(crate) fn target(root: &Path) -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    named.unwrap_or_else(|| root.join("target"))
}

/// Returns the compiler's name of this machine, its target triple.
pub(crate) fn host_triple() -> Result<String> {
    let said = Command::new("rustc").arg("-vV").output().context("failed to start rustc")?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("the output of rustc has no line with the host's target triple")
}
